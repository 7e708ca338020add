package laptop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/upstream"
	"sekisho/functions/internal/usage"
)

const upstreamToken = "token-SECRET-of-the-upstream"

// startWithUpstream starts the service before a backend of its own, with the settings that the
// change leaves.
func startWithUpstream(t *testing.T, up http.Handler, set func(*backend.Settings), change ...func(*laptop.Config)) *service {
	t.Helper()
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	return start(t, account.Plans{"demo": usage.PerMonth(100_000)}, func(c *laptop.Config) {
		s := backend.Settings{URL: server.URL, Private: true, Auth: &backend.Auth{Type: backend.Bearer, Place: backend.Place{Env: "token"}}}
		if set != nil {
			set(&s)
		}
		serveBackend(c, "external", s)
		for _, f := range change {
			f(c)
		}
	})
}

// serveBackend gives a backend its settings. Every secret is the upstream's token.
func serveBackend(c *laptop.Config, name string, s backend.Settings) {
	f := c.Functions[name]
	f.Env = maps.Clone(f.Env)
	f.Env[boot.Backend] = s.String()
	c.Functions[name] = f
	c.Relay.Secret = func(boot.Env, backend.Place) (func(context.Context) (string, error), error) {
		return func(context.Context) (string, error) { return upstreamToken, nil }, nil
	}
}

// manyADay lets tests publish.
func manyADay(s *backend.Settings) { s.PerDay = map[string]int{"external.publish_content": 1000} }

// outcome of one call of a tool, by either way.
type outcome struct {
	ok      bool
	code    string
	problem map[string]any
}

func (s *service) toolREST(secret, tool, argument string) outcome {
	s.t.Helper()
	var a answer
	if tool == "external.fetch_stats" {
		a = s.call("GET", "/v1/external/stats/"+argument, secret, "")
	} else {
		a = s.call("POST", "/v1/external/publications", secret, fmt.Sprintf(`{"slug":%q}`, argument))
	}
	if by := a.header.Get(backend.AnsweredBy); by != "" && a.status >= 400 {
		return outcome{false, fmt.Sprint("its own ", a.status), nil}
	}
	if len(a.body) == 0 {
		return outcome{a.status < 300, "", nil}
	}
	body := a.json(s.t)
	code, _ := body["error"].(string)
	return outcome{a.status < 300, code, body}
}

func (s *service) toolMCP(secret, tool, argument string) outcome {
	s.t.Helper()
	name := map[string]string{"external.fetch_stats": "resource_id", "external.publish_content": "slug"}[tool]
	a := s.call("POST", "/mcp", secret,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{%q:%q}}}`, tool, name, argument),
		"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")
	var out struct {
		Result struct {
			IsError bool `json:"isError"`
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(a.body, &out); err != nil || len(out.Result.Content) != 1 {
		s.t.Errorf("%v in %d %s", err, a.status, a.body)
		return outcome{}
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(out.Result.Content[0].Text), &body); err != nil {
		s.t.Error(err)
	}
	code, _ := body["error"].(string)
	if code == "backend_refused" {
		code = fmt.Sprint("its own ", body["status"])
	}
	return outcome{!out.Result.IsError, code, body}
}

// TestExternalFailuresAreNotCharged, by REST and by MCP.
func TestExternalFailuresAreNotCharged(t *testing.T) {
	s := startWithUpstream(t, upstream.Handler(upstreamToken), manyADay)
	for way, call := range map[string]func(secret, tool, argument string) outcome{"REST": s.toolREST, "MCP": s.toolMCP} {
		secret, key := s.newKey("demo")
		failures := int64(0)
		for _, c := range []struct{ tool, argument, code string }{
			{"external.fetch_stats", "status-401", "upstream_auth"},
			{"external.fetch_stats", "status-404", "its own 404"},
			{"external.fetch_stats", "status-429-retry-after-60", "its own 429"},
			{"external.fetch_stats", "status-503-retry-after-60", "upstream_unavailable"},
			{"external.fetch_stats", "status-500", "upstream_failed"},
			{"external.publish_content", "status-409", "its own 409"},
			{"external.publish_content", "status-500", "upstream_outcome_unclear"},
		} {
			if got := call(secret.Reveal(), c.tool, c.argument); got.ok || got.code != c.code {
				t.Errorf("%s: %s(%s): %+v, want %s", way, c.tool, c.argument, got, c.code)
			}
			failures++
		}
		for _, tool := range []string{"external.fetch_stats", "external.publish_content"} {
			if got := call(secret.Reveal(), tool, "demo"); !got.ok {
				t.Errorf("%s: %s: %+v", way, tool, got)
			}
		}
		if counts := s.used(key, thisMonth()); counts.Used != 2 || counts.Refunded != failures {
			t.Errorf("%s: %d used, %d refunded; want 2 and %d", way, counts.Used, counts.Refunded, failures)
		}
	}
}

// TestOnePublicationADay: 50 at once, exactly one goes through, and no other is charged.
func TestOnePublicationADay(t *testing.T) {
	const calls = 50
	var published atomic.Int64
	s := startWithUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		published.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}), nil)
	secret, key := s.newKey("demo")
	var passed, over atomic.Int64
	var wg sync.WaitGroup
	for i := range calls {
		call := s.toolREST
		if i%2 == 1 {
			call = s.toolMCP
		}
		wg.Go(func() {
			switch got := call(secret.Reveal(), "external.publish_content", "hello-world"); {
			case got.ok:
				passed.Add(1)
			case got.code == "daily_limit_exceeded" && got.problem["limit"] == 1.0:
				over.Add(1)
			default:
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
	counts := s.used(key, thisMonth())
	if passed.Load() != 1 || over.Load() != calls-1 || published.Load() != 1 || counts.Used != 1 {
		t.Errorf("%d passed, %d over the limit, %d published, %d used; want 1, %d, 1, 1",
			passed.Load(), over.Load(), published.Load(), counts.Used, calls-1)
	}
	if got := s.toolREST(secret.Reveal(), "external.publish_content", "later"); got.code != "daily_limit_exceeded" || got.problem["used"] != 1.0 || got.problem["retryable"] != false {
		t.Errorf("afterwards: %+v", got)
	}
}

// talkative is an upstream that repeats the token wherever it can, and fails as it is told.
func talkative(w http.ResponseWriter, r *http.Request) {
	said := r.Header.Get("Authorization")
	w.Header().Set("X-Echo", said)
	how := r.PathValue("id")
	switch how {
	case "ok":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"sent": said, said: 1})
	case "no-json":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, said)
	case "type":
		w.Header().Set("Content-Type", said)
		fmt.Fprint(w, said)
	case "redirect":
		w.Header().Set("Location", "http://"+strings.ReplaceAll(said, " ", ":")+"@127.0.0.1:1/?"+said)
		w.WriteHeader(http.StatusFound)
	case "retry-after":
		w.Header().Set("Retry-After", said)
		http.Error(w, said, http.StatusTooManyRequests)
	case "chunked":
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, said)
	case "raw":
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprintf(connection, "HTTP/1.1 %s\r\n%s: %s\r\n\r\n", said, said, said)
			connection.Close()
		}
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	default:
		code := http.StatusInternalServerError
		fmt.Sscanf(how, "status-%d", &code)
		http.Error(w, said, code)
	}
}

// TestNoUpstreamTokenInAnyLog looks through all that the service says and writes while its
// upstream fails in every way.
func TestNoUpstreamTokenInAnyLog(t *testing.T) {
	t.Parallel() // it waits for most of its time
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats/{id}", talkative)
	mux.HandleFunc("POST /publications", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization"), http.StatusConflict)
	})
	s := startWithUpstream(t, mux, func(s *backend.Settings) { s.TimeoutSeconds = 0.2 })
	secret, key := s.newKey("demo")
	ways := []string{"ok", "no-json", "type", "redirect", "retry-after", "chunked", "raw", "slow"}
	for _, code := range []int{400, 401, 403, 404, 409, 422, 500, 501, 502, 503, 504} {
		ways = append(ways, fmt.Sprintf("status-%d", code))
	}
	var mu sync.Mutex
	var said strings.Builder
	var wg sync.WaitGroup
	for _, way := range ways {
		wg.Go(func() {
			a := s.call("GET", "/v1/external/stats/"+way, secret.Reveal(), "")
			b := s.toolMCP(secret.Reveal(), "external.fetch_stats", way)
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&said, a.header, string(a.body), b)
			if (a.status == 200) != (way == "ok" || way == "type") {
				t.Errorf("%s: %d %s", way, a.status, a.body)
			}
		})
	}
	wg.Wait()
	fmt.Fprintln(&said, s.toolREST(secret.Reveal(), "external.publish_content", "x"))
	s.used(key, thisMonth())
	for where, text := range map[string]string{"answers": said.String(), "log": s.log.String()} {
		if strings.Contains(text, upstreamToken) || strings.Contains(text, "SECRET") || strings.Contains(strings.ToLower(text), "authorization") {
			t.Errorf("the %s hold the token, or the header that it is sent in:\n%s", where, text)
		}
		if !strings.Contains(text, "upstream_auth") {
			t.Errorf("the %s say nothing of the failures", where)
		}
	}
}

// TestPrivateUpstream: an address that is not public is refused unless it is meant.
func TestPrivateUpstream(t *testing.T) {
	asked := atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	s := start(t, account.Plans{"demo": usage.PerMonth(10)}, func(c *laptop.Config) {
		serveBackend(c, "external", backend.Settings{URL: server.URL})
	})
	secret, _ := s.newKey("demo")
	if got := s.toolREST(secret.Reveal(), "external.fetch_stats", "demo"); got.code != "upstream_misconfigured" || asked.Load() != 0 {
		t.Errorf("%+v, asked %d times", got, asked.Load())
	}
}

func TestWithoutUpstream(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(10)}, nil)
	secret, key := s.newKey("demo")
	for _, got := range []outcome{
		s.toolREST(secret.Reveal(), "external.fetch_stats", "demo"), s.toolMCP(secret.Reveal(), "external.publish_content", "demo"),
	} {
		if got.code != "upstream_not_configured" || got.problem["retryable"] != false {
			t.Errorf("%+v", got)
		}
	}
	if counts := s.used(key, thisMonth()); counts.Used != 0 || counts.Refunded != 2 {
		t.Errorf("%+v; want nothing used", counts)
	}
}
