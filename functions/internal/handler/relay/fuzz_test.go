package relay

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sekisho/functions/internal/outbound"
)

// FuzzAnswer: whatever a backend answers, the caller gets text under a type that is true of it, no
// header but those that are passed, and for a write that was accepted never an error.
func FuzzAnswer(f *testing.F) {
	for _, contentType := range []string{"application/json", "application/problem+json; charset=shift_jis", "text/html", "image/png", "text/plain; charset=utf-16", "", "a/b; c=", "application/json; charset=\"\x00\""} {
		for _, body := range []string{`{"a":1}`, "", "\xef\xbb\xbf[]", "\x93\x8c\x8b\x9e", "\x89PNG\r\n\x1a\n", "<html>"} {
			f.Add(200, contentType, "", []byte(body), false)
			f.Add(201, contentType, "/there\r\nX-Evil: 1", []byte(body), true)
		}
	}
	op := operation(f, "/orders", "      x-sekisho: { backend: orders, units: 1, tool: true, request: { method: POST, path: /orders } }\n")
	allowed := append([]string{"Content-Type", "X-Content-Type-Options", "Retry-After"}, passedHeaders...)
	f.Fuzz(func(t *testing.T, status int, contentType, location string, body []byte, write bool) {
		if status < 200 || status > 299 {
			t.Skip()
		}
		r := outbound.Response{Status: status, Body: body, Write: write, Header: http.Header{
			"Content-Type": {contentType}, "Location": {location}, "Set-Cookie": {"s=1"}, "Ratelimit": {"r"}, "X-Api-Key": {"k"},
		}}
		answer, err := passOn(op, r)
		if readable(op, r) != nil && !write && err == nil && json.Valid(answer.Body) {
			t.Errorf("%s %q can't be read, and is passed on as %q", contentType, body, answer.Body)
		}
		if err != nil {
			if write {
				t.Errorf("an accepted write is called a failure: %v", err)
			}
			return
		}
		if !utf8.Valid(answer.Body) || answer.Status != status {
			t.Errorf("%d %q", answer.Status, answer.Body)
		}
		for name := range answer.Header {
			if !slices.Contains(allowed, name) {
				t.Errorf("the header %s is passed on", name)
			}
		}
		says, _, _ := strings.Cut(answer.Header["Content-Type"], ";")
		if (says == "application/json" || strings.HasSuffix(says, "+json")) && len(answer.Body) > 0 && !json.Valid(answer.Body) {
			t.Errorf("%q is said to be %s", answer.Body, says)
		}
	})
}
