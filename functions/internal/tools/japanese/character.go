// Package japanese reads what people type in Japanese: numbers in kanji, and the many
// characters that stand for a hyphen or for nothing.
package japanese

import (
	"strings"
	"unicode"
)

// IsBlank says whether a character shows nothing: a space, or a zero-width mark such as
// U+200B, a byte order mark or the variation selector of a kanji.
func IsBlank(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector)
}

// notDashes are hyphens that Unicode does not class as dashes.
const notDashes = "−⁻₋⎯─━ーｰㅡ˗"

// IsHyphen says whether people or input methods type a character for a hyphen: every dash
// of Unicode, the minus signs, box-drawing lines, the long-vowel marks of kana and the
// Hangul letter that looks like one.
func IsHyphen(r rune) bool {
	return unicode.Is(unicode.Pd, r) || strings.ContainsRune(notDashes, r)
}
