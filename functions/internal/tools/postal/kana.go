package postal

import "strings"

// Readings are stored with one byte a character: katakana as its distance from
// U+3020 (so ァ U+30A1 is 0x81 and ー U+30FC is 0xDC), ASCII as itself. No byte is
// part of another character, so that a substring of bytes is a substring of text.
const kanaBase = 0x3020

// decodeKana gives the reading in full-width katakana.
func decodeKana(stored string) string {
	var b strings.Builder
	b.Grow(3 * len(stored))
	for i := range len(stored) {
		if c := rune(stored[i]); c < 0x80 {
			b.WriteRune(c)
		} else {
			b.WriteRune(c + kanaBase)
		}
	}
	return b.String()
}

// encodeKana is the way back; ok is false if the text has a character that no
// reading can have.
func encodeKana(text string) (stored string, ok bool) {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		switch {
		case r < 0x80:
			b = append(b, byte(r))
		case r >= kanaBase+0x80 && r <= kanaBase+0xFF:
			b = append(b, byte(r-kanaBase))
		default:
			return "", false
		}
	}
	return string(b), true
}
