package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// TestEveryCodeTellsAnAgentWhatToDo holds that every code has all that an agent needs, and that
// the members don't contradict one another.
func TestEveryCodeTellsAnAgentWhatToDo(t *testing.T) {
	for _, code := range problem.Codes() {
		p := problem.New(code, "detail")
		if http.StatusText(p.Status) == "" || p.Status < 400 {
			t.Errorf("%s: status %d", code, p.Status)
		}
		// A tool that is off is never an HTTP answer, the protocol wants 403 for a web origin, which
		// only browsers send, and a lack of scope is such a call.
		if p.Status == http.StatusForbidden && code != problem.ToolDisabled && code != problem.OriginNotAllowed && code != problem.ScopeMissing {
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

// TestGatewayAnswersAreProblems: what API Gateway renders out of the contract reads back as
// the problem of its code, in each state of the service.
func TestGatewayAnswersAreProblems(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\$(stageVariables|context\.authorizer)\.(\w+)`)
	quota := &problem.Quota{Limit: 5, Used: 5, Period: "daily", ResetAt: "2026-12-01T00:00:00.000Z"}
	values := gateway.AuthorizerContext{
		Admission: gateway.Admission{Denial: "limit_exceeded"}, Refusal: gateway.RefusalOf(problem.Denial(problem.LimitExceeded, quota, time.Hour)),
	}.Values()
	for state, variables := range api.StageVariables {
		for kind, response := range api.GatewayResponses {
			body := variable.ReplaceAllStringFunc(response.ResponseTemplates[problem.ContentType], func(v string) string {
				if name, ok := strings.CutPrefix(v, "$stageVariables."); ok {
					return variables[name]
				}
				return values[strings.TrimPrefix(v, "$context.authorizer.")].(string)
			})
			var b problem.Body
			if err := json.Unmarshal([]byte(body), &b); err != nil {
				t.Errorf("%s (%s): %v in %s", kind, state, err, body)
				continue
			}
			want := problem.New(b.Error, "")
			got := problem.Parse(want.Status, []byte(body))
			if got.Code != want.Code || got.Hint != want.Hint || got.Title != want.Title ||
				got.Classification != want.Classification || got.Retryable != want.Retryable {
				t.Errorf("%s (%s): %+v, want %+v", kind, state, got, want)
			}
			// A type of response has one status, so a call that the braked stage throttles is a 429.
			if kind == "THROTTLED" {
				want.Status = 429
			}
			if response.StatusCode != "" && (response.StatusCode != fmt.Sprint(want.Status) || b.Status != want.Status) {
				t.Errorf("%s (%s): status %s, want %d", kind, state, response.StatusCode, want.Status)
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

// TestTextsAreWrittenOnce: what a kind of problem says is in the package problem and nowhere else.
// /register is not a problem; its text has the sentence on keys in it, word for word.
func TestTextsAreWrittenOnce(t *testing.T) {
	source, err := os.ReadFile("../contract/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := strings.Cut(string(source), "Don't edit it.\n")
	if !found {
		t.Error("base.yaml does not say where its generated end begins")
	}
	if !strings.Contains(written, "OAuth, and no valid one came: it is missing, mistyped, unknown or revoked. "+problem.HowToSendKey) {
		t.Errorf("/register does not say: %s", problem.HowToSendKey)
	}
	texts := map[string]string{"base.yaml": strings.ReplaceAll(written, problem.HowToSendKey, "")}
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "problem" {
			return err
		}
		content, err := os.ReadFile(path)
		texts[path] = string(content)
		return err
	})
	if err != nil || len(texts) < 50 {
		t.Fatalf("%d texts: %v", len(texts), err)
	}
	const long = 32 // shorter ones are phrases that anybody may use
	for _, code := range problem.Codes() {
		p := problem.New(code, "")
		for sentence := range strings.SplitSeq(p.Hint, ". ") {
			if len(sentence) < long {
				continue
			}
			for path, text := range texts {
				if strings.Contains(text, sentence) {
					t.Errorf("%s repeats what %s says: %s", path, code, sentence)
				}
			}
		}
	}
}

// TestNotChargedIsTrue: only calls that no function took are free without a bound.
func TestNotChargedIsTrue(t *testing.T) {
	free := []problem.Code{problem.Throttled, problem.RateLimited, problem.Unavailable, problem.Braked}
	for _, code := range problem.Codes() {
		hint := problem.New(code, "").Hint
		if strings.Contains(hint, "charged") != slices.Contains(free, code) {
			t.Errorf("%s: %s", code, hint)
		}
	}
}
