package outbound

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	blamesCaller = regexp.MustCompile(`correct them|same arguments|same identifier|send less|shorter`)
	blamesOwner  = regexp.MustCompile(`server's owner`)
	saysToStop   = regexp.MustCompile(`Don't retry|stop and tell the user`)
)

// Every status has a hint that says what it means, what to do, and blames nobody but whom
// it concerns: never the caller for a 5xx.
func TestEveryStatusHasItsHint(t *testing.T) {
	for status := 400; status <= 599; status++ {
		m := meaningOf(status)
		if _, known := meanings[status]; !known && http.StatusText(status) != "" {
			t.Errorf("%d is registered (%s) and not in the table", status, http.StatusText(status))
		}
		v := classify(outcome{err: &StatusError{Status: status}, status: status, sent: true})
		e := &Error{Status: status, Class: v.class, Reason: v.reason, Stop: StopAttempts, Attempts: 4, RetryAfter: time.Second}
		if v.class == Permanent {
			e.Stop, e.RetryAfter = StopPermanent, 0
		}
		a := Advise(e)
		if a.Code != m.code || a.Classification != m.class || a.Retryable != (m.class == Transient) {
			t.Errorf("%d: %+v, want %s, %s", status, a, m.code, m.class)
		}
		if !saysToStop.MatchString(a.Hint) || len(a.Hint) < 60 {
			t.Errorf("%d: the hint does not say what to do: %s", status, a.Hint)
		}
		if blamesCaller.MatchString(a.Hint) != (m.party == caller && status != 409) || m.party == caller && status >= 500 {
			t.Errorf("%d concerns the %s: %s", status, m.party, a.Hint)
		}
		if blamesOwner.MatchString(a.Hint) != (m.party == owner) {
			t.Errorf("%d concerns the %s: %s", status, m.party, a.Hint)
		}
		if m.class == Transient && m.party != operator {
			t.Errorf("%d passes by itself, and is a matter of the %s", status, m.party)
		}
	}
}

// What the classification of the statuses is, and after which a write may have happened.
func TestClassesOfStatuses(t *testing.T) {
	transient := map[int]bool{ // whether it may have happened
		408: true, 421: false, 425: false, 429: false, 502: true, 503: false, 504: true,
		420: false, 444: true, 460: true, 499: true, 520: true, 521: false, 522: true, 523: false,
		524: true, 525: false, 527: true, 529: false, 530: false, 540: false, 598: true, 599: true,
	}
	for status := 400; status <= 599; status++ {
		v := meaningOf(status).verdict
		ambiguous, passes := transient[status]
		switch {
		case passes:
			if v.class != Transient || v.ambiguous != ambiguous {
				t.Errorf("%d: %+v, want transient, ambiguous %t", status, v, ambiguous)
			}
		case status == 500:
			if v.class != Unknown || !v.ambiguous {
				t.Errorf("500: %+v", v)
			}
		default: // a refusal by a 4xx, or one that never got there, changed nothing
			refused := status < 500 || status == 511 || status == 526 || status == 561 || status == 509
			if v.class != Permanent || v.ambiguous == refused {
				t.Errorf("%d: %+v, want permanent, ambiguous %t", status, v, !refused)
			}
		}
	}
}

// TestStatusesThatNobodyRegistered are taken as their class says, and those of no class as a configuration
// that is wrong.
func TestStatusesThatNobodyRegistered(t *testing.T) {
	for status, code := range map[int]Code{
		399: CodeMisconfigured, 432: CodeRejected, 493: CodeRejected, 512: CodeFailed, 597: CodeFailed, 600: CodeMisconfigured, 999: CodeMisconfigured,
	} {
		if m := meaningOf(status); m.code != code || m.class != Permanent {
			t.Errorf("%d: %s, %s; want %s", status, m.code, m.class, code)
		}
	}
	for status, ambiguous := range map[int]bool{302: false, 303: true} {
		if m := meaningOf(status); m.ambiguous != ambiguous {
			t.Errorf("%d may have happened: %t", status, m.ambiguous)
		}
	}
}

// Waits of more than a day are not for an agent to sit out.
func TestNotToday(t *testing.T) {
	for wait, retryable := range map[time.Duration]bool{
		time.Second: true, today: true, today + time.Second: false, maxRetryAfter: false,
	} {
		for _, reason := range []Reason{ReasonRateLimited, ReasonGate} {
			a := Advise(&Error{Class: Transient, Reason: reason, Status: 429, Stop: StopDeadline, RetryAfter: wait})
			if a.Retryable != retryable || a.RetryAfterMs == nil || *a.RetryAfterMs != wait.Milliseconds() {
				t.Errorf("%s after %s: %+v", reason, wait, a)
			}
			if notToday := regexp.MustCompile(`Not retryable today: don't retry before \d{4}-\d\d-\d\d \d\d:\d\d UTC`).MatchString(a.Hint); notToday == retryable {
				t.Errorf("%s after %s: %s", reason, wait, a.Hint)
			}
			if reason == ReasonRateLimited && strings.Contains(a.Hint, "longer than this call may last") != retryable {
				t.Errorf("%s after %s: %s", reason, wait, a.Hint)
			}
		}
	}
}
