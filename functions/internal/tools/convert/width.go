package convert

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"sekisho/functions/internal/tools/toolerr"
)

// MaxWidthRunes is the longest text that is converted, in characters.
const MaxWidthRunes = 10000

// WidthRequest is the input of convert.width.
type WidthRequest struct {
	Text  string `json:"text"`            // at most MaxWidthRunes characters
	To    string `json:"to"`              // half or full
	Scope string `json:"scope,omitempty"` // ascii, kana or all; empty is all
}

// WidthResponse is the output of convert.width.
type WidthResponse struct {
	Text   string `json:"text"`
	Result string `json:"result"`
}

// ConvertWidth changes the width of characters and nothing else. Scope ascii is
// ASCII from ! to ~ and the space; kana is katakana, its voicing marks and
// its punctuation (。「」、・ー); all is both and the signs ￠￡￢￣￤￥￦. What has no
// counterpart stays as it is: kanji, hiragana, ヰ, ヱ, ヮ, ヵ, ヶ.
func ConvertWidth(req WidthRequest) (WidthResponse, error) {
	if !utf8.ValidString(req.Text) {
		return WidthResponse{}, toolerr.Invalid("text", "The text is not valid UTF-8. Send it as UTF-8.")
	}
	if n := utf8.RuneCountInString(req.Text); n > MaxWidthRunes {
		return WidthResponse{}, toolerr.Invalid("text", "The text has %d characters; at most %d are converted at once. Send it in parts, cut at line ends or spaces.", n, MaxWidthRunes)
	}
	scope, err := parseScope(req.Scope)
	if err != nil {
		return WidthResponse{}, err
	}
	switch req.To {
	case "half":
		return WidthResponse{Text: req.Text, Result: narrow(req.Text, scope)}, nil
	case "full":
		return WidthResponse{Text: req.Text, Result: widen(req.Text, scope)}, nil
	}
	return WidthResponse{}, toolerr.Invalid("to", "%s is not a width. Give half or full.", toolerr.Quote(req.To))
}

// scope is which characters are converted.
type scope struct{ ascii, kana, signs bool }

func parseScope(name string) (scope, error) {
	switch name {
	case "ascii":
		return scope{ascii: true}, nil
	case "kana":
		return scope{kana: true}, nil
	case "all", "":
		return scope{ascii: true, kana: true, signs: true}, nil
	}
	return scope{}, toolerr.Invalid("scope", "%s is not a scope. Give ascii, kana or all, or leave it out for all.", toolerr.Quote(name))
}

// The voicing marks, as characters of their own and as marks joined to a letter.
const (
	dakuten, handakuten                   = '゛', '゜'
	joinedDakuten, joinedHandakuten       = '\u3099', '\u309A'
	halfDakuten, halfHandakuten           = 'ﾞ', 'ﾟ'
	firstHalfKana, lastHalfKana           = '｡', 'ﾟ'
	firstFullKana, lastFullKana           = '、', 'ー'
	firstSign, lastSign                   = '￠', '￦'
	firstFullASCII, lastFullASCII, fullSP = '！', '～', '　'
)

func narrow(text string, s scope) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case r == fullSP && s.ascii:
			b.WriteByte(' ')
		case r >= firstFullASCII && r <= lastFullASCII && s.ascii,
			r >= firstSign && r <= lastSign && s.signs:
			b.WriteRune(width.LookupRune(r).Narrow())
		case s.kana:
			narrowKana(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// narrowKana takes a katakana letter apart (ガ is カ and a mark) and writes each part
// in half width; a letter that has no half-width form whole stays whole.
func narrowKana(b *strings.Builder, r rune) {
	switch {
	case r == dakuten, r == joinedDakuten:
		b.WriteRune(halfDakuten)
		return
	case r == handakuten, r == joinedHandakuten:
		b.WriteRune(halfHandakuten)
		return
	case r < firstFullKana || r > lastFullKana:
		b.WriteRune(r)
		return
	}
	var half []rune
	for _, part := range norm.NFD.String(string(r)) {
		switch part {
		case joinedDakuten:
			part = halfDakuten
		case joinedHandakuten:
			part = halfHandakuten
		default:
			part = width.LookupRune(part).Narrow()
		}
		if part < firstHalfKana || part > lastHalfKana {
			b.WriteRune(r)
			return
		}
		half = append(half, part)
	}
	b.WriteString(string(half))
}

func widen(text string, s scope) string {
	var b strings.Builder
	b.Grow(3 * len(text))
	last := rune(0) // the katakana letter just read in half width, still to be written
	flush := func() {
		if last != 0 {
			b.WriteRune(last)
			last = 0
		}
	}
	for _, r := range text {
		if s.kana && r >= firstHalfKana && r <= lastHalfKana {
			if joined, ok := join(last, r); ok {
				last = joined
				flush()
				continue
			}
			flush()
			last = fullKana(r)
			continue
		}
		flush()
		b.WriteRune(widenRune(r, s))
	}
	flush()
	return b.String()
}

// join puts a half-width voicing mark onto a letter, where there is such a letter.
func join(letter, mark rune) (rune, bool) {
	if letter == 0 || mark != halfDakuten && mark != halfHandakuten {
		return 0, false
	}
	joined := joinedDakuten
	if mark == halfHandakuten {
		joined = joinedHandakuten
	}
	composed := norm.NFC.String(string(letter) + string(joined))
	r, size := utf8.DecodeRuneInString(composed)
	return r, size == len(composed)
}

func fullKana(r rune) rune {
	switch r {
	case halfDakuten:
		return dakuten
	case halfHandakuten:
		return handakuten
	}
	return width.LookupRune(r).Wide()
}

func widenRune(r rune, s scope) rune {
	switch {
	case r == ' ' && s.ascii:
		return fullSP
	case r > ' ' && r <= '~' && s.ascii:
		return width.LookupRune(r).Wide()
	case s.signs && r > '~':
		if wide := width.LookupRune(r).Wide(); wide >= firstSign && wide <= lastSign {
			return wide
		}
	}
	return r
}
