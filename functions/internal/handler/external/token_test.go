package external

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/problem"
)

// onlyWith answers who sends a token.
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

// TestARefusedTokenIsReadOnceAMinute: no call more than one, and no read more than one a minute.
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
		token := &Token{Now: time.Now, Fetch: func(context.Context) (string, error) {
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
	token := &Token{Now: time.Now, Fetch: func(ctx context.Context) (string, error) { return secret, ctx.Err() }}
	if value, err := token.Get(gone); value != secret || err != nil {
		t.Errorf("%q, %v", value, err)
	}
}

func TestWithoutToken(t *testing.T) {
	for _, c := range []struct{ body, token, want string }{
		{`{"a":"Bearer token-SECRET-1"}`, secret, `{"a":"Bearer [removed]"}`},
		{`{"a":"x\"y"}`, `x"y`, `{"a":"[removed]"}`},
		{`{"a":1}`, "", `{"a":1}`},
	} {
		if got := string(withoutToken([]byte(c.body), c.token)); got != c.want {
			t.Errorf("%s without %q: %s, want %s", c.body, c.token, got, c.want)
		}
	}
}
