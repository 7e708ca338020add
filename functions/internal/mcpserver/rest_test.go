package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/problem"
)

// result is a tool's answer as a client sees it.
type result struct {
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent"`
	Content    []struct {
		Type, Text string
	} `json:"content"`
}

// callTool calls a tool and returns its result; a JSON-RPC error fails the test.
func (w *world) callTool(ctx context.Context, name, arguments string) (result, events.APIGatewayProxyResponse) {
	w.t.Helper()
	response := w.event(ctx, events.APIGatewayProxyRequest{HTTPMethod: "POST",
		Headers: map[string]string{"content-type": "application/json", "authorization": "Bearer " + goodKey},
		Body:    legacy("tools/call", `"name":"`+name+`","arguments":`+arguments)})
	var body struct{ Result *result }
	if err := json.Unmarshal([]byte(response.Body), &body); err != nil || body.Result == nil || response.StatusCode != 200 {
		w.t.Fatalf("%s: status %d, %v, body %s", name, response.StatusCode, err, response.Body)
	}
	return *body.Result, response
}

// failure checks that a result is an error in the one form that there is, and returns it.
func failure(t *testing.T, r result) problem.Body {
	t.Helper()
	if !r.IsError || len(r.Content) != 1 || r.Content[0].Type != "text" || r.Structured != nil {
		t.Fatalf("no error result of one text: %+v", r)
	}
	var b problem.Body
	decoder := json.NewDecoder(strings.NewReader(r.Content[0].Text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&b); err != nil || b.Hint == "" || b.Classification == "" {
		t.Fatalf("no problem: %v in %s", err, r.Content[0].Text)
	}
	return b
}

const braked = `{"type":"urn:sekisho:error:braked","title":"The call was not started","status":503,"error":"braked","classification":"permanent","retryable":false,"retryAfterMs":null,"hint":"The owner's spending brake is on."}`

func limited() string {
	p := problem.New(problem.LimitExceeded, "")
	p.RetryAfter = time.Hour
	p.Quota = &problem.Quota{Limit: 1000, Used: 1000, ResetAt: "2026-12-01T00:00:00.000Z", UpgradeURL: "https://example.com/plans"}
	return string(p.JSON())
}

// TestRESTAnswers: whatever the REST API says, the agent gets a problem that it can act on.
func TestRESTAnswers(t *testing.T) {
	for _, c := range []struct {
		name      string
		rest      http.HandlerFunc
		want      problem.Code
		retryable bool
	}{
		{"quota", refuses(429, http.Header{"Retry-After": {"3600"}}, limited()), problem.LimitExceeded, false},
		{"throttle", refuses(429, nil, string(problem.New(problem.Throttled, "").JSON())), problem.Throttled, true},
		{"brake", refuses(503, nil, braked), problem.Braked, false},
		{"store", refuses(503, nil, string(problem.New(problem.StoreUnavailable, "").JSON())), problem.StoreUnavailable, true},
		{"revoked meanwhile", refuses(401, nil, string(problem.New(problem.Unauthorized, "").JSON())), problem.Unauthorized, false},
		{"not found", refuses(404, nil, string(problem.New(problem.NotFound, "").JSON())), problem.NotFound, false},
		{"foreign 500", refuses(500, nil, `<html>oops</html>`), problem.Internal, true},
		{"foreign 502", refuses(502, nil, `{"message": "Internal server error"}`), problem.Unavailable, true},
		{"foreign 403", refuses(403, nil, `{"message":"Forbidden"}`), problem.BadRequest, false},
		{"empty 504", refuses(504, nil, ``), problem.Timeout, true},
		{"empty 200", refuses(200, nil, ``), problem.Internal, true},
		{"garbage 200", refuses(200, nil, `{"half":`), problem.Internal, true},
		{"array 200", refuses(200, nil, `[1]`), problem.Internal, true},
		{"not UTF-8", refuses(200, nil, "{\"a\":\"\xff\"}"), problem.Internal, true},
		{"204", refuses(204, nil, ``), problem.Internal, true},
		{"too large", refuses(200, nil, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), problem.AnswerTooLarge, false},
		{"too large over MCP", refuses(200, nil, `{"a":"`+strings.Repeat("x", 140_000)+`"}`), problem.AnswerTooLarge, false},
		{"connection cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, problem.Unreachable, true},
		{"body cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"a":`)
		}, problem.Unreachable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.rest = c.rest
			r, response := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"100-0001"}`)
			b := failure(t, r)
			if b.Error != c.want || b.Retryable != c.retryable {
				t.Errorf("got %s, retryable %v; want %s, %v", b.Error, b.Retryable, c.want, c.retryable)
			}
			if calls := w.called(); len(calls) != 1 {
				t.Errorf("the REST API was called %d times: %v", len(calls), calls)
			}
			if !strings.Contains(w.log.String(), `"tool":"postal.lookup","status":200,"outcome":"`+string(c.want)+`"`) {
				t.Errorf("log: %s", w.log.String())
			}
			noSecrets(t, w, response)
		})
	}
}

// TestLimitOfAnswers: no answer passes the contract's limit, whatever it is made of.
func TestLimitOfAnswers(t *testing.T) {
	w := newWorld(t, func(c *mcpserver.Config) {
		small := *c.API
		small.Limits.AnswerBytes = 10_000
		c.API, c.Listing = &small, mcpserver.ListAll
	})
	for _, accept := range []string{"application/json", "text/event-stream"} {
		r := w.event(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: legacy("tools/list", ""),
			Headers: map[string]string{"content-type": "application/json", "x-api-key": goodKey, "accept": accept}})
		if r.StatusCode != 422 || !strings.HasPrefix(r.Body, `{"jsonrpc":"2.0","id":1,"error":{"code":422,`) || !strings.Contains(r.Body, `"error":"answer_too_large"`) {
			t.Errorf("%s: HTTP %d %s", accept, r.StatusCode, r.Body)
		}
	}
}

// TestQuota: the members of a quota error and the header of its wait reach the agent.
func TestQuota(t *testing.T) {
	w := newWorld(t)
	w.rest = refuses(429, http.Header{"Retry-After": {"3600"}, "RateLimit": {`"monthly";r=0;t=3600`}}, limited())
	r, response := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"100-0001"}`)
	b := failure(t, r)
	if b.Limit == nil || *b.Limit != 1000 || *b.Used != 1000 || b.ResetAt != "2026-12-01T00:00:00.000Z" || b.UpgradeURL == "" || *b.RetryAfterMs != 3_600_000 {
		t.Errorf("got %+v", b)
	}
	if response.Headers["Retry-After"] != "3600" || response.Headers["Ratelimit"] == "" {
		t.Errorf("headers: %v", response.Headers)
	}
}

// TestHintsNameTools: hints name tools as the list does, so that a strict host can call them.
func TestHintsNameTools(t *testing.T) {
	for _, code := range problem.Codes() {
		w := newWorld(t)
		w.rest = refuses(429, nil, string(problem.New(code, "Use postal.search.").JSON()))
		r, _ := w.callTool(t.Context(), "postal_lookup", `{"postal_code":"100-0001"}`)
		if b := failure(t, r); dottedName.MatchString(b.Hint+b.Detail) || b.Detail != "Use postal_search." {
			t.Errorf("%s: %s %s", code, b.Detail, b.Hint)
		}
	}
	w := newWorld(t)
	w.rest = refuses(429, nil, limited())
	r, _ := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"100-0001"}`)
	if hint := failure(t, r).Hint; !strings.Contains(hint, "utility_get_usage") {
		t.Errorf("hint: %s", hint)
	}
}

// TestKeyGoesToTheAPIOnly: with every counted call, not with the health check, and never
// after a redirect.
func TestKeyGoesToTheAPIOnly(t *testing.T) {
	var stolen []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen = append(stolen, r.Header.Get("x-api-key"))
	}))
	defer other.Close()

	w := newWorld(t)
	w.rest = func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, other.URL+"/steal", http.StatusTemporaryRedirect)
	}
	r, _ := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"1"}`)
	if b := failure(t, r); b.Error != problem.Internal {
		t.Errorf("a redirect gave %s", b.Error)
	}
	if len(stolen) > 0 {
		t.Fatalf("the redirect was followed with %q", stolen)
	}
	if len(w.secrets) != 1 || w.secrets[0] != goodKey {
		t.Errorf("keys sent: %q", w.secrets)
	}

	w = newWorld(t)
	_, _ = w.callTool(t.Context(), "utility.diagnose_mcp", `{}`)
	for i, call := range w.called() {
		if public := strings.HasPrefix(call, "GET /v1/health"); public == (w.secrets[i] == goodKey) {
			t.Errorf("%s was sent with key %q", call, w.secrets[i])
		}
	}
}

// TestBody: arguments of an operation with a body go there, defaults filled in.
func TestBody(t *testing.T) {
	w := newWorld(t)
	_, _ = w.callTool(t.Context(), "convert.width", `{"text":"ＡＢＣ","to":"half"}`)
	calls := w.called()
	if len(calls) != 1 || calls[0] != `POST /v1/convert/width {"scope":"all","text":"ＡＢＣ","to":"half"}` {
		t.Errorf("got %q", calls)
	}
}

// roundTripper is a REST API without a network, so that fake time can pass in it.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestDeadline: a REST API that hangs is given up before the function's deadline, whatever that
// is, with time left to answer; with none left it is not called.
func TestDeadline(t *testing.T) {
	type c struct {
		name       string
		left, want time.Duration
		called     bool
	}
	for _, c := range []c{
		{"given up in time", 5 * time.Second, 4500 * time.Millisecond, true},
		{"long", 15 * time.Minute, 15*time.Minute - 500*time.Millisecond, true},
		{"outside Lambda", 0, 27500 * time.Millisecond, true},
		{"no time left", 400 * time.Millisecond, 0, false},
		{"exactly none", 500 * time.Millisecond, 0, false},
	} {
		for _, tool := range []string{"postal.lookup", "utility.diagnose_mcp"} {
			t.Run(c.name+" "+tool, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					called := false
					w := newWorld(t, func(config *mcpserver.Config) {
						config.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
							mu.Lock()
							called = true
							mu.Unlock()
							<-r.Context().Done()
							return nil, r.Context().Err()
						})}
					})
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if c.left > 0 {
						ctx, cancel = context.WithTimeout(ctx, c.left)
					}
					defer cancel()
					started := time.Now()
					arguments := `{}`
					if tool == "postal.lookup" {
						arguments = `{"postal_code":"100-0001"}`
					}
					r, _ := w.callTool(ctx, tool, arguments)
					if took := time.Since(started); took != c.want {
						t.Errorf("answered after %s, not %s", took, c.want)
					}
					if called != c.called {
						t.Errorf("called: %v", called)
					}
					if tool == "utility.diagnose_mcp" && c.called {
						if r.IsError || !strings.Contains(r.Content[0].Text, `"status":null`) {
							t.Errorf("diagnosis: %+v", r)
						}
					} else if b := failure(t, r); b.Error != problem.Timeout || strings.Contains(b.Hint, "may be charged") != c.called {
						t.Errorf("got %s: %s", b.Error, b.Hint)
					}
				})
			})
		}
	}
}

// TestOutcomeUnclear: after a counted call was sent, only the REST API's own answer says that
// it is not charged.
func TestOutcomeUnclear(t *testing.T) {
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	garbage, redirect, timeout := refuses(200, nil, "garbage"), refuses(302, nil, ""), refuses(504, nil, string(problem.New(problem.Timeout, "").JSON()))
	const read, write, free = "postal.lookup", "external.publish_content", "utility.get_usage"
	arguments := map[string]string{read: `{"postal_code":"100-0001"}`, write: `{"slug":"a"}`, free: `{}`}
	for _, c := range []struct {
		name, tool string
		rest       http.HandlerFunc
		charged    string
		retryable  bool
	}{
		{"cut", read, cut, "may be charged", true},
		{"cut", write, cut, "may be charged", false},
		{"garbage", read, garbage, "may be charged", true},
		{"garbage", write, garbage, "may be charged", false},
		{"redirect", read, redirect, "may be charged", true},
		{"the gateway's own timeout", read, timeout, problem.FreeFailures, true},
		{"free", free, garbage, problem.FreeFailures, true},
	} {
		t.Run(c.name+" "+c.tool, func(t *testing.T) {
			w := newWorld(t)
			w.rest = c.rest
			r, _ := w.callTool(t.Context(), c.tool, arguments[c.tool])
			b := failure(t, r)
			if !strings.Contains(b.Hint, c.charged) || b.Retryable != c.retryable {
				t.Errorf("%s, retryable %v: %s", b.Error, b.Retryable, b.Hint)
			}
			if c.tool == write && (b.Classification != problem.Unknown || b.RetryAfterMs != nil) {
				t.Errorf("a write: %+v", b)
			}
		})
	}
}

// TestCallerGone: when the request ends, so does its call.
func TestCallerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(config *mcpserver.Config) {
			config.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		for _, accept := range []string{"application/json", "text/event-stream"} {
			response := w.event(ctx, events.APIGatewayProxyRequest{HTTPMethod: "POST", Headers: map[string]string{
				"content-type": "application/json", "x-api-key": goodKey, "accept": accept,
			}, Body: legacy("tools/call", lookup+`,"_meta":{"progressToken":1}`)})
			// Whether the SDK still delivers the tool's result is a matter of luck; both say
			// the same.
			if !strings.Contains(strings.ReplaceAll(response.Body, `\"`, `"`), `"error":"timeout"`) {
				t.Errorf("%s: got %d: %s", accept, response.StatusCode, response.Body)
			}
		}
		synctest.Wait()
	})
}

// TestPanics: a panic in a tool is an answer; the server lives on.
func TestPanics(t *testing.T) {
	w := newWorld(t, func(c *mcpserver.Config) {
		base := c.BaseURL
		c.BaseURL = func(r *http.Request) (string, error) {
			if strings.Contains(r.Header.Get("user-agent"), "boom") {
				panic(errors.New("boom in a tool"))
			}
			return base(r)
		}
	})
	response := w.event(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Headers: map[string]string{
		"content-type": "application/json", "x-api-key": goodKey, "user-agent": "boom",
		"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "postal.lookup",
	}, Body: modern("tools/call", lookup)})
	if !strings.Contains(response.Body, `\"error\":\"internal\"`) || !strings.Contains(response.Body, `"resultType":"complete"`) {
		t.Errorf("panic in a tool: %s", response.Body)
	}
	noSecrets(t, w, response)
	// What a panic said may quote a caller, so the log has only its type, and where it was.
	for _, text := range []string{`"panic":"a *errors.errorString"`, "rest_test.go"} {
		if !strings.Contains(w.log.String(), text) {
			t.Errorf("%q is not in the log", text)
		}
	}
	if strings.Contains(w.log.String(), "boom in") {
		t.Error("the log repeats what a panic said")
	}
	if r, _ := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"100-0001"}`); r.IsError {
		t.Errorf("after the panic: %+v", r)
	}
}

// TestDigitsAreKept on the way to the REST API.
func TestDigitsAreKept(t *testing.T) {
	w := newWorld(t)
	w.callTool(t.Context(), "convert.units", `{"value":9007199254740993,"from":"m","to":"km"}`)
	if calls := w.called(); len(calls) != 1 || !strings.Contains(calls[0], "value=9007199254740993") {
		t.Errorf("got %q", calls)
	}
}

// brokenAuthenticator panics, as nothing around the SDK should.
type brokenAuthenticator struct{ keys }

// TestPanicAround: outside the SDK too, a panic is a JSON-RPC error.
func TestPanicAround(t *testing.T) {
	w := newWorld(t, func(c *mcpserver.Config) { c.Authenticator = (*brokenAuthenticator)(nil) })
	response := w.post(ping)
	if response.StatusCode != 500 || response.Headers["Content-Type"] != "application/json" || !strings.Contains(response.Body, `"error":"internal"`) {
		t.Errorf("got %+v", response)
	}
	noSecrets(t, w, response)
}

// TestBaseURLFromEvent: without configuration, the API that the event came through is called.
func TestBaseURLFromEvent(t *testing.T) {
	w := newWorld(t, func(c *mcpserver.Config) { c.BaseURL = nil })
	e := events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: legacy("tools/call", lookup),
		Headers: map[string]string{"content-type": "application/json", "x-api-key": goodKey}}
	e.RequestContext.DomainName, e.RequestContext.Path = strings.TrimPrefix(w.base, "http://"), "/prod/mcp"
	if response := w.event(t.Context(), e); response.StatusCode != 200 {
		t.Fatalf("got %+v", response)
	}
	if calls := w.called(); len(calls) != 1 || calls[0] != "GET /prod/v1/postal/100-0001" {
		t.Errorf("got %q", calls)
	}

	rec := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(legacy("tools/call", lookup)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("x-api-key", goodKey)
	w.handler.ServeHTTP(rec, r)
	if !strings.Contains(rec.Body.String(), `\"error\":\"unreachable\"`) || !strings.Contains(w.log.String(), "came from no Lambda event") {
		t.Errorf("outside Lambda: %s", rec.Body)
	}
}

func TestConcurrentCallers(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			key, banned := goodKey, false
			if i%2 == 1 {
				key, banned = limitedKey, true
			}
			send := func(body string) string {
				return w.event(context.Background(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: body,
					Headers: map[string]string{"content-type": "application/json", "x-api-key": key}}).Body
			}
			if got := strings.Contains(send(legacy("tools/list", "")), `"calendar_holidays"`); got == banned {
				t.Errorf("key %d sees calendar_holidays: %v", i, got)
			}
			if got := strings.Contains(send(legacy("tools/call", `"name":"calendar.holidays","arguments":{"year":2026}`)), "tool_disabled"); got != banned {
				t.Errorf("key %d is refused calendar.holidays: %v", i, got)
			}
		})
	}
	wg.Wait()
	if calls := w.called(); len(calls) != 20 {
		t.Errorf("%d calls reached the REST API", len(calls))
	}
}

func TestConfig(t *testing.T) {
	good := newWorld(t).config
	for name, change := range map[string]func(*mcpserver.Config){
		"API":           func(c *mcpserver.Config) { c.API = nil },
		"Authenticator": func(c *mcpserver.Config) { c.Authenticator = nil },
		"Log":           func(c *mcpserver.Config) { c.Log = nil },
		"dotted":        func(c *mcpserver.Config) { c.ToolNames = "dotted" },
	} {
		c := good
		change(&c)
		if _, err := mcpserver.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := mcpserver.Handler(c); err == nil {
			t.Errorf("%s: Handler took it", name)
		}
	}
	c := good
	c.BaseURL, c.Client, c.Now, c.Version, c.ToolNames = nil, nil, nil, "", ""
	if _, err := mcpserver.Handler(c); err != nil {
		t.Errorf("defaults: %v", err)
	}
}
