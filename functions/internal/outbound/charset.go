package outbound

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	utf16 "golang.org/x/text/encoding/unicode"
)

// errUnreadable is a body in an encoding that is not known. Nobody is charged for
// replacement characters.
var errUnreadable = errors.New("the answer's character encoding is not known")

var (
	bomUTF8 = []byte("\xef\xbb\xbf")
	utf16LE = utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)
	utf16BE = utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)
)

// decode makes UTF-8 of a body. A byte order mark counts most, then the charset declared,
// if the body is possible in it; what is declared wrongly or not at all is guessed.
func decode(body []byte, charset string) (string, error) {
	switch {
	case bytes.HasPrefix(body, bomUTF8):
		if body = body[len(bomUTF8):]; utf8.Valid(body) {
			return string(body), nil
		}
		return "", errUnreadable
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return orUnreadable(try(utf16LE, body[2:]))
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return orUnreadable(try(utf16BE, body[2:]))
	}
	if text, ok := decodeDeclared(body, charset); ok {
		return text, nil
	}
	return orUnreadable(guess(body))
}

func orUnreadable(text string, ok bool) (string, error) {
	if !ok {
		return "", errUnreadable
	}
	return text, nil
}

// aliases are names that HTML's list of encodings lacks and servers use.
var aliases = map[string]string{
	"cp932": "shift_jis", "mswin932": "shift_jis", "eucjp": "euc-jp", "cp51932": "euc-jp", "eucjp-ms": "euc-jp",
	"iso2022jp": "iso-2022-jp", "cp50220": "iso-2022-jp", "cp50221": "iso-2022-jp", "cp936": "gbk", "cp949": "euc-kr", "cp950": "big5",
}

func decodeDeclared(body []byte, charset string) (string, bool) {
	charset = strings.ToLower(strings.TrimSpace(charset))
	if name, ok := aliases[charset]; ok {
		charset = name
	}
	enc, err := htmlindex.Get(charset)
	if err != nil {
		return "", false
	}
	// Latin-1 was the default of so many servers that its declaration says little, and no
	// text in it is valid UTF-8 by accident.
	if name, _ := htmlindex.Name(enc); name == "utf-8" || name == "windows-1252" && utf8.Valid(body) {
		return string(body), utf8.Valid(body)
	}
	return try(enc, body)
}

// guess reads what is UTF-8, and otherwise what shows its encoding: NULs are UTF-16,
// escape sequences ISO-2022-JP. Of the rest, EUC-JP and Shift_JIS are tried, then Latin-1.
func guess(body []byte) (string, bool) {
	switch {
	case len(body) >= 2 && body[0] != 0 && body[1] == 0:
		return try(utf16LE, body)
	case len(body) >= 2 && body[0] == 0 && body[1] != 0:
		return try(utf16BE, body)
	case bytes.Contains(body, []byte("\x1b$")) || bytes.Contains(body, []byte("\x1b(")):
		return try(japanese.ISO2022JP, body)
	case utf8.Valid(body):
		return string(body), true
	}
	if text, ok := try(japanese.EUCJP, body); ok && !isLatin(body) && strings.ContainsFunc(text, fullWidth) {
		return text, true
	}
	if text, ok := try(japanese.ShiftJIS, body); ok && !isLatin(body) {
		return text, true
	}
	return try(charmap.Windows1252, body)
}

// try decodes strictly: text with a character that the encoding lacks, or that no text
// has, was in another encoding.
func try(enc encoding.Encoding, body []byte) (string, bool) {
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil || bytes.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || unicode.Is(unicode.Co, r) || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\f", r)
	}) {
		return "", false
	}
	return string(text), true
}

// isLatin says whether a text that can be read as Japanese is more likely Latin-1. Its
// accented letters are then lone kana, or ideographs among Latin letters, of which they may
// have swallowed one; in Japanese, one mostly stands beside another.
func isLatin(body []byte) bool {
	before, beside, lone := byte(' '), 0, 0
	for len(body) > 0 {
		n := length(body)
		last, after := body[n-1], byte(' ')
		if n < len(body) {
			after = body[n]
		}
		among := 0
		for _, c := range []byte{before, last, after} {
			if isLetter(c) {
				among++
			}
		}
		switch {
		case isASCII(body[0]):
		case n == 2 && body[0] >= 0xe0 && isLetter(last):
			lone++
		case !isASCII(before) || !isASCII(after):
			beside++
		case n == 1 || among >= 2:
			lone++
		}
		before, body = last, body[n:]
	}
	return lone > beside
}

// fullWidth: not ASCII, and not the half-width kana as which EUC-JP reads many an ideograph
// in Shift_JIS.
func fullWidth(r rune) bool { return r >= utf8.RuneSelf && (r < 0xff61 || r > 0xff9f) }

func isASCII(c byte) bool { return c < utf8.RuneSelf }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// length is how many bytes the character that b begins with takes in Shift_JIS, whose kana of half
// width take one. In EUC-JP, bytes like these stand beside one another.
func length(b []byte) int {
	if isASCII(b[0]) || b[0] >= 0xa1 && b[0] <= 0xdf {
		return 1
	}
	return min(2, len(b))
}
