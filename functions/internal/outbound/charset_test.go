package outbound

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

var (
	japaneseWords = strings.Fields("東京都 千代田区 丸の内 です ました カタカナ ひらがな 売上 合計 株式会社 山田太郎 福岡 1丁目 第2回 円 A社 i号 ２０２６年 令和 お問い合わせ 髙﨑 治 釈")
	latinWords    = strings.Fields("café Zürich garçon résumé Straße Élysée año señor naïve Ærø Malmö über déjà très 10° ½ l'été coração São Köln créée Noël ça às fêz Fuß ¡Y")
	asciiWords    = strings.Fields("name total 42 ok id- a.b (x)")
)

// Text whose encoding nobody declares is read as it was written: Japanese in any of its
// encodings, Latin-1, UTF-8.
func TestUndeclaredEncodings(t *testing.T) {
	for _, c := range []struct {
		name  string
		enc   encoding.Encoding
		words []string
	}{
		{"Shift_JIS", japanese.ShiftJIS, japaneseWords},
		{"EUC-JP", japanese.EUCJP, japaneseWords},
		{"ISO-2022-JP", japanese.ISO2022JP, japaneseWords[:17]},
		{"windows-1252", charmap.Windows1252, latinWords},
		{"UTF-8", encoding.Nop, append(latinWords, japaneseWords...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			words := append(c.words, asciiWords...)
			for _, a := range words {
				for _, b := range words {
					for _, between := range []string{" ", `","`, ", 1 "} {
						text := `{"text":"` + a + between + b + `"}`
						body, err := c.enc.NewEncoder().String(text)
						if err != nil {
							t.Fatal(err)
						}
						if got, err := decode([]byte(body), ""); err != nil || got != text {
							t.Errorf("%s came back as %s, %v", text, got, err)
						}
					}
				}
			}
		})
	}
}

// TestDeclaredEncodings: a byte order mark counts most, then what is declared, where it is possible.
func TestDeclaredEncodings(t *testing.T) {
	for _, c := range []struct{ body, charset, want string }{
		{"\xef\xbb\xbfé", "shift_jis", "é"},
		{"\xef\xbb\xbf\xe9", "windows-1252", ""},
		{"\xff\xfe{\x00}\x00", "", "{}"}, {"\xfe\xff\x00{\x00}", "utf-8", "{}"}, {"\xff\xfe\x00\xd8", "", ""},
		{"{\x00}\x00", "", "{}"}, {"\x00{\x00}", "", "{}"}, {"1\x00", "", "1"}, {"\x001", "", "1"}, {"\x00\x00", "", "\x00\x00"}, {"\x00", "", "\x00"}, {"7", "", "7"},
		{"\x93\x8c", " CP932 ", "東"}, {"\x93\x8c", "Shift_JIS", "東"}, {"\xc5\xec", "eucJP-ms", "東"}, {"\xb6\xab", " CP936 ", "东"},
		{"\x1b$BEl\x1b(B", "", "東"}, {"\x1b(B{}", "", "{}"},
		{"é", "iso-8859-1", "é"}, {"\xe9", "iso-8859-1", "é"}, // servers declare it without looking
		{"\x93\x8c", "windows-1252", "“Œ"}, {"Fu\xdf", "", "Fuß"},
		{"\xe9t\xe9", "utf-8", "été"}, // declared wrongly
		{"é", "no such", "é"}, {"\xcf\xf0\xe8", "windows-1251", "При"},
		{"a\x01b", "", "a\x01b"}, {"\xe9\x01", "iso-8859-2", ""}, {"a\tb\r\n\f", "iso-8859-2", "a\tb\r\n\f"}, {"\x81", "windows-1253", ""},
		{"", "utf-16", ""},
	} {
		got, err := decode([]byte(c.body), c.charset)
		if got != c.want || (err == nil) != (c.want != "" || c.body == "") {
			t.Errorf("%q as %q: %q, %v; want %q", c.body, c.charset, got, err, c.want)
		}
	}
}

// Whatever is sent and declared: what comes back is UTF-8, and has no replacement character
// that was not sent as one.
func FuzzDecode(f *testing.F) {
	for _, charset := range []string{"", "utf-8", "shift_jis", "euc-jp", "iso-2022-jp", "iso-8859-1", "utf-16", "iso-2022-kr", "x-user-defined", "no such"} {
		f.Add([]byte("{\"a\":\"\x82\xa0\xff\"}"), charset)
		f.Add([]byte("\xff\xfe{\x00}\x00\x00\xd8"), charset)
		f.Add([]byte("\x1b$B$\"\x1b(B"), charset)
	}
	f.Fuzz(func(t *testing.T, body []byte, charset string) {
		text, err := decode(body, charset)
		if err == nil && (!utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) && !utf8.Valid(body)) {
			t.Errorf("%q as %q: %q", body, charset, text)
		}
		if err != nil && text != "" {
			t.Errorf("%q: %q and %v", body, text, err)
		}
	})
}
