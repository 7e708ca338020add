package outbound

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestJudgedElsewhere: a call that went another way than through a Client is judged as one that did.
func TestJudgedElsewhere(t *testing.T) {
	const most = 10
	answered := func(method string, r Response) error {
		got, err := Answered("orders", method, r, most)
		if err == nil && (got.Status != r.Status || got.Write != !safe(method)) {
			t.Errorf("%s %d: %+v", method, r.Status, got)
		}
		if _, lost := got.Text(); err == nil && (len(got.Body) > most || errors.Is(lost, ErrTooLarge) != (len(r.Body) > most)) {
			t.Errorf("%s %d: %d of %d bytes, %v", method, r.Status, len(got.Body), len(r.Body), lost)
		}
		return err
	}
	full, over := []byte(strings.Repeat("a", most)), []byte(strings.Repeat("a", most+1))
	wait := http.Header{"Retry-After": {"7"}}
	for name, c := range map[string]struct {
		err      error
		class    Class // "" for none
		code     Code
		happened bool
		after    time.Duration
		attempts int
	}{
		"as large as may be":       {answered("GET", Response{Status: 200, Body: full}), "", "", false, 0, 0},
		"larger":                   {answered("GET", Response{Status: 200, Body: over}), Permanent, CodeTooLarge, false, 0, 1},
		"larger, of a write":       {answered("POST", Response{Status: 201, Body: over}), "", "", false, 0, 0},
		"a larger failure":         {answered("POST", Response{Status: 500, Body: over}), Permanent, CodeUnclear, true, 0, 1},
		"a 400":                    {answered("POST", Response{Status: 400}), Permanent, CodeRejected, false, 0, 1},
		"a 500 of a write":         {answered("POST", Response{Status: 500}), Unknown, CodeUnclear, true, 0, 1},
		"a 500 of a read":          {answered("GET", Response{Status: 500}), Unknown, CodeFailed, false, 0, 1},
		"a 503 that says when":     {answered("GET", Response{Status: 503, Header: wait}), Transient, CodeUnavailable, false, 7 * time.Second, 1},
		"a 503":                    {answered("GET", Response{Status: 503}), Transient, CodeUnavailable, false, backoffMax, 1},
		"no answer":                {Unanswered("orders", "POST", errors.New("gone")), Transient, CodeUnclear, true, backoffMax, 1},
		"no answer, to a PUT":      {Unanswered("orders", "PUT", errors.New("gone")), Transient, CodeUnavailable, false, backoffMax, 1},
		"not as configured":        {Impossible("orders", "POST", errors.New("no such function")), Permanent, CodeMisconfigured, false, 0, 1},
		"not through the gate":     {Held("orders", "POST", gateError(3*time.Second)), Transient, CodeBusy, false, 3 * time.Second, 0},
		"a gate that says nothing": {Held("orders", "POST", errors.New("closed")), Transient, CodeUnavailable, false, 0, 0},
	} {
		var e *Error
		if !errors.As(c.err, &e) {
			if c.class != "" {
				t.Errorf("%s: %v, want %s", name, c.err, c.class)
			}
			continue
		}
		stop := map[Class]Stop{Permanent: StopPermanent, Unknown: StopUnknown, Transient: StopAttempts}[c.class]
		if c.attempts == 0 {
			stop = StopGate
		}
		if e.Stop != stop {
			t.Errorf("%s: stopped: %s, want %s", name, e.Stop, stop)
		}
		if e.Class != c.class || Advise(e).Code != c.code || e.MayHaveHappened != c.happened || e.RetryAfter != c.after || e.Attempts != c.attempts {
			t.Errorf("%s: %s, %s, may have happened %t, after %s, %d attempts; want %+v", name, e.Class, Advise(e).Code, e.MayHaveHappened, e.RetryAfter, e.Attempts, c)
		}
	}
	for status, kept := range map[int]bool{399: false, 400: true, 499: true, 500: false} {
		var refused *StatusError
		if _, err := Answered("orders", "GET", Response{Status: status, Body: full}, most); !errors.As(err, &refused) || (refused.Answer != nil) != kept {
			t.Errorf("%d: %v; its answer is kept: %t", status, err, !kept)
		}
	}
}

// gateError names a wait.
type gateError time.Duration

func (e gateError) Error() string             { return "wait" }
func (e gateError) RetryAfter() time.Duration { return time.Duration(e) }
