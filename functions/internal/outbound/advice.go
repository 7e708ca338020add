package outbound

import (
	"errors"
	"fmt"
	"net/http"
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

// Advice is what an agent is told of a failed call: B5's members.
type Advice struct {
	Code           Code  `json:"error"`
	Classification Class `json:"classification"`
	Retryable      bool  `json:"retryable"`
	// RetryAfterMs is null if waiting doesn't help or nobody knows how long.
	RetryAfterMs *int64 `json:"retryAfterMs"`
	// Hint says what to do next and what not. It holds nothing from the upstream.
	Hint string `json:"hint"`
}

// Advise turns the error of [Do] into advice. An error of another kind is unknown.
func Advise(err error) Advice {
	var e *Error
	if !errors.As(err, &e) {
		return Advice{Code: CodeFailed, Classification: Unknown,
			Hint: "The call failed inside the server. Don't retry; tell the user."}
	}
	a := Advice{Classification: e.Class}
	switch {
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
		a.Retryable = true
	}
	if ms := milliseconds(e.RetryAfter); a.Retryable && ms > 0 {
		a.RetryAfterMs = &ms
	}
	return a
}

func permanent(e *Error) (Code, string) {
	switch e.Reason {
	case ReasonAuth:
		return CodeAuth, fmt.Sprintf("The upstream refused this server's own credentials (HTTP %d). "+
			"Don't retry, and don't change your API key: the server's owner must fix the upstream token or its permissions.", e.Status)
	case ReasonNotFound:
		return CodeNotFound, fmt.Sprintf("The upstream has no such resource (HTTP %d). "+
			"Don't retry with the same identifier; check it and call again with a correct one.", e.Status)
	case ReasonConflict:
		return CodeConflict, "The upstream reports a conflict with its current state (HTTP 409). " +
			"Don't retry as it is; read the current state first, it may exist already."
	case ReasonRejected:
		return CodeRejected, fmt.Sprintf("The upstream refused the input (HTTP %d). "+
			"Don't retry with the same arguments; correct them first.", e.Status)
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
	what := "an answer that can't be read"
	if e.Reason == ReasonServerError {
		what = fmt.Sprintf("an internal error (HTTP %d)", http.StatusInternalServerError)
	}
	if e.Stop == StopDeadline {
		return fmt.Sprintf("The upstream gave %s, and no time was left to repeat the call. One more call may help; if it fails again, stop and tell the user.", what)
	}
	return fmt.Sprintf("The upstream gave %s; this server has already tried %s. Don't retry; tell the user that the upstream is at fault.", what, times(e.Attempts))
}

func transient(e *Error) (Code, string) {
	code := CodeUnavailable
	switch e.Reason {
	case ReasonDeadline:
		return CodeDeadline, "The time for this call ran out before the upstream could be asked (again). Call again; if this recurs, the server's owner must allow the function more time."
	case ReasonGate:
		if e.RetryAfter == 0 {
			return code, "This server could not check its own rate limit for the upstream, so it did not call. Try again later."
		}
		return CodeBusy, "This server limits how often the upstream is called, and others are ahead of you. " + notBefore(e) + " Make fewer calls."
	case ReasonRateLimited:
		code = CodeRateLimited
	case ReasonTimeout, ReasonGatewayTimeout:
		code = CodeTimeout
	}
	if e.Stop == StopDeadline {
		return code, fmt.Sprintf("%s The next attempt needs a wait longer than this call may last (tried %s). %s",
			transientCause(e.Reason), times(e.Attempts), notBefore(e))
	}
	return code, fmt.Sprintf("%s This server has already tried %s. %s If it fails again, stop and tell the user.",
		transientCause(e.Reason), times(e.Attempts), notBefore(e))
}

func transientCause(r Reason) string {
	switch r {
	case ReasonRateLimited:
		return "The upstream limits the rate of calls."
	case ReasonTimeout, ReasonGatewayTimeout:
		return "The upstream did not answer in time."
	case ReasonDNS:
		return "The upstream's host name could not be resolved."
	case ReasonConnection:
		return "The connection to the upstream failed."
	}
	return "The upstream is unavailable."
}

func notBefore(e *Error) string {
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
