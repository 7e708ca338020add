// Package suite tests from the outside what every deployment of Sekisho must do. The same tests
// run against a laptop, against what Terraform applied to an emulator, and against AWS.
package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/tests/midnight"
)

// Plan is the plan of the suite's keys. Each target must have it, with this limit.
const (
	Plan  = "demo"
	Limit = 50
)

// Target is a running deployment.
type Target struct {
	// MCPURL and APIURL without a final slash, as `sekisho up --json` prints them.
	MCPURL, APIURL string
	// Sekisho runs a command on the deployment's store and returns what it printed.
	Sekisho func(t testing.TB, args ...string) string
	// Settled is how long a refund may take to arrive.
	Settled time.Duration
	// LocalToken opens /_local/, where a laptop counts invocations; "" for other targets.
	LocalToken string
	// Upstream: the tools external.* call the laptop's upstream, at most 1,000 times at once,
	// and 1,000 publications a day are allowed. Other targets must have no upstream.
	Upstream bool
	// Repeats is how often to run the concurrent tests, at least 1.
	Repeats int
}

// Run runs the whole suite.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Target)
	}{
		{"Health", testHealth},
		{"Data", testData},
		{"ExactUnderConcurrencyREST", testExactREST},
		{"ExactUnderConcurrencyMCP", testExactMCP},
		{"FailuresAreNotCharged", testFailures},
		{"AtZeroQuota", testZeroQuota},
		{"WithoutAKey", testWithoutKey},
		{"RevokedAndRotated", testRevoked},
		{"ToolSettings", testToolSettings},
		{"SettingsOfTwo", testSettingsOfTwo},
		{"Page", testPage},
		{"BadInputREST", testBadInputREST},
		{"BadInputMCP", testBadInputMCP},
		{"EveryTool", testEveryTool},
		{"External", testExternal},
		{"RateLimitHeaders", testRateLimitHeaders},
		{"UsageReport", testUsageReport},
	} {
		midnight.Avoid(t, time.Minute)
		t.Run(c.name, func(t *testing.T) { c.test(t, target) })
	}
}

// key is a key that a test created for itself.
type key struct {
	Secret string `json:"key"`
	ID     string `json:"key_id"`
	User   string `json:"user"`
}

func (g Target) newKey(t testing.TB) key {
	t.Helper()
	user := fmt.Sprintf("e2e-%d-%d", time.Now().UnixNano(), rand.IntN(1000))
	var k key
	decode(t, []byte(g.Sekisho(t, "keys", "create", "--json", "--plan", Plan, "--user", user)), &k)
	return k
}

// answer is an HTTP answer with its whole body.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a answer) String() string { return fmt.Sprintf("HTTP %d %s", a.Status, a.Body) }

// problem is the body that an agent reads.
type problem struct {
	Error          string `json:"error"`
	Classification string `json:"classification"`
	Retryable      bool   `json:"retryable"`
	RetryAfterMs   *int64 `json:"retryAfterMs"`
	Hint           string `json:"hint"`
	Detail         string `json:"detail"`
	Limit          *int64 `json:"limit"`
	Used           *int64 `json:"used"`
	ResetAt        string `json:"reset_at"`
}

func (a answer) problem(t testing.TB) problem {
	t.Helper()
	if ct := a.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q of %s; want application/problem+json", ct, a)
	}
	var p problem
	decode(t, a.Body, &p)
	checkProblem(t, p)
	return p
}

// checkProblem checks what every refusal must tell an agent.
func checkProblem(t testing.TB, p problem) {
	t.Helper()
	if p.Error == "" || p.Hint == "" {
		t.Errorf("a refusal without code or hint: %+v", p)
	}
	switch p.Classification {
	case "transient", "permanent", "unknown":
	default:
		t.Errorf("classification %q of %s", p.Classification, p.Error)
	}
	if p.Retryable && p.RetryAfterMs == nil {
		t.Errorf("%s is retryable, and does not say when", p.Error)
	}
}

type option func(*http.Request)

func header(name, value string) option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func noHeader(name string) option {
	return func(r *http.Request) { r.Header[name] = nil }
}

var client = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 128},
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func send(t testing.TB, method, url, secret, body string, options ...option) answer {
	t.Helper()
	a, err := trySend(t.Context(), method, url, secret, body, options...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func trySend(ctx context.Context, method, url, secret, body string, options ...option) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if secret != "" {
		request.Header.Set("x-api-key", secret)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, o := range options {
		o(request)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, content}, err
}

func (g Target) get(t testing.TB, path, secret string, options ...option) answer {
	t.Helper()
	return send(t, http.MethodGet, g.APIURL+path, secret, "", options...)
}

// rpc sends one JSON-RPC message of a protocol version before 2026-07-28.
func (g Target) rpc(t testing.TB, secret, message string, options ...option) answer {
	t.Helper()
	return send(t, http.MethodPost, g.MCPURL, secret, message, append([]option{
		header("Accept", "application/json, text/event-stream"), header("MCP-Protocol-Version", "2025-11-25"),
	}, options...)...)
}

func (g Target) callTool(t testing.TB, secret, tool, arguments string, options ...option) answer {
	t.Helper()
	return g.rpc(t, secret, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), options...)
}

// toolResult is the result of a tools/call.
type toolResult struct {
	IsError           bool            `json:"isError"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	Content           []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

func (a answer) tool(t testing.TB) toolResult {
	t.Helper()
	var out struct {
		Result *toolResult `json:"result"`
	}
	decode(t, a.Body, &out)
	if a.Status != http.StatusOK || out.Result == nil || len(out.Result.Content) == 0 {
		t.Fatalf("no tool result: %s", a)
	}
	return *out.Result
}

func (r toolResult) problem(t testing.TB) problem {
	t.Helper()
	if !r.IsError || len(r.StructuredContent) != 0 {
		t.Errorf("an error result must say so, and hold no structured content: %+v", r)
	}
	var p problem
	decode(t, []byte(r.Content[0].Text), &p)
	checkProblem(t, p)
	return p
}

func decode(t testing.TB, body []byte, into any) {
	t.Helper()
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// usageOf reads a key's usage as its holder does.
type usageFigures struct {
	Plan      string `json:"plan"`
	Period    string `json:"period"`
	Limit     *int64 `json:"monthly_limit"`
	Used      int64  `json:"monthly_used"`
	Remaining *int64 `json:"remaining"`
	ResetAt   string `json:"reset_at"`
}

func (g Target) usageOf(t testing.TB, k key) usageFigures {
	t.Helper()
	a := g.get(t, "/v1/user/usage", k.Secret)
	if a.Status != http.StatusOK {
		t.Fatalf("usage: %s", a)
	}
	var u usageFigures
	decode(t, a.Body, &u)
	return u
}

// stays is how many times in a row a figure must be as expected.
const stays = 4

// settles waits until a key's usage is as expected and stays so.
func (g Target) settles(t testing.TB, k key, want int64) {
	t.Helper()
	pause := time.Second // AWS bills each request
	if g.LocalToken != "" {
		pause = 100 * time.Millisecond
	}
	deadline := time.Now().Add(g.Settled)
	for same := 0; same < stays; time.Sleep(pause) {
		used := g.usageOf(t, k).Used
		same++
		if used != want {
			same = 0
		}
		if same == 0 && time.Now().After(deadline) {
			t.Errorf("monthly_used is %d, want %d", used, want)
			return
		}
	}
}

// started returns how often each function ran; nil if the target can't say.
func (g Target) started(t testing.TB) map[string]int {
	t.Helper()
	if g.LocalToken == "" {
		return nil
	}
	at, err := url.Parse(g.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/_local/invocations" // not below the stage
	var counts map[string]int
	decode(t, send(t, http.MethodGet, at.String(), "", "", header("Authorization", "Bearer "+g.LocalToken)).Body, &counts)
	return counts
}

// startsNothing runs calls and checks that no business function ran.
func (g Target) startsNothing(t testing.TB, calls func()) {
	t.Helper()
	before := g.started(t)
	calls()
	after := g.started(t)
	for _, name := range readContract(t).business() {
		if after[name] != before[name] {
			t.Errorf("%s ran %d times", name, after[name]-before[name])
		}
	}
}

// together runs n concurrent calls and counts those that return true.
func together(n int, call func(i int) bool) int {
	var wg sync.WaitGroup
	passed := make(chan bool, n)
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			passed <- call(i)
		})
	}
	close(begin)
	wg.Wait()
	close(passed)
	count := 0
	for ok := range passed {
		if ok {
			count++
		}
	}
	return count
}
