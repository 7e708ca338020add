package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/usage"
)

// always admits, and remembers what was given back.
type always struct {
	mu       sync.Mutex
	refunded []usage.Refund
}

func (a *always) Admit(_ context.Context, key account.Key, op *contract.Operation) (d admission.Decision, _ error) {
	d.Context.Admission = gateway.Admission{Operation: op.ID, KeyID: key.ID, Meter: key.ID, Plan: key.Plan}
	if op.Units > 0 {
		now := time.Now()
		d.Context.Period, d.Context.AdmissionID = usage.PeriodOf(now).String(), usage.NewAdmissionID(now)
		d.Context.Units, d.Context.RefundCap = "1", "100"
	}
	return d, nil
}

func (a *always) Refund(_ context.Context, r usage.Refund) ([]usage.Outcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refunded = append(a.refunded, r)
	return []usage.Outcome{usage.Refunded}, nil
}

// directWorld is a world in which the server dispatches calls itself, to invoker.
func directWorld(t testing.TB, invoker func(*world) backend.Invoker, change ...func(*mcpserver.Config)) (*world, *always) {
	gate := &always{}
	var w *world
	w = newWorld(t, append(change, func(c *mcpserver.Config) {
		c.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) { return nil, errors.New("not by HTTP") })}
		c.Direct = &mcpserver.Direct{Gate: gate, Refunds: gate, Functions: map[string]backend.Invoker{}}
		for _, name := range c.API.Functions() {
			c.Direct.Functions[name] = invokerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
				return invoker(w).Invoke(ctx, payload)
			})
		}
	})...)
	return w, gate
}

type invokerFunc func(context.Context, []byte) ([]byte, error)

func (f invokerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// byREST answers with the world's REST API.
func byREST(w *world) backend.Invoker {
	return gateway.Handler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.record(r); w.rest(rw, r) }), nil)
}

// TestExchangesInDirect: every answer is the proxy's, byte for byte, and functions are asked the same.
// Different is only what the diagnosis says of the endpoint, for which it asks nobody.
func TestExchangesInDirect(t *testing.T) {
	for _, x := range exchanges() {
		t.Run(x.name, func(t *testing.T) {
			change := []func(*mcpserver.Config){}
			if x.change != nil {
				change = append(change, x.change)
			}
			proxy := newWorld(t, change...)
			direct, _ := directWorld(t, byREST, change...)
			want, got := proxy.event(t.Context(), x.event()), direct.event(t.Context(), x.event())
			if x.name == "call_diagnose" {
				want.Body = strings.ReplaceAll(want.Body, "The REST API answers.", "Functions answer.")
			}
			if asJSON(t, got) != asJSON(t, want) {
				t.Errorf("proxy:\n%s\ndirect:\n%s", asJSON(t, want), asJSON(t, got))
			}
			calls := slices.DeleteFunc(proxy.called(), func(call string) bool { return call == "GET /v1/health" })
			asked := direct.called()
			slices.Sort(calls)
			slices.Sort(asked)
			if !slices.Equal(calls, asked) {
				t.Errorf("functions are asked %q, want %q", asked, calls)
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOutcomesInDirect: what the caller is told, whether the unit is given back, and whether the cap
// on free failures counts it.
func TestOutcomesInDirect(t *testing.T) {
	answering := func(answer string, err error) func(*world) backend.Invoker {
		return func(*world) backend.Invoker {
			return invokerFunc(func(context.Context, []byte) ([]byte, error) { return []byte(answer), err })
		}
	}
	tooLarge, _ := json.Marshal(map[string]any{"statusCode": 200, "body": `{"a":"` + strings.Repeat("x", 300_000) + `"}`})
	for name, c := range map[string]struct {
		invoker   func(*world) backend.Invoker
		code      string
		unclear   bool
		unstarted bool
	}{
		"success":        {invoker: answering(`{"statusCode":200,"body":"{}"}`, nil)},
		"base64":         {invoker: answering(`{"statusCode":200,"body":"e30=","isBase64Encoded":true}`, nil)},
		"problem":        {invoker: answering(`{"statusCode":404,"body":"{\"error\":\"not_found\"}"}`, nil), code: "not_found"},
		"malformed":      {invoker: answering(`{"a":1}`, nil), code: "internal"},
		"no object":      {invoker: answering(`{"statusCode":200,"body":"[]"}`, nil), code: "internal", unclear: true},
		"redirect":       {invoker: answering(`{"statusCode":302}`, nil), code: "internal", unclear: true},
		"too large":      {invoker: answering(string(tooLarge), nil), code: "answer_too_large", unclear: true},
		"throttled":      {invoker: answering("", backend.ErrBusy), code: "unavailable", unstarted: true},
		"not invoked":    {invoker: answering("", &backend.NotInvokedError{Err: errors.New("no such alias")}), code: "unavailable", unstarted: true},
		"function error": {invoker: answering("", &backend.FailedError{Type: "Sandbox.Timedout"}), code: "internal"},
		"lost":           {invoker: answering("", errors.New("connection reset")), code: "unreachable", unclear: true},
		"time is up":     {invoker: answering("", context.DeadlineExceeded), code: "timeout", unclear: true},
		"panic":          {invoker: func(*world) backend.Invoker { panic("boom") }, code: "internal", unclear: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, gate := directWorld(t, c.invoker)
			r := w.post(legacy("tools/call", lookup))
			if told := strings.Contains(r.Body, `\"error\":\"`+c.code+`\"`); r.StatusCode != 200 || told != (c.code != "") {
				t.Errorf("%d %s; want %s", r.StatusCode, r.Body, c.code)
			}
			if strings.Contains(r.Body, "may be charged") != c.unclear {
				t.Errorf("unclear: %s", r.Body)
			}
			if (len(gate.refunded) == 1) != (c.code != "") || len(gate.refunded) == 1 && gate.refunded[0].Calls[0].Unstarted != c.unstarted {
				t.Errorf("given back: %+v", gate.refunded)
			}
			if !strings.Contains(w.log.String(), `"msg":"admitted"`) || strings.Contains(w.log.String(), "SECRET") {
				t.Errorf("log %s", w.log)
			}
		})
	}
}

// TestEventInDirect: the function finds the caller, the API and the stage in it, and not the key.
func TestEventInDirect(t *testing.T) {
	var got events.APIGatewayProxyRequest
	w, _ := directWorld(t, func(*world) backend.Invoker {
		return invokerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			return []byte(`{"statusCode":200,"body":"{}"}`), json.Unmarshal(payload, &got)
		})
	})
	w.event(t.Context(), events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Body: legacy("tools/call", `"name":"postal_search","arguments":{"prefix":"100","limit":5}`),
		Headers:        map[string]string{"content-type": "application/json", "x-api-key": goodKey, "X-Forwarded-For": "203.0.113.9"},
		StageVariables: map[string]string{"unavailable_error": "unavailable"},
		RequestContext: events.APIGatewayProxyRequestContext{
			APIID: "abc", Stage: "live", DomainName: "api.example", ResourceID: "mcp1", ResourcePath: "/mcp", Path: "/live/mcp", HTTPMethod: "POST",
			Identity: events.APIGatewayRequestIdentity{SourceIP: "203.0.113.9"},
		},
	})
	c := got.RequestContext
	if got.Resource != "/v1/postal" || got.Path != "/v1/postal" || got.HTTPMethod != "GET" || got.QueryStringParameters["prefix"] != "100" || got.QueryStringParameters["limit"] != "5" {
		t.Errorf("the call: %+v", got)
	}
	if c.APIID != "abc" || c.Stage != "live" || c.Path != "/live/v1/postal" || c.ResourcePath != "/v1/postal" || c.HTTPMethod != "GET" || c.ResourceID != "" || c.Identity.SourceIP != "203.0.113.9" || got.StageVariables["unavailable_error"] == "" {
		t.Errorf("the API and the caller: %+v", c)
	}
	if c.Authorizer["key_id"] != "key_good" || c.Authorizer["principalId"] != "key_good" || c.Authorizer["operation"] != "postal.search" || c.Authorizer["integrationLatency"] == nil {
		t.Errorf("the authorizer's context: %v", c.Authorizer)
	}
	if text := asJSON(t, got); strings.Contains(text, "SECRET") {
		t.Errorf("the key is in the event: %s", text)
	}
}

// TestRecordsAtAnyLevel: settle needs them.
func TestRecordsAtAnyLevel(t *testing.T) {
	w, _ := directWorld(t, byREST, func(c *mcpserver.Config) { c.Log = c.Log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel)) })
	w.post(legacy("tools/call", lookup))
	d, ok := gateway.ParseDispatched([]byte(w.log.String()))
	if a := d.Admission; !ok || a.Meter != "key_good" || a.Units != "1" || a.Period == "" || a.RefundCap != "100" || a.Operation != "postal.lookup" {
		t.Errorf("%+v of %s", d, w.log)
	}
}

func BenchmarkCallDirect(b *testing.B) {
	collectors(b, func(b *testing.B) {
		w, _ := directWorld(b, func(*world) backend.Invoker {
			return invokerFunc(func(context.Context, []byte) ([]byte, error) {
				return []byte(`{"statusCode":200,"headers":{"Content-Type":"application/json"},"body":"{\"postal_code\":\"1000001\",\"formatted\":\"100-0001\",\"addresses\":[]}"}`), nil
			})
		}, func(c *mcpserver.Config) { c.Log = zap.NewNop() })
		event := (&exchange{headers: authed, body: legacy("tools/call", lookup)}).event()
		b.ReportAllocs()
		for b.Loop() {
			if got := w.event(context.Background(), event); got.StatusCode != 200 || strings.Contains(got.Body, "isError") {
				b.Fatal(got)
			}
		}
	})
}

// TestTimeToGiveBack: of a call that lasts as long as mcp may, enough time is left to give it back
// and to answer.
func TestTimeToGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, gate := directWorld(t, func(*world) backend.Invoker {
			return invokerFunc(func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() })
		}, func(c *mcpserver.Config) { c.Now = time.Now })
		const limit = 28 * time.Second
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		r := w.event(ctx, events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: legacy("tools/call", lookup), Headers: map[string]string{
			"content-type": "application/json", "x-api-key": goodKey,
		}})
		if !strings.Contains(r.Body, `\"error\":\"timeout\"`) || len(gate.refunded) != 1 {
			t.Errorf("%s; given back: %+v", r.Body, gate.refunded)
		}
		if left := limit - time.Since(start); left < 1500*time.Millisecond {
			t.Errorf("%s are left", left)
		}
	})
}
