package laptop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/trace"
	"sekisho/functions/internal/trace/otlp"
	"sekisho/functions/internal/usage"
)

// The example of the recommendation (https://www.w3.org/TR/trace-context/#examples-of-http-traceparent-headers).
const (
	agentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	agentSpan  = "00f067aa0ba902b7"
	agentSent  = "00-" + agentTrace + "-" + agentSpan + "-00" // not sampled: whether it is traced here is not the agent's choice
)

// upstreamTraces is a backend that keeps what it is sent of traces.
type upstreamTraces struct {
	mu            sync.Mutex
	parent, state string
}

func (u *upstreamTraces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parent, u.state = r.Header.Get(trace.Parent), r.Header.Get(trace.State)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"views":1}`)
}

func (u *upstreamTraces) saw() (parent, state string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.parent, u.state
}

// traced is a service before that backend.
func traced(t *testing.T, dispatch string, up http.Handler) *service {
	t.Helper()
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	return dispatched(t, dispatch, account.Plans{"demo": usage.PerMonth(10)}, func(c *laptop.Config) {
		serveBackend(c, "external", backend.Settings{URL: server.URL, Private: true})
	})
}

// fetch calls the backend's tool with a trace in _meta, in a header, or in neither.
func (s *service) fetch(secret, meta string, headers ...string) answer {
	s.t.Helper()
	return s.call("POST", "/mcp", secret,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"external.fetch_stats","arguments":{"resource_id":"r"}`+meta+`}}`,
		append([]string{"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25"}, headers...)...)
}

// TestTraceReachesTheUpstream: with tracing off, what the agent sent arrives as it was, and the log
// has its ID.
func TestTraceReachesTheUpstream(t *testing.T) {
	inMeta := `,"_meta":{"traceparent":"` + agentSent + `","tracestate":"vendor=1"}`
	eachDispatch(t, func(t *testing.T, dispatch string) {
		for name, c := range map[string]struct {
			meta    string
			headers []string
			want    string
		}{
			"_meta":            {inMeta, nil, agentSent},
			"header":           {"", []string{"Traceparent", agentSent, "Tracestate", "vendor=1"}, agentSent},
			"_meta and header": {inMeta, []string{"Traceparent", strings.ReplaceAll(agentSent, "4bf9", "0000")}, agentSent},
			"none":             {"", nil, ""},
			"not one":          {`,"_meta":{"traceparent":"00-SECRET"}`, []string{"Traceparent", "SECRET"}, ""},
			"of another kind":  {`,"_meta":{"traceparent":7,"tracestate":{}}`, nil, ""},
		} {
			t.Run(name, func(t *testing.T) {
				up := &upstreamTraces{}
				s := traced(t, dispatch, up)
				secret, _ := s.newKey("demo")
				if a := s.fetch(secret.Reveal(), c.meta, c.headers...); a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
				parent, state := up.saw()
				if parent != c.want || (state == "vendor=1") != (c.want != "") {
					t.Errorf("the upstream got %q, %q", parent, state)
				}
				log := s.log.String()
				if got := strings.Contains(log, `"trace_id":"`+agentTrace+`"`); got != (c.want != "") || strings.Contains(log, "SECRET") {
					t.Errorf("log %s", log)
				}
			})
		}
	})
}

// collector keeps the spans that it is sent.
type collector struct {
	mu    sync.Mutex
	spans []collected
}

type collected struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Attributes                          []struct {
		Key   string
		Value map[string]string
	}
	Status struct{ Code int }
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var message struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []collected }
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/v1/traces" && r.Header.Get("Authorization") == "Bearer c" && json.Unmarshal(body, &message) == nil {
		for _, s := range message.ResourceSpans[0].ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

// under are the spans whose parent has the ID.
func (c *collector) under(id string) (all []collected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.ParentSpanID == id && s.TraceID == agentTrace {
			all = append(all, s)
		}
	}
	return all
}

// TestOneTraceFromAgentToUpstream: each span is the child of the one before, and the upstream's own
// would be the child of the last.
func TestOneTraceFromAgentToUpstream(t *testing.T) {
	eachDispatch(t, func(t *testing.T, dispatch string) {
		c := &collector{}
		server := httptest.NewServer(c)
		t.Cleanup(server.Close)
		flush, err := otlp.Start(boot.Map(map[string]string{otlp.Endpoint: server.URL + "/", otlp.Headers: "authorization=Bearer%20c"}), "sekisho", zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { trace.Use(nil) })
		up := &upstreamTraces{}
		s := traced(t, dispatch, up)
		secret, _ := s.newKey("demo")
		if a := s.fetch(secret.Reveal(), `,"_meta":{"traceparent":"`+agentSent+`"}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		flush()
		parent := agentSpan
		for _, want := range []string{"tools/call external.fetch_stats", "external.fetch_stats", "GET"} {
			spans := c.under(parent)
			if len(spans) != 1 || spans[0].Name != want || spans[0].Status.Code != 0 || len(spans[0].Attributes) == 0 {
				t.Fatalf("under %s: %+v, want %q", parent, spans, want)
			}
			parent = spans[0].SpanID
		}
		if got, _ := up.saw(); got != "00-"+agentTrace+"-"+parent+"-01" {
			t.Errorf("the upstream got %s, and the last span is %s", got, parent)
		}
	})
}
