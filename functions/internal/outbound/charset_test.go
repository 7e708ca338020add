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
	japaneseWords = strings.Fields("東京都 千代田区 丸の内 です ました カタカナ ひらがな 売上 合計 株式会社 山田太郎 福岡 1丁目 第2回 円 A社 i号 ２０２６年 令和 お問い合わせ 髙﨑")
	latinWords    = strings.Fields("café Zürich garçon résumé Straße Élysée año señor naïve Ærø Malmö über déjà très 10° ½ l'été coração São Köln")
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
