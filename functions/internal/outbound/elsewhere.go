package outbound

import (
	"errors"
	"net/http"
	"time"
)

// What follows judges calls that did not go through a [Client], by the same rules: to a
// function that is invoked, say.

// Answered returns the answer if it is a 2xx of at most that many bytes, or an *[Error]. The
// answer that came with a 4xx is kept in it.
func Answered(upstream, method string, r Response, most int64) (Response, error) {
	r.Write = !safe(method)
	if int64(len(r.Body)) > most {
		if isSuccess(r.Status) && r.Write {
			r.Body, r.lost = nil, ErrTooLarge
			return r, nil
		}
		return Response{}, once(upstream, method, outcome{err: ErrTooLarge, status: r.Status, sent: true})
	}
	if isSuccess(r.Status) {
		return r, nil
	}
	refused := &StatusError{Status: r.Status}
	if r.Status >= http.StatusBadRequest && r.Status < http.StatusInternalServerError {
		refused.Answer = &r
	}
	return Response{}, once(upstream, method, outcome{err: refused, status: r.Status, sent: true, retryAfter: r.RetryAfter()})
}

// Unanswered is the failure of a call that was made, and of which nobody knows what came of it.
func Unanswered(upstream, method string, err error) *Error {
	return once(upstream, method, outcome{err: &transportError{err}, sent: true})
}

// Impossible is the failure of a call that can't be made as things are configured.
func Impossible(upstream, method string, err error) *Error {
	return once(upstream, method, outcome{err: errors.Join(&errRequest{"it can't be called as configured"}, err)})
}

// Held is the failure of a call that did not pass a gate; see Request.Gate.
func Held(upstream, method string, err error) *Error {
	e := once(upstream, method, outcome{err: err})
	e.Class, e.Reason, e.Stop, e.Attempts = Transient, ReasonGate, StopGate, 0
	e.RetryAfter = waitOf(err)
	return e
}

// waitOf is the wait that a gate's error names, 0 if none.
func waitOf(err error) time.Duration {
	var wait interface{ RetryAfter() time.Duration }
	if errors.As(err, &wait) {
		return wait.RetryAfter()
	}
	return 0
}

// once is the error of the only attempt.
func once(upstream, method string, o outcome) *Error {
	v := classify(o)
	e := &Error{
		Upstream: upstream, Method: method, Class: v.class, Reason: v.reason, Stop: StopPermanent,
		Status: o.status, Attempts: 1, MayHaveHappened: v.ambiguous && o.sent && !idempotentMethod(method), Err: o.err,
	}
	switch v.class {
	case Transient:
		e.Stop, e.RetryAfter = StopAttempts, orDefault(o.retryAfter, backoffMax)
	case Unknown:
		e.Stop = StopUnknown
	}
	return e
}
