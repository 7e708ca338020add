package mcpserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
)

// TestFreeMessagesAreBounded: what no plan counts is bounded per key: messages, free tools, and
// calls that are refused here. What is counted is not.
func TestFreeMessagesAreBounded(t *testing.T) {
	free := map[string]func(*world) (refused bool){
		"ping":      func(w *world) bool { return w.post(ping).StatusCode == 429 },
		"a list":    func(w *world) bool { return w.post(legacy("tools/list", "")).StatusCode == 429 },
		"diagnosis": func(w *world) bool { return throttled(w, "utility.diagnose_mcp", `{}`) },
		"usage":     func(w *world) bool { return throttled(w, "utility.get_usage", `{}`) },
		"search":    func(w *world) bool { return throttled(w, "utility.find_tools", `{"words":"postal code"}`) },
		"unknown": func(w *world) bool {
			return strings.Contains(w.post(legacy("tools/call", unknown)).Body, `"error":"throttled"`)
		},
		"free, called": func(w *world) bool {
			return throttled(w, "utility.call_tool", `{"name":"utility.get_usage"}`)
		},
		"bad call": func(w *world) bool { return throttled(w, "postal.lookup", `{"postal_code":[]}`) },
	}
	for name, send := range free {
		w := newWorld(t, func(c *mcpserver.Config) { c.Free = ratelimit.NewBudget(ratelimit.Limit{Burst: 2, PerSecond: 0.1}) })
		for i, want := range []bool{false, false, true, true} {
			if refused := send(w); refused != want {
				t.Errorf("%s, time %d: refused %t, want %t", name, i+1, refused, want)
			}
		}
		w.called()
		throttled(w, "utility.diagnose_mcp", `{}`)
		if calls := w.called(); len(calls) > 0 {
			t.Errorf("%s: a refused diagnosis called %q", name, calls)
		}
		if r, _ := w.callTool(t.Context(), "postal.lookup", `{"postal_code":"100-0001"}`); r.IsError {
			t.Errorf("%s: a call that is counted is refused: %+v", name, r)
		}
	}
	w := newWorld(t, func(c *mcpserver.Config) { c.Free = ratelimit.NewBudget(ratelimit.Limit{Burst: 1, PerSecond: 0.1}) })
	w.post(ping)
	r := w.post(ping)
	if r.Headers["Retry-After"] != "10" || !strings.Contains(r.Body, `"retryAfterMs":10000`) {
		t.Errorf("no true wait in %+v", r)
	}
}

func throttled(w *world, tool, arguments string) bool {
	r, _ := w.callTool(w.t.Context(), tool, arguments)
	return r.IsError && strings.Contains(r.Content[0].Text, `"error":"`+string(problem.Throttled)+`"`)
}

type busyAuthenticator struct{}

func (busyAuthenticator) Authenticate(_ context.Context, _, source string) (account.Key, error) {
	if source != "2001:db8:1:2::/64" {
		return account.Key{}, account.ErrNotFound
	}
	return account.Key{}, &account.ThrottledError{Wait: 1500 * time.Millisecond}
}

func TestTooManyUnknownKeys(t *testing.T) {
	w := newWorld(t, func(c *mcpserver.Config) { c.Authenticator = busyAuthenticator{} })
	e := events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: ping, Headers: map[string]string{"content-type": "application/json", "x-api-key": goodKey}}
	e.RequestContext.Identity.SourceIP = "2001:db8:1:2:3:4:5:6"
	r := w.event(t.Context(), e)
	if r.StatusCode != 429 || r.Headers["Retry-After"] != "2" || !strings.Contains(r.Body, `"error":"throttled"`) || !strings.Contains(r.Body, `"retryAfterMs":1500`) {
		t.Errorf("got %+v", r)
	}
}
