// Package spelling makes the usual spellings of a Japanese place name comparable: the
// generator brings the names of the postal table into one form, the search its queries.
package spelling

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"sekisho/functions/internal/tools/japanese"
)

//go:embed variants.txt
var variantsText string

// variants maps a character to the one that is compared in its place.
var variants = sync.OnceValue(readVariants)

func readVariants() map[rune]rune {
	same := make(map[rune]rune, 1024)
	for line := range strings.Lines(variantsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, group := range strings.Fields(line) {
			first := rune(0)
			for _, r := range group {
				if first == 0 {
					first = r
					continue
				}
				same[r] = first
			}
		}
	}
	return same
}

// Key gives the form in which addresses are compared. Two spellings of one place have the
// same key: full and half width, hiragana and katakana, ケ ヶ が and 箇, ノ の and 之, old and
// new kanji, numbers in digits or in kanji, with or without 大字, spaces and punctuation.
func Key(text string) string {
	return japanese.NumbersAsDigits(withoutHamlet(strings.Map(keyRune, japanese.NumbersApart(norm.NFKC.String(text)))))
}

func keyRune(r rune) rune {
	if same, ok := variants()[r]; ok {
		r = same
	}
	switch {
	case japanese.IsHyphen(r):
		return '-'
	case japanese.IsBlank(r) || unicode.IsPunct(r):
		return -1
	case r >= 'ぁ' && r <= 'ゖ':
		r += 'ァ' - 'ぁ'
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	}
	switch r {
	case 'ケ', 'ヶ', 'ヵ', '箇':
		return 'ガ'
	case '之', '乃':
		return 'ノ'
	case 'ァ', 'ィ', 'ゥ', 'ェ', 'ォ', 'ッ', 'ャ', 'ュ', 'ョ', 'ヮ':
		return r + 1 // the large letter
	}
	return r
}

// Reading gives a query in the form of the table's readings: full-width katakana, digits and
// letters half-width.
func Reading(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case japanese.IsBlank(r):
			return -1
		case r >= 'ぁ' && r <= 'ゖ':
			return r + 'ァ' - 'ぁ'
		}
		return r
	}, norm.NFKC.String(text))
}

// withoutHamlet drops 大字, and 字 before the name of a hamlet (after a municipality or at
// the beginning): addresses are written with and without them.
func withoutHamlet(text string) string {
	if !strings.Contains(text, "字") {
		return text
	}
	var b strings.Builder
	last := '町'
	for _, r := range strings.ReplaceAll(text, "大字", "") {
		if r == '字' && strings.ContainsRune("市区町村", last) {
			continue
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}
