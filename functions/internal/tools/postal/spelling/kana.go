package spelling

import "strings"

// Readings are stored with one byte a character: katakana as its distance from
// U+3020 (so ァ U+30A1 is 0x81 and ー U+30FC is 0xDC), ASCII as itself. No byte is
// part of another character, so a substring of bytes is a substring of text.
const kanaBase = 0x3020

// otherRune is stored for a character that no reading has; only queries hold it.
const otherRune = 0x01

// DecodeReading gives a stored reading in full-width katakana.
func DecodeReading(stored string) string {
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

// EncodeReading is the way back. complete is false if the text has a character that no
// reading can have: a byte that matches nothing takes its place.
func EncodeReading(text string) (stored string, complete bool) {
	b := make([]byte, 0, len(text))
	complete = true
	for _, r := range text {
		switch {
		case r > ' ' && r < 0x7F:
			b = append(b, byte(r))
		case r > kanaBase+0x80 && r <= kanaBase+0xDF:
			b = append(b, byte(r-kanaBase))
		default:
			b, complete = append(b, otherRune), false
		}
	}
	return string(b), complete
}
