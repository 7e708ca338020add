package external

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"sekisho/functions/internal/boot"
)

// TestWhatAWriteIsAnswered: any 2xx is a success, sent once, and the answer is what came of
// it, as far as it can be read.
func TestWhatAWriteIsAnswered(t *testing.T) {
	long := strings.Repeat("あ", longestText/3+1)
	for name, c := range map[string]struct {
		status int
		header string // name: value
		body   string
		want   string // the answer
	}{
		"201, Location":       {201, "Location: /publications/7", "", `{"http_status":201,"location":"/publications/7"}`},
		"201":                 {201, "", "", `{"http_status":201}`},
		"202":                 {202, "", "", `{"http_status":202}`},
		"200, empty":          {200, "", "", `{}`},
		"200, blank":          {200, "", " \r\n", `{}`},
		"204":                 {204, "", "", `{}`},
		"204, Location":       {204, "Location: /p/7", "", `{"http_status":204,"location":"/p/7"}`},
		"JSON":                {201, "Content-Type: application/json", `{"id":12345678901234567890}`, `{"id":12345678901234567890}`},
		"JSON, no type":       {200, "Content-Type:", `{"id":7}`, `{"id":7}`},
		"JSON as text":        {200, "Content-Type: text/plain", `{"id":7}`, `{"id":7}`},
		"JSON, odd type":      {200, "Content-Type: json;;", `{"id":7}`, `{"id":7}`},
		"JSON, BOM":           {200, "Content-Type: application/json", "\ufeff" + `{"id":7}`, `{"id":7}`},
		"JSON, a list":        {200, "Content-Type: application/json", `[1, 2]`, `{"body":[1,2],"http_status":200}`},
		"JSON, null":          {200, "Content-Type: application/json", `null`, `{"body":null,"http_status":200}`},
		"JSON, broken":        {200, "Content-Type: application/json", `{"id":`, `{"body":"{\"id\":","content_type":"application/json","http_status":200}`},
		"text":                {200, "Content-Type: text/plain", "done, 完了\n", `{"body":"done, 完了","content_type":"text/plain","http_status":200}`},
		"text in Shift_JIS":   {200, "Content-Type: text/plain", in(t, japanese.ShiftJIS, "完了しました"), `{"body":"完了しました","content_type":"text/plain","http_status":200}`},
		"an image":            {200, "Content-Type: image/png", "\x89PNG\r\n\x1a\n\x00\x00", `{"body_unreadable":true,"content_type":"image/png","http_status":200}`},
		"compressed, unasked": {200, "Content-Encoding: br", "\x1b\x02\x00", `{"body_unreadable":true,"content_type":"","http_status":200}`},
		"long text":           {200, "Content-Type: text/plain", long, `{"body":"` + long[:longestText/3*3] + `","body_truncated":true,"content_type":"text/plain","http_status":200}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.answers(func(rw http.ResponseWriter, _ *http.Request) {
					if name, value, ok := strings.Cut(c.header, ":"); ok {
						rw.Header()[name] = []string{strings.TrimSpace(value)}
					}
					if rw.Header()["Content-Type"] == nil {
						rw.Header()["Content-Type"] = nil // not what net/http would guess
					}
					rw.WriteHeader(c.status)
					fmt.Fprint(rw, c.body)
				})
				a := w.publish("hello")
				want := `{"slug":"hello","published_at":"2000-01-01T00:00:00Z","daily_limit":1,"answer":` + c.want + `}`
				if n := len(w.called()); a.StatusCode != 200 || a.Body != want || n != 1 {
					t.Errorf("%d after %d requests: %s\nwant %s", a.StatusCode, n, a.Body, want)
				}
			})
		})
	}
}

// TestEncodings: what comes back is the text as it was, or an error that costs nothing.
func TestEncodings(t *testing.T) {
	const tokyo = `{"kana":"ﾄｳｷｮｳ","name":"東京都千代田区"}`
	for name, c := range map[string]struct {
		contentType string
		enc         encoding.Encoding
		text        string
	}{
		"Shift_JIS, declared":   {"application/json; charset=shift_jis", japanese.ShiftJIS, tokyo},
		"Windows-31J, declared": {"application/json; charset=Windows-31J", japanese.ShiftJIS, `{"name":"髙﨑①"}`},
		"cp932, declared":       {"application/json; charset=cp932", japanese.ShiftJIS, tokyo},
		"Shift_JIS":             {"application/json", japanese.ShiftJIS, tokyo},
		"Shift_JIS as UTF-8":    {"application/json; charset=utf-8", japanese.ShiftJIS, tokyo},
		"Shift_JIS, one kanji":  {"application/json", japanese.ShiftJIS, `{"n":"100円","unit":"円"}`},
		"EUC-JP, declared":      {"application/json; charset=EUC-JP", japanese.EUCJP, tokyo},
		"EUC-JP":                {"application/json", japanese.EUCJP, tokyo},
		"EUC-JP, kanji":         {"application/json", japanese.EUCJP, `{"name":"東京"}`},
		"ISO-2022-JP, declared": {"application/json; charset=iso-2022-jp", japanese.ISO2022JP, `{"name":"東京"}`},
		"ISO-2022-JP":           {"application/json", japanese.ISO2022JP, `{"name":"東京"}`},
		"Latin-1, declared":     {"application/json; charset=iso-8859-1", charmap.ISO8859_1, `{"name":"Zürich, café, Øresund"}`},
		"Latin-1":               {"application/json", charmap.ISO8859_1, `{"name":"Zürich, garçon, résumé, Straße, Élysée"}`},
		"windows-1252":          {"application/json", charmap.Windows1252, `{"name":"l’été – 5 €"}`},
		"UTF-8 as Latin-1":      {"application/json; charset=iso-8859-1", encoding.Nop, tokyo},
		"UTF-8 as nonsense":     {"application/json; charset=no-such", encoding.Nop, tokyo},
		"UTF-16, BOM":           {"application/json; charset=utf-16", unicode.UTF16(unicode.BigEndian, unicode.UseBOM), tokyo},
		"UTF-16LE, declared":    {"application/json; charset=utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), tokyo},
		"UTF-16LE":              {"application/json", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), tokyo},
		"UTF-16BE":              {"application/json", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), tokyo},
		"UTF-16BE as UTF-16":    {"application/json; charset=utf-16", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), tokyo},
		"Big5, declared":        {"application/json; charset=cp950", nil, `{"name":"` + "\xa5\xcb" + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, map[string]string{boot.UpstreamBurst: "100"})
				body, want := c.text, c.text
				if c.enc != nil {
					body = in(t, c.enc, c.text)
				} else {
					want = `{"name":"瓦"}`
				}
				w.answers(says(body, "Content-Type", c.contentType))
				if a := w.fetch("demo"); a.StatusCode != 200 || a.Body != `{"resource_id":"demo","stats":`+want+`}` {
					t.Errorf("%d %s", a.StatusCode, a.Body)
				}
			})
		})
	}
	for name, body := range map[string]string{
		"no encoding":        "{\"name\":\"\x81\x8d\x81\xff\"}",
		"UTF-8, BOM, broken": "\xef\xbb\xbf{\"name\":\"\xff\"}",
		"UTF-16, odd length": "{\x00\"\x00}\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.answers(says(body, "Content-Type", "application/json; charset=utf-8"))
				if a := w.fetch("demo"); a.StatusCode != 502 || a.problem.Error != "upstream_failed" {
					t.Errorf("%d %s", a.StatusCode, a.Body)
				}
			})
		})
	}
}

func in(t *testing.T, enc encoding.Encoding, text string) string {
	t.Helper()
	s, err := enc.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
