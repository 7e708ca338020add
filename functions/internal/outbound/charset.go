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
	bomUTF8    = []byte("\xef\xbb\xbf")
	utf16LE    = utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)
	utf16BE    = utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)
	windows932 = japanese.ShiftJIS
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
	for _, enc := range []encoding.Encoding{japanese.EUCJP, windows932} {
		if text, ok := try(enc, body); ok && isJapanese(text) {
			return text, true
		}
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

// isJapanese tells a text from one in Latin-1 that was decoded as Japanese. There, the
// accented letters become single ideographs or kana between Latin letters; in Japanese,
// one stands beside another, or apart from letters.
func isJapanese(text string) bool {
	beside, lone := 0, 0
	runes := []rune(text)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		switch before, after := at(i-1), at(i+1); {
		case r < utf8.RuneSelf:
		case before >= utf8.RuneSelf || after >= utf8.RuneSelf:
			beside++
		case unicode.IsLetter(before) || unicode.IsLetter(after):
			lone++
		}
	}
	return beside >= lone
}
