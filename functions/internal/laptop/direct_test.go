package laptop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// dispatched starts a service whose mcp dispatches calls as named.
func dispatched(t *testing.T, dispatch string, plans account.Plans, change func(*laptop.Config)) *service {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	variables, err := laptop.Dispatching(api, dispatch)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, plans, func(c *laptop.Config) {
		maps.Copy(c.Functions["mcp"].Env, variables) // it is the environment of all
		if change != nil {
			change(c)
		}
	})
}

// eachDispatch runs a test over both.
func eachDispatch(t *testing.T, test func(t *testing.T, dispatch string)) {
	for _, dispatch := range []string{boot.Proxy, boot.Direct} {
		t.Run(dispatch, func(t *testing.T) { test(t, dispatch) })
	}
}

func (s *service) lookUp(secret string) answer {
	s.t.Helper()
	return s.mcpCall(secret, "postal_lookup", `{"postal_code":"1000001"}`)
}

func passed(a answer) bool {
	return a.status == http.StatusOK && strings.Contains(string(a.body), "structuredContent") && !strings.Contains(string(a.body), `"isError":true`)
}

// TestExactHoweverDispatched: 100 calls at once against 50 a month, 50 a day or a burst of 50. In
// direct, no call passes the authorizer.
func TestExactHoweverDispatched(t *testing.T) {
	const calls, limit = 100, 50
	eachDispatch(t, func(t *testing.T, dispatch string) {
		plans := account.Plans{
			"month": usage.PerMonth(limit), "day": {Monthly: 1000, Daily: limit},
			"rate": {Monthly: 1000, Daily: 1000, Rate: ratelimit.Limit{PerSecond: 0.001, Burst: limit}},
		}
		s := dispatched(t, dispatch, plans, nil)
		for plan := range plans {
			secret, key := s.newKey(plan)
			before := s.invocations()
			var ok atomic.Int64
			var callers sync.WaitGroup
			for range calls {
				callers.Go(func() {
					if passed(s.lookUp(secret.Reveal())) {
						ok.Add(1)
					}
				})
			}
			callers.Wait()
			counts, after := s.used(key, thisMonth()), s.invocations()
			if ok.Load() != limit || counts.Used != limit || after["postal"]-before["postal"] != limit || counts.Denied != calls-limit {
				t.Errorf("%s: %d passed, %d invocations, %+v; want %d", plan, ok.Load(), after["postal"]-before["postal"], counts, limit)
			}
			if asked := after[laptop.Authorizer] - before[laptop.Authorizer]; (asked == 0) != (dispatch == boot.Direct) {
				t.Errorf("%s: the authorizer was asked %d times", plan, asked)
			}
		}
	})
}

// failing are ways in which a call fails behind mcp.
var failing = map[string]struct {
	arguments string
	unstarted int64
	change    func(*laptop.Config)
}{
	"not found": {`{"postal_code":"0000000"}`, 0, nil},
	"panic":     {`{"postal_code":"1000001"}`, 0, func(c *laptop.Config) { replace(c, "postal", answering(func() string { panic("boom") })) }},
	"error": {`{"postal_code":"1000001"}`, 0, func(c *laptop.Config) {
		replace(c, "postal", boot.Handle(func(context.Context, any) (any, error) { return nil, errors.New("broken") }))
	}},
	"time-out": {`{"postal_code":"1000001"}`, 0, func(c *laptop.Config) {
		replace(c, "postal", boot.Handle(func(ctx context.Context, _ any) (any, error) { <-ctx.Done(); return nil, ctx.Err() }))
		f := c.Functions["postal"]
		f.Timeout = 20 * time.Millisecond
		c.Functions["postal"] = f
	}},
	"no concurrency": {`{"postal_code":"1000001"}`, 1, func(c *laptop.Config) {
		f := c.Functions["postal"]
		f.Reserved = 0
		c.Functions["postal"] = f
	}},
	"no proxy answer": {`{"postal_code":"1000001"}`, 0, func(c *laptop.Config) { replace(c, "postal", answering(func() string { return `{"a":1}` })) }},
	"problem": {`{"postal_code":"1000001"}`, 0, func(c *laptop.Config) {
		replace(c, "postal", answering(func() string { return `{"statusCode":503,"headers":{"Retry-After":"7"},"body":"{}"}` }))
	}},
}

func answering(answer func() string) lambda.Invoker {
	return boot.Handle(func(context.Context, any) (json.RawMessage, error) { return json.RawMessage(answer()), nil })
}

// TestFailuresHoweverDispatched: the caller reads the same of a call that fails, and its unit comes
// back once; in direct, before the caller has the answer.
func TestFailuresHoweverDispatched(t *testing.T) {
	for name, c := range failing {
		t.Run(name, func(t *testing.T) {
			bodies := map[string]string{}
			eachDispatch(t, func(t *testing.T, dispatch string) {
				s := dispatched(t, dispatch, account.Plans{"demo": usage.PerMonth(50)}, c.change)
				secret, key := s.newKey("demo")
				a := s.mcpCall(secret.Reveal(), "postal_lookup", c.arguments)
				bodies[dispatch] = fmt.Sprint(a.status, a.header.Get("Retry-After"), string(a.body))
				if dispatch == boot.Direct {
					counts, err := s.stores.Usage().Counts(t.Context(), key.Meter, thisMonth())
					if err != nil || counts[0].Used != 0 {
						t.Errorf("with the answer: %+v, %v", counts, err)
					}
				}
				if counts := s.used(key, thisMonth()); counts.Used != 0 || counts.Refunded != 1 || counts.Unstarted != c.unstarted {
					t.Errorf("%+v; want one given back", counts)
				}
			})
			if bodies[boot.Direct] != bodies[boot.Proxy] || !strings.Contains(bodies[boot.Proxy], `"isError":true`) {
				t.Errorf("proxy: %s\ndirect: %s", bodies[boot.Proxy], bodies[boot.Direct])
			}
		})
	}
}

// TestAnswersHoweverDispatched: the same of every free tool and of what is left after a call.
func TestAnswersHoweverDispatched(t *testing.T) {
	c := newClock("2026-11-30T12:00:00.500Z")
	bodies := map[string]string{}
	eachDispatch(t, func(t *testing.T, dispatch string) {
		s := dispatched(t, dispatch, account.Plans{"demo": {Monthly: 2, Daily: 2}}, func(config *laptop.Config) { config.Now = c.now })
		secret, key := s.newKey("demo")
		for range 3 {
			bodies[dispatch] += string(s.lookUp(secret.Reveal()).body) + "\n"
		}
		for _, free := range []string{"utility_get_usage", "account_get_usage_history", "account_get_tool_settings", "utility_diagnose_mcp"} {
			bodies[dispatch] += string(s.mcpCall(secret.Reveal(), free, `{}`).body) + "\n"
		}
		bodies[dispatch] = strings.ReplaceAll(bodies[dispatch], key.ID, "KEY")
		if counts := s.used(key, thisMonthOf(c)); counts.Used != 2 || counts.Denied != 1 {
			t.Errorf("%+v", counts)
		}
	})
	// The denial lags, so the history may not have it yet.
	lag := regexp.MustCompile(`\\?"denied\\?":\d`)
	proxy, direct := lag.ReplaceAllString(bodies[boot.Proxy], ""), lag.ReplaceAllString(bodies[boot.Direct], "")
	if proxy = strings.ReplaceAll(proxy, "The REST API answers.", "Functions answer."); proxy != direct {
		t.Errorf("proxy:\n%s\ndirect:\n%s", proxy, direct)
	}
}

func thisMonthOf(c *clock) usage.Period { return usage.PeriodOf(c.now()) }

// dies ends invocations of mcp after, or in the middle of, what they do.
type dies struct {
	lambda.Invoker
	within bool
}

func (d dies) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if d.within { // and the call goes on behind it
		go func() { _, _ = d.Invoker.Invoke(context.WithoutCancel(ctx), payload) }()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, _ = d.Invoker.Invoke(ctx, payload)
	panic("killed")
}

// TestMCPDies after it admitted: settle gives back, once, what its caller has no answer to. What it
// has an answer to stays charged.
func TestMCPDies(t *testing.T) {
	for name, within := range map[string]bool{"after the call": false, "during the call": true} {
		t.Run(name, func(t *testing.T) {
			s := dispatched(t, boot.Direct, account.Plans{"demo": usage.PerMonth(50)}, func(c *laptop.Config) {
				replace(c, "postal", boot.Handle(func(context.Context, any) (any, error) {
					time.Sleep(100 * time.Millisecond)
					return events.APIGatewayProxyResponse{StatusCode: 200, Body: "{}"}, nil
				}))
				if within {
					f := c.Functions["mcp"]
					f.Timeout = 50 * time.Millisecond
					c.Functions["mcp"] = f
				}
				c.Wrap = func(function string, handler lambda.Invoker) lambda.Invoker {
					if function != "mcp" {
						return handler
					}
					if within { // its own deadline must not end the call
						return dies{untimed{handler}, true}
					}
					return dies{handler, false}
				}
			})
			secret, key := s.newKey("demo")
			if a := s.lookUp(secret.Reveal()); a.status < 500 {
				t.Errorf("the caller has %d %s", a.status, a.body)
			}
			if counts := s.used(key, thisMonth()); counts.Used != 0 || counts.Refunded != 1 {
				t.Errorf("%+v; want one given back", counts)
			}
		})
	}
}

// untimed takes the deadline away, and keeps what else the context says.
type untimed struct{ lambda.Invoker }

func (u untimed) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return u.Invoker.Invoke(context.WithoutCancel(ctx), payload)
}

// noRefunds is a store that mcp can't write refunds to.
type noRefunds struct{ store.Store }

type noRefund struct{ usage.Store }

func (s noRefunds) Usage() usage.Store { return noRefund{s.Store.Usage()} }

func (noRefund) Refund(context.Context, usage.Refund) ([]usage.Outcome, error) {
	return nil, errors.New("the store is busy")
}

// TestRefundThatCanNotBeWritten is left to settle, with whether the call had started.
func TestRefundThatCanNotBeWritten(t *testing.T) {
	for _, name := range []string{"not found", "no concurrency"} {
		c := failing[name]
		s := dispatched(t, boot.Direct, account.Plans{"demo": usage.PerMonth(50)}, func(config *laptop.Config) {
			if c.change != nil {
				c.change(config)
			}
			f := config.Functions["mcp"]
			f.Stores = noRefunds{config.Stores}
			config.Functions["mcp"] = f
		})
		secret, key := s.newKey("demo")
		s.mcpCall(secret.Reveal(), "postal_lookup", c.arguments)
		if counts := s.used(key, thisMonth()); counts.Used != 0 || counts.Refunded != 1 || counts.Unstarted != c.unstarted {
			t.Errorf("%s: %+v; want one given back", name, counts)
		}
	}
}

// TestThresholdsHoweverDispatched: both marks are told of, once each.
func TestThresholdsHoweverDispatched(t *testing.T) {
	eachDispatch(t, func(t *testing.T, dispatch string) {
		s := dispatched(t, dispatch, account.Plans{"demo": usage.PerMonth(10)}, func(c *laptop.Config) {
			c.Functions[laptop.Authorizer].Env[boot.UsagePercent] = "80,100"
		})
		secret, key := s.newKey("demo")
		for range 12 {
			s.lookUp(secret.Reveal())
		}
		if counts := s.used(key, thisMonth()); counts.Denied != 2 {
			t.Errorf("%d denied", counts.Denied)
		}
		var told []events.SNSEntity
		if err := json.Unmarshal(s.local("GET", "topics/"+laptop.UsageTopic, "").body, &told); err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || !strings.Contains(told[0].Message, `"used": 8`) || !strings.Contains(told[0].Message, `"plan": "demo"`) ||
			!strings.Contains(told[0].Message, `"user": "`+key.UserID) || !strings.Contains(told[1].Subject, "100 %") {
			t.Errorf("told %+v; want 80 and 100 %%, once each", told)
		}
	})
}

// TestBrakedInDirect: mcp goes on and says in both eras that the brake is on; nothing is charged.
// It knows with the first call that the brake stops, and 10 s after the release at the latest.
func TestBrakedInDirect(t *testing.T) {
	c := newClock("2026-11-30T12:00:00Z")
	s := dispatched(t, boot.Direct, account.Plans{"demo": usage.PerMonth(50)}, func(config *laptop.Config) {
		config.Now = c.now
		config.Brake = &laptop.Brake{Memory: config.Stores.Brake("drill"), ReleaseCommand: "release"}
	})
	secret, key := s.newKey("demo")
	if a := s.lookUp(secret.Reveal()); !passed(a) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if _, err := s.Brake.Trip(t.Context(), brake.ByHand("drill"), c.now()); err != nil {
		t.Fatal(err)
	}
	before := s.invocations()
	for range 3 {
		for era, a := range map[string]answer{
			"legacy": s.lookUp(secret.Reveal()),
			"modern": s.call("POST", "/mcp", secret.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"postal_lookup","arguments":{"postal_code":"1000001"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
				"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "postal_lookup"),
		} {
			if a.status != 200 || !strings.Contains(string(a.body), `"isError":true`) || !strings.Contains(string(a.body), `\"error\":\"braked\"`) || !strings.Contains(string(a.body), "Do not retry") {
				t.Errorf("%s: %d %s", era, a.status, a.body)
			}
		}
	}
	if a := s.mcpCall(secret.Reveal(), "utility_get_usage", `{}`); !passed(a) {
		t.Errorf("free tools: %s", a.body)
	}
	if a := s.mcpCall(secret.Reveal(), "utility_diagnose_mcp", `{}`); !strings.Contains(string(a.body), "spending brake is on") {
		t.Errorf("the diagnosis: %s", a.body)
	}
	if a := s.call("GET", lookUp, secret.Reveal(), ""); a.status != http.StatusTooManyRequests || a.json(t)["error"] != "braked" {
		t.Errorf("REST: %d %s", a.status, a.body)
	}
	if n := s.reserved()["mcp"]; n == 0 {
		t.Error("mcp is stopped")
	}
	if after := s.invocations(); after["postal"] != before["postal"] {
		t.Errorf("postal ran %d times", after["postal"]-before["postal"])
	}
	// The first is given back; those after it took nothing.
	if counts := s.used(key, thisMonthOf(c)); counts.Used != 1 || counts.Refunded != 1 || counts.Unstarted != 1 {
		t.Errorf("%+v", counts)
	}
	if _, err := s.Brake.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.set("2026-11-30T12:00:10Z")
	if a := s.lookUp(secret.Reveal()); !passed(a) {
		t.Errorf("after the release: %s", a.body)
	}
}

// TestBrakedForSome: where the brake stops one function, the others are served, and counted.
func TestBrakedForSome(t *testing.T) {
	s := dispatched(t, boot.Direct, account.Plans{"demo": usage.PerMonth(3)}, func(config *laptop.Config) {
		config.Brake = &laptop.Brake{Memory: config.Stores.Brake("drill"), ReleaseCommand: "release"}
	})
	s.Brake.Functions = []string{"convert"}
	secret, key := s.newKey("demo")
	if _, err := s.Brake.Trip(t.Context(), brake.ByHand("drill"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if a := s.mcpCall(secret.Reveal(), "convert_era", `{"date":"2026-11-30"}`); !strings.Contains(string(a.body), `\"error\":\"braked\"`) {
		t.Errorf("the stopped one: %s", a.body)
	}
	ok := 0
	for range 10 {
		if passed(s.lookUp(secret.Reveal())) {
			ok++
		}
	}
	if counts := s.used(key, thisMonth()); ok != 3 || counts.Used != 3 {
		t.Errorf("%d passed, %+v; want 3", ok, counts)
	}
}

// TestReplayOfDispatchedCalls: what a killed service had admitted is given back, unless mcp had
// answered.
func TestReplayOfDispatchedCalls(t *testing.T) {
	k := afterAKill(t)
	month := thisMonth()
	invocation := 0
	admitted := func(status string) string {
		invocation++
		line := strings.Replace(k.charge(month, ""), "{", fmt.Sprintf(`{"invocation":"i%d",`, invocation), 1)
		if status == "" {
			return line
		}
		report, err := json.Marshal(gateway.NewReport(time.Now(), fmt.Sprintf("i%d", invocation), status))
		if err != nil {
			t.Fatal(err)
		}
		return line + string(report) + "\n"
	}
	k.append(admitted("success"), admitted("timeout"), admitted(""))
	k.replays(month, 2, 2)
	k.replays(month, 2, 0) // it is remembered
	if err := os.Remove(k.position); err != nil {
		t.Fatal(err)
	}
	k.replays(month, 2, 2) // and were it not, no refund would be applied twice
	if counts := k.used(k.key, month); counts.Used != 1 {
		t.Errorf("%+v; want the answered call charged", counts)
	}
}
