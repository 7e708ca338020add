package postal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sekisho/functions/internal/tools/japanese"
	"sekisho/functions/internal/tools/toolerr"
)

const codeDigits = 7

// ParseCode reads a postal code as people write it and gives its seven digits.
// Accepted: 1000001 and 100-0001 in half-width, full-width or kanji digits, with any hyphen,
// dash or minus (see japanese.IsHyphen) or a space after the third, a leading postal mark,
// spaces around, and zero-width characters anywhere. The error is a toolerr.InvalidArgument
// for the parameter postal_code.
func ParseCode(text string) (string, error) {
	digits, ok := codeOf(text)
	if !ok || len(digits) != codeDigits {
		return "", toolerr.Invalid("postal_code",
			"%s is not a Japanese postal code. Give seven digits, with or without a hyphen after the third, such as 100-0001 or 1000001; to find a code from an address or from its first digits, use postal.search.",
			toolerr.Quote(text))
	}
	return digits, nil
}

// parsePrefix reads the first one to seven digits of a code.
func parsePrefix(text string) (string, error) {
	digits, ok := codeOf(text)
	if !ok || digits == "" {
		return "", toolerr.Invalid("prefix",
			"%s is not the beginning of a postal code. Give its first 1 to 7 digits, such as 100 or 1000; to search by name, use address.", toolerr.Quote(text))
	}
	return digits, nil
}

// postalMarks are 〒 and its kin.
const postalMarks = "〒〶〠\U0001F3E3"

// codeOf gives the digits of a whole or partial code, at most seven. A hyphen is
// allowed once, after the third digit.
func codeOf(text string) (digits string, ok bool) {
	text = strings.TrimFunc(text, japanese.IsBlank)
	if mark, size := utf8.DecodeRuneInString(text); size > 1 && strings.ContainsRune(postalMarks, mark) {
		text = strings.TrimLeftFunc(text[size:], japanese.IsBlank)
	}
	var out [codeDigits]byte
	n, hyphen := 0, false
	for _, r := range text {
		if digit, ok := japanese.Digit(r); ok {
			if n == codeDigits {
				return "", false
			}
			out[n] = digit
			n++
			continue
		}
		switch {
		case n == 3 && !hyphen && japanese.IsHyphen(r):
			hyphen = true
		case unicode.IsSpace(r) && n != 3, !japanese.IsBlank(r):
			return "", false
		}
	}
	return string(out[:n]), true
}
