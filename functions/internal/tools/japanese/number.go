package japanese

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kanjiDigits are the digits of kanji numbers by value.
const kanjiDigits = "零一二三四五六七八九"

// NumbersAsDigits writes the kanji numbers of a text in digits: 二十四軒 becomes 24軒, 一〇五
// becomes 105. Where a kanji number and digits meet, a hyphen keeps them apart: 八六1 becomes
// 86-1.
func NumbersAsDigits(text string) string {
	if !strings.ContainsAny(text, kanjiDigits+kanjiTens+"〇") {
		return text
	}
	var out, run []rune
	flush := func() {
		if len(run) == 0 {
			return
		}
		if n := len(out); n > 0 && isDigit(out[n-1]) {
			out = append(out, '-')
		}
		out = append(out, []rune(Digits(string(run)))...)
		run = run[:0]
	}
	for _, r := range text {
		if isKanjiNumber(r) {
			run = append(run, r)
			continue
		}
		if len(run) > 0 && isDigit(r) {
			flush()
			out = append(out, '-')
		}
		flush()
		out = append(out, r)
	}
	flush()
	return string(out)
}

// NumbersApart puts a hyphen for a space between two numbers, and leaves
// all other spaces out: 第3 2-8-1 is not 第32-8-1.
func NumbersApart(text string) string {
	if !strings.ContainsFunc(text, unicode.IsSpace) {
		return text
	}
	var b strings.Builder
	last, space := rune(0), false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space && isNumber(last) && isNumber(r) {
			b.WriteByte('-')
		}
		b.WriteRune(r)
		last, space = r, false
	}
	return b.String()
}

// kanjiTens are the tens, hundreds and thousands.
const kanjiTens = "十百千廿卅"

func isNumber(r rune) bool { return isDigit(r) || isKanjiNumber(r) }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isKanjiNumber(r rune) bool { return r == '〇' || strings.ContainsRune(kanjiDigits+kanjiTens, r) }

// Digit reads one digit, half-width, full-width or kanji, and gives it in ASCII.
func Digit(r rune) (digit byte, ok bool) {
	switch {
	case isDigit(r):
		return byte(r), true
	case r >= '０' && r <= '９':
		return byte(r - '０' + '0'), true
	case r == '〇' || strings.ContainsRune(kanjiDigits, r):
		return byte('0' + kanjiValue(r)), true
	}
	return 0, false
}

// Digits writes a kanji number, with tens (二十四) or by place (二〇二四), in ASCII digits.
// Any run of these characters has digits, also one that is no proper number; the same run
// always has the same.
func Digits(kanji string) string {
	if !strings.ContainsAny(kanji, kanjiTens) {
		return strings.Map(func(r rune) rune { return '0' + rune(kanjiValue(r)) }, kanji)
	}
	total, pending, given := 0, 0, false
	for _, r := range kanji {
		if unit := tens(r); unit > 0 {
			if !given {
				pending = 1
			}
			total, pending, given = total+pending*unit, 0, false
			continue
		}
		pending, given = pending*10+kanjiValue(r), true
	}
	return strconv.Itoa(total + pending)
}

// kanjiValue is the value of one digit; 〇 is zero.
func kanjiValue(r rune) int {
	if at := strings.IndexRune(kanjiDigits, r); at >= 0 {
		return at / utf8.RuneLen(r)
	}
	return 0
}

// tens is the unit that a character multiplies by; 廿 and 卅, which are 20 and 30, count as
// a unit of their own.
func tens(r rune) int {
	switch r {
	case '十':
		return 10
	case '百':
		return 100
	case '千':
		return 1000
	case '廿':
		return 20
	case '卅':
		return 30
	}
	return 0
}
