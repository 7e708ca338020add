package postal

import (
	"strings"
	"unicode/utf8"

	"sekisho/functions/internal/tools/toolerr"
)

const codeDigits = 7

// hyphens are the characters that people and input methods type for the hyphen of
// a postal code: hyphens, dashes, the minus sign, and the long-vowel mark.
const hyphens = "-‐‑‒–—―−ー－ｰ─﹣"

// ParseCode reads a postal code as people write it and gives its seven digits.
// Accepted: 1000001 and 100-0001, half- or full-width, with any usual hyphen or
// minus, a leading 〒, and spaces around. The error is a toolerr.InvalidArgument
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

// codeOf gives the digits of a whole or partial code, at most seven. A hyphen is
// allowed once, after the third digit.
func codeOf(text string) (digits string, ok bool) {
	text = strings.TrimSpace(text) // U+3000 is a space too
	text = strings.TrimSpace(strings.TrimPrefix(text, "〒"))
	var out [codeDigits]byte
	n, hyphen := 0, false
	for _, r := range text {
		switch {
		case r >= '０' && r <= '９':
			r -= '０' - '0'
			fallthrough
		case r >= '0' && r <= '9':
			if n == codeDigits {
				return "", false
			}
			out[n] = byte(r)
			n++
		case n == 3 && !hyphen && r != utf8.RuneError && strings.ContainsRune(hyphens, r):
			hyphen = true
		default:
			return "", false
		}
	}
	return string(out[:n]), true
}
