package problem

import (
	"time"

	"sekisho/functions/internal/outbound"
)

// upstream gives the failures of calls to the outside their place in HTTP. Their
// classification, wait and hint depend on what was tried already, so they are written where
// that is known, in outbound's advice; `sekisho probe` shows the same.
//
// An upstream's 401 or 403 is no 401 of ours: it refused the server's token, and the caller
// would take its own API key for the culprit.
var upstream = map[outbound.Code]struct {
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

// unknownWait is told where another call makes sense and nobody knows when: a retryable
// problem always says how long to wait.
const unknownWait = 2 * time.Second

// Upstream makes the problem of a call to the outside that failed. A code without an HTTP
// status is Internal.
func Upstream(a outbound.Advice) *Problem {
	k, ok := upstream[a.Code]
	if !ok {
		return New(Internal, "")
	}
	p := &Problem{
		Code: Code(a.Code), Status: k.status, Title: k.title,
		Classification: Classification(a.Classification), Retryable: a.Retryable, RetryAfter: -1, Hint: a.Hint,
	}
	switch {
	case a.RetryAfterMs != nil:
		p.RetryAfter = time.Duration(*a.RetryAfterMs) * time.Millisecond
	case a.Retryable:
		p.RetryAfter = unknownWait
	}
	return p
}
