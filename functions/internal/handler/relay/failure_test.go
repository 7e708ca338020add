package relay

import (
	"testing"
	"time"

	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
)

// TestUpstreamFailures: every code of a failed call has a status, none of them a 401 or a 403,
// and a retryable one says when.
func TestUpstreamFailures(t *testing.T) {
	wait := int64(1500)
	for _, code := range []outbound.Code{
		outbound.CodeAuth, outbound.CodeNotFound, outbound.CodeConflict, outbound.CodeRejected, outbound.CodeRateLimited,
		outbound.CodeBusy, outbound.CodeUnavailable, outbound.CodeTimeout, outbound.CodeUnclear, outbound.CodeFailed,
		outbound.CodeTooLarge, outbound.CodeMisconfigured, outbound.CodeDeadline, outbound.CodeCancelled,
	} {
		p := upstreamProblem(outbound.Advice{Code: code, Classification: outbound.Transient, Retryable: true, RetryAfterMs: &wait, Hint: "h"})
		if p.Code != problem.Code(code) || p.Status < 404 || p.Title == "" || p.Hint != "h" || p.RetryAfter != 1500*time.Millisecond {
			t.Errorf("%s: %+v", code, p)
		}
		if p := upstreamProblem(outbound.Advice{Code: code, Retryable: true}); p.RetryAfter <= 0 {
			t.Errorf("%s is retryable, and does not say when", code)
		}
		if p := upstreamProblem(outbound.Advice{Code: code}); p.RetryAfter >= 0 {
			t.Errorf("%s has a wait that helps nobody", code)
		}
	}
	if p := upstreamProblem(outbound.Advice{Code: "new"}); p.Code != problem.Internal {
		t.Errorf("a code without a status: %+v", p)
	}
}
