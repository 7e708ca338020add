package relay

import (
	"errors"
	"time"

	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// asProblem puts a failure in the terms of the API. The cause stays with it, for the log.
func asProblem(err error) error {
	var p *problem.Problem
	var quota *ratelimit.QuotaError
	var call *outbound.Error
	switch {
	case errors.As(err, &p):
		return err
	case errors.As(err, &quota):
		p = problem.DailyLimit(problem.Quota{
			Limit: int64(quota.Limit), Used: int64(quota.Used), ResetAt: usage.FormatReset(quota.ResetAt),
		}, quota.RetryAfter())
	case errors.As(err, &call) && call.Reason == outbound.ReasonTooLarge && !call.MayHaveHappened:
		p = problem.New(problem.AnswerTooLarge, "The backend's answer is larger than this server takes.")
	case errors.As(err, &call):
		return upstreamProblem(outbound.Advise(call)) // its text can quote the backend; note has the reason
	default:
		p = problem.New(problem.StoreUnavailable, "")
	}
	return &failure{p, err}
}

// failure is what the caller reads, with the cause for the log.
type failure struct {
	problem *problem.Problem
	cause   error
}

func (e *failure) Error() string   { return e.problem.Error() + ": " + e.cause.Error() }
func (e *failure) Unwrap() []error { return []error{e.problem, e.cause} }

// failures gives failed calls to the backend a status and a title. Classification, wait and
// hint depend on what was tried already, so they come from outbound's advice; `sekisho probe`
// shows the same.
//
// An upstream's 401 or 403 is not passed on as one: it refused the server's token, and the
// caller would blame its own API key.
var failures = map[outbound.Code]struct {
	status int
	title  string
}{
	outbound.CodeAuth:          {502, "The upstream refused this server"},
	outbound.CodeNotFound:      {404, "Not found at the upstream"},
	outbound.CodeConflict:      {409, "Conflict at the upstream"},
	outbound.CodeRejected:      {422, "The upstream refused the input"},
	outbound.CodeRateLimited:   {429, "The upstream limits the rate"},
	outbound.CodeBusy:          {429, "Too many calls to the upstream"},
	outbound.CodeUnavailable:   {503, "The upstream is unavailable"},
	outbound.CodeTimeout:       {504, "The upstream did not answer in time"},
	outbound.CodeUnclear:       {502, "The outcome is not clear"},
	outbound.CodeFailed:        {502, "The upstream failed"},
	outbound.CodeTooLarge:      {502, "The upstream's answer is too large"},
	outbound.CodeMisconfigured: {502, "The upstream can't be called"},
	outbound.CodeDeadline:      {504, "No time was left"},
	outbound.CodeCancelled:     {503, "Cancelled"},
}

// unknownWait is for calls that can be tried again, nobody knows when: a retryable problem
// always says how long to wait.
const unknownWait = 2 * time.Second

// upstreamProblem makes the problem of a failed call to the upstream. A code without a status
// is Internal.
func upstreamProblem(a outbound.Advice) *problem.Problem {
	k, ok := failures[a.Code]
	if !ok {
		return problem.New(problem.Internal, "")
	}
	p := &problem.Problem{
		Code: problem.Code(a.Code), Status: k.status, Title: k.title,
		Classification: a.Classification, Retryable: a.Retryable, RetryAfter: -1, Hint: a.Hint,
	}
	switch {
	case a.RetryAfterMs != nil:
		p.RetryAfter = time.Duration(*a.RetryAfterMs) * time.Millisecond
	case a.Retryable:
		p.RetryAfter = unknownWait
	}
	return p
}
