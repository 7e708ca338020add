package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
)

// TestEveryCodeTellsAnAgentWhatToDo holds the members of B5, and that they don't contradict
// one another.
func TestEveryCodeTellsAnAgentWhatToDo(t *testing.T) {
	for _, code := range problem.Codes() {
		p := problem.New(code, "detail")
		if http.StatusText(p.Status) == "" || p.Status < 400 {
			t.Errorf("%s: status %d", code, p.Status)
		}
		// A tool that is off never is an HTTP answer, and the protocol wants 403 for a web
		// origin, which only browsers send.
		if p.Status == http.StatusForbidden && code != problem.ToolDisabled && code != problem.OriginNotAllowed {
			t.Errorf("%s: a 403 is read as a call to log in again", code)
		}
		if len(p.Hint) < 40 || p.Title == "" {
			t.Errorf("%s: title %q, hint %q", code, p.Title, p.Hint)
		}
		if p.Retryable != (p.RetryAfter > 0) || p.Retryable == (p.Classification == problem.Permanent) {
			t.Errorf("%s: %s, retryable %v after %s", code, p.Classification, p.Retryable, p.RetryAfter)
		}
		if !p.Retryable && code != problem.RouteNotFound && !regexp.MustCompile(`(?i)do not retry|as it is`).MatchString(p.Hint) {
			t.Errorf("%s: the hint does not say not to retry: %s", code, p.Hint)
		}
	}
}

// TestGatewayResponsesAgree: what API Gateway answers by itself is made of the same codes,
// with the same classification.
func TestGatewayResponsesAgree(t *testing.T) {
	api, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	known := map[problem.Code]bool{}
	for _, c := range problem.Codes() {
		known[c] = true
	}
	for state, variables := range api.StageVariables {
		for kind, response := range api.GatewayResponses {
			body := response.ResponseTemplates[problem.ContentType]
			for name, value := range variables {
				body = strings.ReplaceAll(body, "$stageVariables."+name, value)
			}
			body = strings.NewReplacer(
				"$context.authorizer.denial", "limit_exceeded", "$context.authorizer.retry_after_ms", "1000",
				"$context.authorizer.limit", "5", "$context.authorizer.used", "5",
				"$context.authorizer.reset_at", "2026-12-01T00:00:00.000Z", "$context.authorizer.upgrade_url", "",
			).Replace(body)
			var b problem.Body
			if err := json.Unmarshal([]byte(body), &b); err != nil {
				t.Errorf("%s (%s): %v in %s", kind, state, err, body)
				continue
			}
			if !known[b.Error] {
				t.Errorf("%s (%s): code %q is not known", kind, state, b.Error)
			}
			want := problem.New(b.Error, "")
			if b.Classification != want.Classification || b.Retryable != want.Retryable {
				t.Errorf("%s (%s): %s, retryable %v; the code %s is %s, %v", kind, state,
					b.Classification, b.Retryable, b.Error, want.Classification, want.Retryable)
			}
			if response.StatusCode != fmt.Sprint(b.Status) && (response.StatusCode != "" || b.Status != 0) {
				t.Errorf("%s (%s): status %s, and %d in the body", kind, state, response.StatusCode, b.Status)
			}
			if b.Status != 0 && b.Error != problem.Internal && b.Status != want.Status {
				t.Errorf("%s (%s): status %d, the code's is %d", kind, state, b.Status, want.Status)
			}
		}
	}
}

func TestParseReadsBackWhatWasWritten(t *testing.T) {
	for _, p := range []*problem.Problem{
		problem.New(problem.NotFound, "no such code"),
		problem.New(problem.Unavailable, ""),
		problem.DailyLimit(problem.Quota{Limit: 50, Used: 50, ResetAt: "2026-12-01T00:00:00.000Z", UpgradeURL: "https://example.com"}, 90*time.Second),
	} {
		back := problem.Parse(p.Status, p.JSON())
		if string(back.JSON()) != string(p.JSON()) || string(back.AgentJSON()) != string(p.AgentJSON()) {
			t.Errorf("%s came back as %s", p.JSON(), back.JSON())
		}
	}
}

func TestParseMakesSenseOfForeignAnswers(t *testing.T) {
	for status, want := range map[int]problem.Code{
		400: problem.BadRequest, 401: problem.Unauthorized, 404: problem.NotFound, 413: problem.TooLarge,
		418: problem.BadRequest, 429: problem.Throttled, 500: problem.Internal, 502: problem.Unavailable,
		503: problem.Unavailable, 504: problem.Timeout, 302: problem.Internal,
	} {
		for _, body := range []string{"", "<html>", `{"message":"Forbidden"}`, `[1]`, `{"error":5}`} {
			if p := problem.Parse(status, []byte(body)); p.Code != want || p.Status != status || p.Hint == "" {
				t.Errorf("%d %q: %+v, want %s", status, body, p, want)
			}
		}
	}
}

func TestRetryAfterIsWholeSecondsRoundedUp(t *testing.T) {
	for wait, want := range map[time.Duration]int64{0: 1, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2} {
		p := problem.DailyLimit(problem.Quota{}, wait)
		if got, ok := p.RetryAfterSeconds(); !ok || got != want {
			t.Errorf("%s: %d, %v; want %d", wait, got, ok, want)
		}
	}
	if ms := problem.DailyLimit(problem.Quota{}, time.Microsecond).Body().RetryAfterMs; ms == nil || *ms != 1 {
		t.Errorf("retryAfterMs of a microsecond is %v, want 1", ms)
	}
	if _, ok := problem.New(problem.NotFound, "").RetryAfterSeconds(); ok {
		t.Error("what can't be waited for has a Retry-After")
	}
}

// TestUpstreamFailures: every code of a failed call has a status, none of them a 401 or a 403,
// and a retryable one says when.
func TestUpstreamFailures(t *testing.T) {
	wait := int64(1500)
	for _, code := range []outbound.Code{
		outbound.CodeAuth, outbound.CodeNotFound, outbound.CodeConflict, outbound.CodeRejected, outbound.CodeRateLimited,
		outbound.CodeBusy, outbound.CodeUnavailable, outbound.CodeTimeout, outbound.CodeUnclear, outbound.CodeFailed,
		outbound.CodeTooLarge, outbound.CodeMisconfigured, outbound.CodeDeadline, outbound.CodeCancelled,
	} {
		p := problem.Upstream(outbound.Advice{Code: code, Classification: outbound.Transient, Retryable: true, RetryAfterMs: &wait, Hint: "h"})
		if p.Code != problem.Code(code) || p.Status < 404 || p.Title == "" || p.Hint != "h" || p.RetryAfter != 1500*time.Millisecond {
			t.Errorf("%s: %+v", code, p)
		}
		if p := problem.Upstream(outbound.Advice{Code: code, Retryable: true}); p.RetryAfter <= 0 {
			t.Errorf("%s is retryable, and does not say when", code)
		}
		if p := problem.Upstream(outbound.Advice{Code: code}); p.RetryAfter >= 0 {
			t.Errorf("%s has a wait that helps nobody", code)
		}
	}
	if p := problem.Upstream(outbound.Advice{Code: "new"}); p.Code != problem.Internal {
		t.Errorf("a code without a status: %+v", p)
	}
}

func TestDailyLimit(t *testing.T) {
	reset := "2026-12-01T00:00:00.000Z"
	p := problem.DailyLimit(problem.Quota{Limit: 2, Used: 2, ResetAt: reset}, time.Hour)
	if p.Status != 429 || p.Retryable || p.Classification != problem.Permanent || *p.Body().RetryAfterMs != 3600000 || p.Body().ResetAt != reset {
		t.Errorf("used up: %s", p.JSON())
	}
	p = problem.DailyLimit(problem.Quota{Limit: 2, Used: 1, ResetAt: reset}, time.Minute)
	if p.Status != 429 || !p.Retryable || p.Classification != problem.Transient || *p.Body().RetryAfterMs != 60000 {
		t.Errorf("in progress: %s", p.JSON())
	}
}

func TestInternalsAreNotShown(t *testing.T) {
	p := problem.From(fmt.Errorf("read table: %w", errors.New("dial tcp 10.1.2.3:443")))
	if p.Code != problem.Internal || strings.Contains(string(p.JSON()), "10.1.2.3") {
		t.Errorf("%s", p.JSON())
	}
	inner := problem.New(problem.NotFound, "x")
	if got := problem.From(fmt.Errorf("lookup: %w", inner)); got != inner {
		t.Errorf("a wrapped problem was lost: %v", got)
	}
}
