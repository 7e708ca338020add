package apigateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop/lambda"
)

// newContractGateway serves the real contract, with one handler for all of its functions.
func newContractGateway(t testing.TB, authorizer, business Invoker, change func(*setup)) *fixture {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := setup{
		Config:    Config{Authorizer: "authorizer", StageVariables: api.StageVariables["open"]},
		Functions: map[string]lambda.Function{"authorizer": {Handler: authorizer, Reserved: lambda.Unreserved}},
	}
	for _, name := range api.Functions() {
		c.Functions[name] = lambda.Function{Handler: business, Reserved: lambda.Unreserved}
	}
	if change != nil {
		change(&c)
	}
	f := &fixture{}
	f.open(t, c)
	return f
}

// problemOf checks that a refusal is a problem document and returns it.
func problemOf(t *testing.T, body string) map[string]any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("not JSON: %v: %s", err, body)
	}
	for _, name := range []string{"type", "title", "error", "classification", "retryable", "hint"} {
		if _, ok := p[name]; !ok {
			t.Errorf("member %s is missing: %s", name, body)
		}
	}
	return p
}

const overLimit = `{"denial":"limit_exceeded","denial_title":"Limit used up","denial_classification":"permanent","denial_retryable":false,"denial_hint":"Do not retry.","limit_period":"monthly","retry_after":86400,"retry_after_ms":86400000,"limit":50,"used":50,"reset_at":"2026-12-01T00:00:00.000Z","upgrade_url":""}`

// TestContractRefusals: every refusal of the contract is a problem document with the status
// that the contract names.
func TestContractRefusals(t *testing.T) {
	fine, ok := answers(`{"statusCode":200,"body":"{}"}`), answers(policy("Allow", "*", `{}`))
	for name, tc := range map[string]struct {
		authorizer, business Invoker
		change               func(*setup)
		method, path, body   string
		headers              []string
		status               int
		code, retryAfter     string
	}{
		"no key":         {authorizer: fails("Unauthorized"), status: 401, code: "unauthorized"},
		"over the limit": {authorizer: answers(policy("Deny", "*", overLimit)), status: 429, code: "limit_exceeded", retryAfter: "86400"},
		"store down":     {authorizer: fails("store down"), status: 503, code: "store_unavailable", retryAfter: "5"},
		"bad authorizer": {authorizer: answers(`{}`), status: 503, code: "store_unavailable", retryAfter: "5"},
		"unknown route":  {path: "/v1/nothing", status: 404, code: "route_not_found"},
		"unknown method": {method: "DELETE", path: "/v1/postal", status: 404, code: "route_not_found"},
		"oauth probe":    {path: "/.well-known/oauth-protected-resource/mcp", status: 404, code: "route_not_found"},
		"function fails": {business: fails("x"), status: 502, code: "internal", retryAfter: "1"},
		"malformed":      {business: answers(`{}`), status: 502, code: "internal", retryAfter: "1"},
		"too large":      {method: "POST", path: "/v1/convert/width", body: strings.Repeat("x", maxBody+1), status: 413, code: "too_large"},
		"headers":        {headers: []string{"X-Long", strings.Repeat("x", maxHeaders)}, status: 400, code: "bad_request"},
		"throttled":      {change: func(c *setup) { c.Throttle = &Throttle{Rate: 1} }, status: 429, code: "throttled"},
		"braked and throttled": {change: func(c *setup) {
			c.Throttle = &Throttle{}
			api, _ := contract.Default()
			c.StageVariables = api.StageVariables["braked"]
		}, status: 429, code: "braked"},
		"no concurrency":    {change: reserve("postal", 0), status: 503, code: "unavailable"},
		"authorizer is off": {change: reserve("authorizer", 0), status: 503, code: "store_unavailable", retryAfter: "5"},
		"braked": {change: func(c *setup) {
			reserve("postal", 0)(c)
			api, _ := contract.Default()
			c.StageVariables = api.StageVariables["braked"]
		}, status: 503, code: "braked"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newContractGateway(t, either(tc.authorizer, ok), either(tc.business, fine), tc.change)
			if tc.method == "" {
				tc.method = "GET"
			}
			if tc.path == "" {
				tc.path = "/v1/postal/1000001"
			}
			w := f.call(tc.method, tc.path, tc.body, tc.headers...)
			wantStatus(t, w, tc.status)
			wantHeader(t, w.Header(), "Content-Type", "application/problem+json")
			wantHeader(t, w.Header(), "Retry-After", tc.retryAfter)
			p := problemOf(t, w.Body.String())
			// DEFAULT_4XX and DEFAULT_5XX stand for several statuses, and name none in the body.
			if status, ok := p["status"]; p["error"] != tc.code || ok && status != float64(tc.status) {
				t.Errorf("problem %v", p)
			}
		})
	}
}

func either(given, otherwise Invoker) Invoker {
	if given != nil {
		return given
	}
	return otherwise
}

func reserve(name string, n int) func(*setup) {
	return func(c *setup) {
		f := c.Functions[name]
		f.Reserved = n
		c.Functions[name] = f
	}
}

// TestContractMocks: these are answered without a function.
func TestContractMocks(t *testing.T) {
	f := newContractGateway(t, fails("not asked"), fails("not asked"), nil)
	w := f.call("GET", "/v1/health", "")
	wantStatus(t, w, 200)
	if w.Body.String() != `{"status":"ok"}` {
		t.Errorf("health %s", w.Body)
	}
	wantHeader(t, w.Header(), "Content-Type", "application/json")
	w = f.call("POST", "/register", `{}`, "Content-Type", "application/json; charset=utf-8")
	wantStatus(t, w, 400)
	if !strings.Contains(w.Body.String(), "invalid_client_metadata") {
		t.Errorf("register %s", w.Body)
	}
	for name, counts := range f.functions.Counts() {
		if counts.Invocations != 0 {
			t.Errorf("%s was invoked", name)
		}
	}
}

func TestMock(t *testing.T) {
	f := newFixture(t, script{refusals: allTypes, change: func(c *setup) {
		c.StageVariables = map[string]string{"mock_status": "200"}
	}})
	w := f.call("POST", "/mock", "", "X-Amzn-RequestId", "r-1")
	wantStatus(t, w, 200)
	if w.Body.String() != `{"state":"fine","id":"r-1"}` {
		t.Errorf("body %s", w.Body)
	}
	wantStatus(t, f.call("POST", "/mock", "x", "Content-Type", "text/plain"), http.StatusUnsupportedMediaType)
	f.Set(Settings{Variables: map[string]string{"mock_status": "404"}})
	w = f.call("POST", "/mock", "")
	wantStatus(t, w, http.StatusTeapot)
	wantHeader(t, w.Header(), "Content-Type", "text/plain")
	f.Set(Settings{})
	wantStatus(t, f.call("POST", "/mock", ""), http.StatusInternalServerError)
}

func TestThrottle(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	f := newFixture(t, script{change: func(c *setup) {
		c.Throttle = &Throttle{Rate: 2, Burst: 3}
		c.Now = func() time.Time { return now }
	}})
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 200}, {0, 200}, {0, 200}, {0, 429}, {499 * time.Millisecond, 429}, {time.Millisecond, 200}, {0, 429}, {time.Hour, 200}, {0, 200}, {0, 200}, {0, 429}} {
		now = now.Add(step.after)
		wantStatus(t, f.call("GET", "/things/7", ""), step.want)
	}
	if len(f.authorized) != 7 {
		t.Errorf("the authorizer was asked %d times", len(f.authorized))
	}
	wantStatus(t, f.call("GET", "/nowhere", ""), 403)
}

// TestEmbeddedDescription: without a description the contract is served, whole.
func TestEmbeddedDescription(t *testing.T) {
	f := newContractGateway(t, answers(`{}`), answers(`{}`), nil)
	if got := string(f.Description()); got != string(contract.Document()) {
		t.Error("another description is served")
	}
}

// projection makes of the contract what Terraform sends to AWS: paths, security, path
// parameters, integrations with deployed names, gateway responses; nothing of ours.
func projection(t *testing.T) []byte {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(contract.Document(), &doc); err != nil {
		t.Fatal(err)
	}
	paths := doc["paths"].(map[string]any)
	for _, op := range api.Operations {
		item := paths[op.Path].(map[string]any)
		operation := map[string]any{"security": []any{}}
		if !op.Public {
			operation["security"] = []any{map[string]any{"key": []any{}}}
		}
		if op.Function == "" {
			operation["x-amazon-apigateway-integration"] = item[member(op.Method)].(map[string]any)["x-amazon-apigateway-integration"]
		} else {
			operation["x-amazon-apigateway-integration"] = map[string]any{
				"type": "aws_proxy", "httpMethod": "POST", "uri": uri("sekisho-prod-" + op.Function), "timeoutInMillis": 29000,
			}
		}
		item[member(op.Method)] = operation
	}
	for name := range doc {
		if strings.HasPrefix(name, "x-sekisho") || name == "security" || name == "tags" {
			delete(doc, name)
		}
	}
	encoded, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestProjectionServesTheSame: what Terraform applied of the contract has the same routes,
// functions and refusals as the contract.
func TestProjectionServesTheSame(t *testing.T) {
	allowed, echo := answers(policy("Allow", "*", `{}`)), answers(`{"statusCode":200,"body":"{}"}`)
	whole := newContractGateway(t, allowed, echo, nil)
	part := newContractGateway(t, allowed, echo, func(c *setup) { c.Description = projection(t) })
	api, _ := contract.Default()
	for _, op := range api.Operations {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			path := strings.ReplaceAll(strings.ReplaceAll(op.Path, "{", ""), "}", "")
			a, b := whole.call(method, path, ""), part.call(method, path, "")
			if a.Code != b.Code || a.Body.String() != b.Body.String() {
				t.Errorf("%s %s: %d %s and %d %s", method, path, a.Code, a.Body, b.Code, b.Body)
			}
		}
	}
	for name, want := range whole.functions.Counts() {
		if got := part.functions.Counts()[name]; got != want || want.Invocations == 0 {
			t.Errorf("%s: %+v and %+v", name, want, got)
		}
	}
}

// BenchmarkProxiedCall is one call of a counted operation: authorizer, function, no network.
func BenchmarkProxiedCall(b *testing.B) {
	f := newContractGateway(b, answers(policy("Allow", "*", `{"admission_id":"adm_1","units":"1"}`)),
		answers(`{"statusCode":200,"headers":{"Content-Type":"application/json"},"body":"{}"}`), nil)
	b.ReportAllocs()
	for b.Loop() {
		if w := f.call("GET", "/v1/postal/1000001", "", "X-Api-Key", "k", "User-Agent", "bench"); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

// TestThrottlesAreByMethod: each method has a bucket, of its own size where it was given one;
// what is throttled to 0 starts nothing, not even the authorizer.
func TestThrottlesAreByMethod(t *testing.T) {
	f := newContractGateway(t, answers(policy("Allow", "*", `{}`)), answers(`{"statusCode":200,"body":"{}"}`), func(c *setup) { c.Throttle = &Throttle{Burst: 2} })
	started := func() (n int) {
		for _, counts := range f.functions.Counts() {
			n += counts.Invocations
		}
		return n
	}
	statuses := func(method, path string, n int) (got []int) {
		for range n {
			got = append(got, f.call(method, path, "").Code)
		}
		return got
	}
	want := func(what string, got []int, want ...int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	want("the stage's", statuses("GET", "/v1/postal/1000001", 3), 200, 200, 429)
	want("one bucket for all paths of a resource", statuses("GET", "/v1/postal/1000002", 1), 429)
	want("another method's", statuses("GET", "/v1/postal?prefix=1", 3), 200, 200, 429)
	f.Set(Settings{Throttles: map[string]Throttle{"GET /v1/calendar/holidays": {Burst: 1}}})
	want("its own", statuses("GET", "/v1/calendar/holidays?year=2026", 2), 200, 429)
	before := started()
	f.Set(Settings{Throttles: map[string]Throttle{"GET /v1/calendar/holidays": {}, "POST /mcp": {}}})
	want("none", statuses("GET", "/v1/calendar/holidays?year=2026", 3), 429, 429, 429)
	if n := started(); n != before {
		t.Errorf("%d functions started for throttled calls", n-before)
	}
	want("a verb of ANY", append(statuses("POST", "/mcp", 1), statuses("GET", "/mcp", 1)...), 429, 200)
	f.Set(Settings{})
	want("the stage's again", statuses("GET", "/v1/calendar/holidays?year=2026", 3), 200, 200, 429)
}
