package relay

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
)

// onlyWith answers requests with that token.
func onlyWith(token string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		good(rw, r)
	}
}

func TestARotatedTokenWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.answers(onlyWith(secret))
		if a := w.fetch("demo"); a.StatusCode != 200 {
			t.Fatal(a.Body)
		}
		time.Sleep(renewEvery)
		w.token = "token-SECRET-2"
		w.answers(onlyWith(w.token))
		w.called()
		if a := w.publish("hello"); a.StatusCode != 200 || len(w.called()) != 2 || w.tokens != 2 {
			t.Errorf("after a rotation: %s, the token was read %d times", a.Body, w.tokens)
		}
	})
}

// TestARefusedTokenIsReadOnceAMinute: a call makes one request, and a minute one read.
func TestARefusedTokenIsReadOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.answers(status(http.StatusUnauthorized))
		for range 30 {
			w.fetch("demo")
			if n := len(w.called()); n != 1 {
				t.Fatalf("%d attempts with a token that is refused", n)
			}
			time.Sleep(10 * time.Second)
		}
		if w.tokens != 5 { // at 0, 60, 120, 180 and 240 s
			t.Errorf("in 300 s the token was read %d times, want 5", w.tokens)
		}
	})
}

func TestATokenThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, down := 0, true
		token := &Secret{Now: time.Now, Fetch: func(context.Context) (string, error) {
			reads++
			if down {
				return "", errors.New("AccessDeniedException")
			}
			return secret, nil
		}}
		for range 3 {
			if _, err := token.Get(t.Context()); problem.From(err).Code != problem.UpstreamTokenUnavailable {
				t.Fatal(err)
			}
		}
		if reads != 1 {
			t.Errorf("read %d times within a moment", reads)
		}
		down = false
		time.Sleep(fetchPause)
		if value, err := token.Get(t.Context()); value != secret || err != nil {
			t.Errorf("%q, %v", value, err)
		}
		// One that was read stays, whatever becomes of the parameter.
		down = true
		time.Sleep(renewEvery)
		if _, ok := token.Renew(t.Context(), secret); ok {
			t.Error("renewed out of nothing")
		}
		if value, err := token.Get(t.Context()); value != secret || err != nil {
			t.Errorf("%q, %v", value, err)
		}
	})
}

// TestACallerThatGoesDoesNotSpoilTheToken for those that come after.
func TestACallerThatGoesDoesNotSpoilTheToken(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	token := &Secret{Now: time.Now, Fetch: func(ctx context.Context) (string, error) { return secret, ctx.Err() }}
	if value, err := token.Get(gone); value != secret || err != nil {
		t.Errorf("%q, %v", value, err)
	}
}

// TestARenewedTokenBuysNoMoreRequests: what was spent before the token was refused counts.
func TestARenewedTokenBuysNoMoreRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for before := range 4 {
			w := newWorld(t, nil)
			if a := w.fetch("demo"); a.StatusCode != 200 {
				t.Fatal(a.Body)
			}
			time.Sleep(renewEvery)
			w.called()
			w.token = "token-SECRET-2"
			seen := 0
			w.answers(func(rw http.ResponseWriter, _ *http.Request) {
				if seen++; seen == before+1 {
					rw.WriteHeader(http.StatusUnauthorized)
					return
				}
				rw.WriteHeader(http.StatusServiceUnavailable)
			})
			w.fetch("demo")
			if n := len(w.called()); n != outbound.MaxAttempts {
				t.Errorf("refused after %d failures: %d requests, want %d in all", before, n, outbound.MaxAttempts)
			}
		}
	})
}

// TestAnEchoedTokenIsRemoved, whatever the upstream's library makes of it.
func TestAnEchoedTokenIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, unlimited)
		w.token = `abc/def+ghi=="x&y`
		inBase64 := base64.StdEncoding.EncodeToString([]byte("Bearer " + w.token))
		for name, body := range map[string]string{
			"JavaScript": `{"at":"Bearer abc/def+ghi==\"x&y"}`,
			"PHP":        `{"at":"abc\/def+ghi==\"x&y"}`,
			".NET":       `{"at":"abc/def\u002Bghi==\u0022x\u0026y"}`,
			"all of it":  `{"at":"\u0061\u0062\u0063\u002f\u0064\u0065\u0066\u002b\u0067\u0068\u0069\u003d\u003d\u0022\u0078\u0026\u0079"}`,
			"a URL":      `{"at":"?t=abc%2Fdef%2Bghi%3D%3D%22x%26y"}`,
			"HTML":       `{"at":"<p>abc&#x2F;def&#43;ghi&#61;&equals;&quot;x&amp;y"}`,
			"JSON":       `{"at":"{\"h\":\"abc\\/def+ghi==\\\"x\\u0026y\"}"}`,
			"base64":     `{"at":"` + inBase64 + `"}`,
			"PHP base64": `{"at":"` + strings.ReplaceAll(inBase64, "/", `\/`) + `"}`,
			"a name":     `{"abc/def+ghi==\"x&y":1}`,
			"UTF-16":     inUTF16(`{"at":"abc/def+ghi==\"x&y"}`),
		} {
			w.answers(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Location", "/p?t="+w.token)
				fmt.Fprint(withJSON(rw), body)
			})
			for _, a := range []answer{w.fetch("demo"), w.publish("hello")} {
				if a.StatusCode != 200 || strings.Contains(a.Body, "ghi") || strings.Contains(a.Body, "u0067") || strings.Contains(a.Body, inBase64[10:20]) || !strings.Contains(a.Body, "[removed]") {
					t.Errorf("%s: %d %s", name, a.StatusCode, a.Body)
				}
			}
		}
		w.answers(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", "https://upstream.test/p?t="+w.token)
			rw.WriteHeader(http.StatusCreated)
		})
		if a := w.publish("hello"); a.StatusCode != 201 || a.Headers["Location"] != "https://upstream.test/p?t=[removed]" {
			t.Errorf("in the location: %d %v", a.StatusCode, a.Headers)
		}
	})
}

func inUTF16(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		out.Write([]byte{b, 0})
	}
	return out.String()
}
