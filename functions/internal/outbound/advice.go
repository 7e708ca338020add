package outbound

import (
	"errors"
	"fmt"
	"time"
)

// Code is the error code that an agent and a dashboard see. The status in brackets is
// the one that a REST answer should have.
type Code string

const (
	CodeAuth          Code = "upstream_auth"             // its token was refused (502)
	CodeNotFound      Code = "upstream_not_found"        // (404)
	CodeConflict      Code = "upstream_conflict"         // (409)
	CodeRejected      Code = "upstream_rejected"         // it finds the input wrong (422)
	CodeRateLimited   Code = "upstream_rate_limited"     // it answered 429 (429)
	CodeBusy          Code = "upstream_bucket_empty"     // our own rate limit for it (429)
	CodeUnavailable   Code = "upstream_unavailable"      // 502, 503, no connection (503)
	CodeTimeout       Code = "upstream_timeout"          // (504)
	CodeUnclear       Code = "upstream_outcome_unclear"  // may have happened (502)
	CodeFailed        Code = "upstream_failed"           // 500, unreadable answer (502)
	CodeTooLarge      Code = "upstream_answer_too_large" // (502)
	CodeMisconfigured Code = "upstream_misconfigured"    // address, certificate, redirect (502)
	CodeDeadline      Code = "deadline_too_short"        // nothing was sent (504)
	CodeCancelled     Code = "cancelled"                 // nobody reads it
)

// Advice is what an agent reads about a failed call.
type Advice struct {
	Code           Code  `json:"error"`
	Classification Class `json:"classification"`
	Retryable      bool  `json:"retryable"`
	// RetryAfterMs is null if waiting doesn't help or nobody knows how long.
	RetryAfterMs *int64 `json:"retryAfterMs"`
	// Hint says what to do next and what not to do. It holds nothing from the upstream.
	Hint string `json:"hint"`
}

// today is the longest wait that an agent is asked to sit out.
const today = 24 * time.Hour

// Advise turns the error of [Do] into advice. An error of another kind is unknown.
func Advise(err error) Advice {
	var e *Error
	if !errors.As(err, &e) {
		return Advice{Code: CodeFailed, Classification: Unknown,
			Hint: "The call failed inside the server. Don't retry; tell the user."}
	}
	a := Advice{Classification: e.Class}
	switch {
	case e.Stop == StopAccepted:
		a.Code = CodeUnclear
		a.Hint = fmt.Sprintf("The upstream accepted the call (HTTP %d); only its answer can't be read. Don't send it again: it has happened.", e.Status)
	case e.Stop == StopCancelled:
		a.Code, a.Hint = CodeCancelled, "The call was cancelled by the caller."
	case e.MayHaveHappened:
		a.Code = CodeUnclear
		a.Hint = "It may have happened: the upstream got the request, but no usable answer came back. " +
			"Check whether it took effect before you send it again; don't repeat it blindly."
	case e.Class == Permanent:
		a.Code, a.Hint = permanent(e)
	case e.Class == Unknown:
		a.Code, a.Hint = CodeFailed, unknown(e)
		a.Retryable = e.Stop == StopDeadline // the one retry was not used up
	default:
		a.Code, a.Hint = transient(e)
		a.Retryable = e.RetryAfter <= today
	}
	if ms := milliseconds(e.RetryAfter); ms > 0 && e.Class != Permanent && !e.MayHaveHappened {
		a.RetryAfterMs = &ms
	}
	return a
}

func permanent(e *Error) (Code, string) {
	if m, ok := e.meaning(); ok {
		return m.code, m.hint(e.Status)
	}
	switch e.Reason {
	case ReasonTooLarge:
		return CodeTooLarge, "The answer is larger than this server accepts. Don't retry as it is; ask for less."
	case ReasonTLS:
		return CodeMisconfigured, "No trusted TLS connection to the upstream is possible. Don't retry; the server's owner must check the upstream's certificate and URL."
	case ReasonBlocked:
		return CodeMisconfigured, "The upstream leads to an address that is not public, which this server refuses. Don't retry; the server's owner must check the upstream's URL."
	case ReasonRedirect:
		return CodeMisconfigured, "The upstream redirects to where this server doesn't follow. Don't retry; the server's owner must configure the final URL."
	}
	return CodeMisconfigured, "The upstream can't be called in this way. Don't retry; the server's owner must check the upstream's configuration."
}

func unknown(e *Error) string {
	what := "The upstream gave an answer that can't be read"
	if m, ok := e.meaning(); ok {
		what = fmt.Sprintf("%s (HTTP %d)", m.says, e.Status)
	}
	if e.Stop == StopDeadline {
		return what + ", and no time was left to repeat the call. One more call may help; if it fails again, stop and tell the user."
	}
	return fmt.Sprintf("%s; this server has already tried %s. Don't retry; tell the user that the upstream is at fault.", what, times(e.Attempts))
}

func transient(e *Error) (Code, string) {
	switch e.Reason {
	case ReasonDeadline:
		return CodeDeadline, "The time for this call ran out before the upstream could be asked (again). Call again; if this recurs, the server's owner must allow the function more time."
	case ReasonGate:
		if e.RetryAfter == 0 {
			return CodeUnavailable, "This server could not check its own rate limit for the upstream, so it did not call. Try again later."
		}
		return CodeBusy, "This server limits how often the upstream is called, and others are ahead of you. " + notBefore(e) + " Make fewer calls."
	}
	code, cause := transientCause(e)
	switch {
	case e.RetryAfter > today:
		return code, cause + " " + notBefore(e)
	case e.Stop == StopDeadline:
		return code, fmt.Sprintf("%s The next attempt needs a wait longer than this call may last (tried %s). %s",
			cause, times(e.Attempts), notBefore(e))
	}
	return code, fmt.Sprintf("%s This server has already tried %s. %s If it fails again, stop and tell the user.",
		cause, times(e.Attempts), notBefore(e))
}

func transientCause(e *Error) (Code, string) {
	if m, ok := e.meaning(); ok {
		return m.code, m.says + "."
	}
	switch e.Reason {
	case ReasonTimeout:
		return CodeTimeout, "The upstream did not answer in time."
	case ReasonDNS:
		return CodeUnavailable, "The upstream's host name could not be resolved."
	}
	return CodeUnavailable, "The connection to the upstream failed."
}

// meaning is that of the status, if the status is what failed.
func (e *Error) meaning() (meaning, bool) {
	m := meaningOf(e.Status)
	return m, e.Status >= 400 && m.reason == e.Reason
}

func notBefore(e *Error) string {
	if e.RetryAfter > today {
		return fmt.Sprintf("Not retryable today: don't retry before %s; tell the user.", time.Now().Add(e.RetryAfter).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return fmt.Sprintf("Don't retry before %d ms have passed.", milliseconds(e.RetryAfter))
}

// milliseconds rounds up: a figure that is too small would be obeyed too early.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
