package mcpserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/problem"
)

// answersAs is a REST API whose relay passes on what its backend said.
func answersAs(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(backend.AnsweredBy, "external")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

// TestABackendsOwnRefusal is told from ours by who answered, and never by its words: a backend
// may use the same ones.
func TestABackendsOwnRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		rest      http.HandlerFunc
		status    int
		answer    string
		retryable bool
	}{
		"JSON":               {answersAs(422, `{"error":"unauthorized","hint":"calendar.holidays"}`), 422, `{"error":"unauthorized","hint":"calendar.holidays"}`, false},
		"text":               {answersAs(404, "no such\x00 thing\n"), 404, `"no such thing"`, false},
		"nothing":            {answersAs(409, ""), 409, `""`, false},
		"long":               {answersAs(400, `{"a":"`+strings.Repeat("x", 9000)+`"}`), 400, `"{\"a\":\"` + strings.Repeat("x", 3994) + `…"`, false},
		"429 with a wait":    {answersAs(429, "slow down", "Retry-After", "7"), 429, `"slow down"`, true},
		"429 without":        {answersAs(429, "slow down"), 429, `"slow down"`, false},
		"422 with a wait":    {answersAs(422, "", "Retry-After", "7"), 422, `""`, false},
		"its 401 is its own": {answersAs(401, ""), 401, `""`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.rest = c.rest
			r, _ := w.callTool(t.Context(), "external.publish_content", `{"slug":"a"}`)
			b := failure(t, r)
			if b.Error != problem.BackendRefused || b.Status != c.status || string(b.Answer) != c.answer || b.Retryable != c.retryable || b.Retryable != (b.RetryAfterMs != nil && *b.RetryAfterMs == 7000) {
				t.Errorf("%+v %.200s", b, b.Answer)
			}
		})
	}
	// The same body from the gateway, or for a tool without a backend, is ours.
	w := newWorld(t)
	w.rest = answersAs(429, string(problem.New(problem.Throttled, "").JSON()))
	r, _ := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"100-0001"}`)
	if b := failure(t, r); b.Error != problem.Throttled {
		t.Errorf("%+v", b)
	}
}
