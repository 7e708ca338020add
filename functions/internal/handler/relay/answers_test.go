package relay

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

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/problem"
)

// TestWhatAWriteIsAnswered: any 2xx is a success, sent once, and passed on as it came, as far
// as it can be read. shown is what an agent reads of it.
func TestWhatAWriteIsAnswered(t *testing.T) {
	const asJSON, asText = "application/json", "text/plain; charset=utf-8"
	for name, c := range map[string]struct {
		status int
		header string // name: value
		body   string
		want   string // the body
		as     string // its type
		shown  string
	}{
		"201, Location":       {201, "Location: /publications/7", "", "", asText, `{"status":201,"location":"/publications/7"}`},
		"202":                 {202, "", "", "", asText, `{"status":202}`},
		"200, empty":          {200, "", "", "", asText, `{"status":200}`},
		"200, blank":          {200, "", " \r\n", " \r\n", asText, `{"status":200}`},
		"204":                 {204, "", "", "", asText, `{"status":204}`},
		"JSON":                {201, "Content-Type: application/json", `{"id":12345678901234567890}`, `{"id":12345678901234567890}`, asJSON, `{"id":12345678901234567890}`},
		"JSON of a kind":      {200, "Content-Type: application/hal+json; charset=utf-8", `{"id":7}`, `{"id":7}`, "application/hal+json", `{"id":7}`},
		"JSON, no type":       {200, "Content-Type:", `{"id":7}`, `{"id":7}`, asJSON, `{"id":7}`},
		"JSON as text":        {200, "Content-Type: text/plain", `{"id":7}`, `{"id":7}`, asText, `{"id":7}`},
		"JSON, odd type":      {200, "Content-Type: json;;", `{"id":7}`, `{"id":7}`, asJSON, `{"id":7}`},
		"JSON, BOM":           {200, "Content-Type: application/json", "\ufeff" + `{"id":7}`, `{"id":7}`, asJSON, `{"id":7}`},
		"JSON, a list":        {200, "Content-Type: application/json", `[1, 2]`, `[1, 2]`, asJSON, `{"result":[1,2]}`},
		"JSON, null":          {200, "Content-Type: application/json", `null`, `null`, asJSON, `{"result":null}`},
		"JSON, broken":        {200, "Content-Type: application/json", `{"id":`, `{"id":`, asText, `{"text":"{\"id\":"}`},
		"text":                {200, "Content-Type: text/plain", "done, 完了\n", "done, 完了\n", asText, `{"text":"done, 完了"}`},
		"text in Shift_JIS":   {200, "Content-Type: text/plain; charset=shift_jis", in(t, japanese.ShiftJIS, "完了しました"), "完了しました", asText, `{"text":"完了しました"}`},
		"a page":              {200, "Content-Type: text/html", "<p>done", "<p>done", "text/html; charset=utf-8", `{"text":"<p>done"}`},
		"an image":            {200, "Content-Type: image/png", "\x89PNG\r\n\x1a\n", `{"body_unreadable":true,"content_type":"image/png","status":200}`, asJSON, ""},
		"compressed, unasked": {200, "Content-Encoding: br", "\x1b\x02\x00", `{"body_unreadable":true,"status":200}`, asJSON, ""},
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
				if n := len(w.called()); a.StatusCode != c.status || a.Body != c.want || a.Headers["Content-Type"] != c.as || n != 1 {
					t.Errorf("%d after %d requests, %s: %s\nwant %d, %s: %s", a.StatusCode, n, a.Headers["Content-Type"], a.Body, c.status, c.as, c.want)
				}
				if a.Headers[backend.AnsweredBy] != "external" {
					t.Errorf("not marked as the backend's: %v", a.Headers)
				}
				op := w.handler.API.Operation("external.publish_content")
				if shown := string(backend.Shown(op, a.StatusCode, a.Headers["Location"], []byte(a.Body))); c.shown != "" && shown != c.shown {
					t.Errorf("shown as %s, want %s", shown, c.shown)
				}
			})
		})
	}
}

// TestWhatAReadIsAnswered: what is not what it claims to be is tried once more, and costs
// nothing then.
func TestWhatAReadIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, body string
		status            int
		code              problem.Code
		attempts          int
	}{
		"a list":        {"application/json", `[1]`, 200, "", 1},
		"text":          {"text/plain", "sunny", 200, "", 1},
		"CSV":           {"text/csv", "a,b\n1,2\n", 200, "", 1},
		"bytes of text": {"application/octet-stream", "sunny", 200, "", 1},
		"a page":        {"text/html", "<h1>Log in", 502, "upstream_failed", 2},
		"broken JSON":   {"application/json", `{"a":`, 502, "upstream_failed", 2},
		"empty JSON":    {"application/json", "", 502, "upstream_failed", 2},
		"an image":      {"image/png", "\x89PNG", 502, problem.AnswerNotText, 1},
		"bytes":         {"application/octet-stream", "\x00\xff", 502, problem.AnswerNotText, 1},
		"too large":     {"application/json", `"` + strings.Repeat("x", 400_000) + `"`, 422, problem.AnswerTooLarge, 1},
		"20 MB":         {"text/plain", strings.Repeat("x", 20<<20), 422, problem.AnswerTooLarge, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.answers(says(c.body, "Content-Type", c.contentType))
				a := w.fetch("demo")
				if n := len(w.called()); a.StatusCode != c.status || a.problem.Error != c.code || n != c.attempts {
					t.Errorf("%d %.300s after %d requests; want %d %s after %d", a.StatusCode, a.Body, n, c.status, c.code, c.attempts)
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
				w := newWorld(t, nil)
				body, want := c.text, c.text
				if c.enc != nil {
					body = in(t, c.enc, c.text)
				} else {
					want = `{"name":"瓦"}`
				}
				w.answers(says(body, "Content-Type", c.contentType))
				if a := w.fetch("demo"); a.StatusCode != 200 || a.Body != want {
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
