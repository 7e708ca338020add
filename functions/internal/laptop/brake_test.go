package laptop_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
)

// ceilings that the drills begin with: those of some, and none for all other functions.
var ceilings = func() map[string]int {
	all := map[string]int{laptop.BrakeFunction: apigateway.Unreserved}
	for name := range laptop.Defaults(nil) {
		all[name] = apigateway.Unreserved
	}
	maps.Copy(all, map[string]int{"convert": 0, "external": 5, "postal": 7})
	return all
}()

func startWithBrake(t *testing.T, change func(*laptop.Config)) *service {
	t.Helper()
	return start(t, account.Plans{"demo": -1}, func(c *laptop.Config) {
		for name, n := range ceilings {
			if f, ok := c.Functions[name]; ok {
				f.Reserved = n
				c.Functions[name] = f
			}
		}
		c.Brake = &laptop.Brake{Memory: c.Stores.Brake(laptop.BrakeName(c.Stage)), ReleaseCommand: "sekisho brake off"}
		if change != nil {
			change(c)
		}
	})
}

// alarm is the message of the live alarm.
func alarm(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "brake", "testdata", "alarm.json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), "demo-spend-rate", laptop.SpendAlarm)
}

// publish sends a message to a topic and waits until it was delivered.
func (s *service) publish(topic string, m map[string]any) answer {
	s.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.call(http.MethodPost, "/_local/topics/"+topic, "", string(body))
}

// reserved is the reserved concurrency of every function, as the gateway has it.
func (s *service) reserved() map[string]int {
	s.t.Helper()
	var functions map[string]struct {
		Reserved int `json:"reserved_concurrency"`
	}
	if err := json.Unmarshal(s.call("GET", "/_local/functions", "", "").body, &functions); err != nil {
		s.t.Fatal(err)
	}
	reserved := map[string]int{}
	for name, f := range functions {
		reserved[name] = f.Reserved
	}
	return reserved
}

// announcements are the brake's messages to finance.
func (s *service) announcements() (told []string) {
	s.t.Helper()
	var kept []events.SNSEntity
	if err := json.Unmarshal(s.call("GET", "/_local/topics/money", "", "").body, &kept); err != nil {
		s.t.Fatal(err)
	}
	for _, m := range kept {
		if _, own := m.MessageAttributes[brake.Mark]; own && m.Subject != "" {
			told = append(told, m.Subject+"\n"+m.Message)
		}
	}
	return told
}

func (s *service) wantStopped() {
	s.t.Helper()
	want := maps.Clone(ceilings)
	for name := range want {
		if table(s.t).Function(name).Braked {
			want[name] = 0
		}
	}
	if got := s.reserved(); !maps.Equal(got, want) {
		s.t.Errorf("ceilings %v, want %v", got, want)
	}
}

func (s *service) wantRunning() {
	s.t.Helper()
	if got := s.reserved(); !maps.Equal(got, ceilings) {
		s.t.Errorf("ceilings %v, want %v as before the brake", got, ceilings)
	}
	if a := s.call("GET", "/_local/stage", "", ""); !strings.Contains(string(a.body), `"unavailable_error":"unavailable"`) {
		s.t.Errorf("stage %s", a.body)
	}
}

// mcpCall calls a tool over MCP.
func (s *service) mcpCall(key, tool, arguments string) answer {
	s.t.Helper()
	return s.call("POST", "/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`,
		"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")
}

// traffic is callers in a loop, by REST and by MCP.
type traffic struct {
	passed, braked atomic.Int64
	others         sync.Map // what else was answered
	stop           context.CancelFunc
	done           sync.WaitGroup
}

func (s *service) startTraffic(key string, callers int) *traffic {
	ctx, stop := context.WithCancel(s.t.Context())
	tr := &traffic{stop: stop}
	for i := range callers {
		tr.done.Go(func() {
			for ctx.Err() == nil {
				var a answer
				switch i % 3 {
				case 0:
					a = s.call("GET", "/v1/postal/1000001", key, "")
				case 1:
					a = s.call("GET", "/v1/calendar/holidays?year=2026", key, "")
				default:
					a = s.mcpCall(key, "postal.lookup", `{"postal_code":"1000001"}`)
				}
				tr.count(a)
			}
		})
	}
	s.t.Cleanup(func() { stop(); tr.done.Wait() })
	return tr
}

func (tr *traffic) count(a answer) {
	switch body := string(a.body); {
	case a.status == http.StatusOK && !strings.Contains(body, `"isError":true`):
		tr.passed.Add(1)
	case strings.Contains(body, `"error":"braked"`) && a.status == http.StatusServiceUnavailable,
		strings.Contains(body, `\"error\":\"braked\"`) && a.status == http.StatusOK:
		tr.braked.Add(1)
	default:
		tr.others.Store(body, a.status)
	}
}

// wait until a count has grown by n; the callers make it grow.
func wait(t *testing.T, count *atomic.Int64, n int64, what string) {
	t.Helper()
	from, deadline := count.Load(), time.Now().Add(time.Minute)
	for count.Load() < from+n {
		if time.Now().After(deadline) {
			t.Fatalf("not %d %s within a minute", n, what)
		}
		time.Sleep(time.Millisecond)
	}
}

// starts counts the invocations of the functions that the brake stops.
func (s *service) starts() map[string]int {
	counts := s.invocations()
	maps.DeleteFunc(counts, func(name string, _ int) bool { return !table(s.t).Function(name).Braked })
	return counts
}

// TestDrill: traffic runs, the alarm is published, and spending stops.
func TestDrill(t *testing.T) {
	s := startWithBrake(t, nil)
	secret, key := s.newKey("demo")
	tr := s.startTraffic(secret.Reveal(), 6)
	wait(t, &tr.passed, 60, "calls that pass")

	published := time.Now()
	if a := s.publish("money", map[string]any{"Subject": "ALARM", "Message": alarm(t)}); a.status != http.StatusOK {
		t.Fatalf("publish: %d %s", a.status, a.body)
	}
	stopped := s.starts()
	t.Logf("%s from the message to the last function stopped", time.Since(published).Round(time.Millisecond))
	s.wantStopped()
	wait(t, &tr.braked, 60, "calls that are refused")
	if now := s.starts(); !maps.Equal(now, stopped) {
		t.Errorf("functions started after the brake was on: %v, then %v", stopped, now)
	}
	if told := s.announcements(); len(told) != 1 || !strings.Contains(told[0], "greater than the threshold (1.0)") || !strings.Contains(told[0], "external (5 reserved)") {
		t.Errorf("finance was told %q", told)
	}
	s.checkBraked(secret.Reveal())

	if _, err := s.stack.Brake.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantRunning()
	wait(t, &tr.passed, 60, "calls that pass after the release")
	tr.stop()
	tr.done.Wait()
	tr.others.Range(func(body, status any) bool {
		// A call that was under way when the brake went on or off.
		if !strings.Contains(body.(string), `unavailable`) {
			t.Errorf("an agent met %v: %v", status, body)
		}
		return true
	})
	if counts := s.used(key, thisMonth()); counts.Used > tr.passed.Load() {
		t.Errorf("%d charged, %d calls passed: refusals were charged", counts.Used, tr.passed.Load())
	}
}

// checkBraked looks at what agents and people see while the brake is on.
func (s *service) checkBraked(key string) {
	s.t.Helper()
	for name, a := range map[string]answer{
		"REST": s.call("GET", "/v1/postal/1000001", key, ""),
		"MCP":  s.mcpCall(key, "postal.lookup", `{"postal_code":"1000001"}`),
	} {
		p := a.json(s.t)
		if a.status != http.StatusServiceUnavailable || p["error"] != "braked" || p["retryable"] != false || p["retryAfterMs"] != nil || !strings.Contains(p["hint"].(string), "do not retry") {
			s.t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if after := a.header.Get("Retry-After"); after != "" {
			s.t.Errorf("%s: Retry-After %s", name, after)
		}
	}
	if a := s.call("GET", "/v1/health", "", ""); a.status != http.StatusOK {
		s.t.Errorf("health: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/v1/user/usage", "/v1/user/tool-settings"} {
		if a := s.call("GET", path, key, ""); a.status != http.StatusOK {
			s.t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	// Where mcp itself is left running, the tool says the same.
	if err := s.stack.SetReserved("mcp", -1); err != nil {
		s.t.Fatal(err)
	}
	if body := string(s.mcpCall(key, "postal.lookup", `{"postal_code":"1000001"}`).body); !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `\"error\":\"braked\"`) {
		s.t.Errorf("tool result: %s", body)
	}
	if body := string(s.mcpCall(key, "utility.get_usage", `{}`).body); !strings.Contains(body, "monthly_used") || strings.Contains(body, `"isError":true`) {
		s.t.Errorf("utility.get_usage: %s", body)
	}
	if err := s.stack.SetReserved("mcp", 0); err != nil {
		s.t.Fatal(err)
	}
}

// TestMessagesWithoutEffect, each of them logged with its reason.
func TestMessagesWithoutEffect(t *testing.T) {
	s := startWithBrake(t, nil)
	ok := strings.Replace(alarm(t), `"NewStateValue": "ALARM"`, `"NewStateValue": "OK"`, 1)
	early := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)
	own := map[string]any{brake.Mark: map[string]string{"Type": "String", "Value": "announcement"}}
	send := func(topic string, m map[string]any, why string, check func()) {
		t.Helper()
		logged := strings.Count(s.log.String(), why)
		told := len(s.announcements())
		if a := s.publish(topic, m); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", why, a.status, a.body)
		}
		check()
		if strings.Count(s.log.String(), why) <= logged {
			t.Errorf("the log does not say %q", why)
		}
		if now := len(s.announcements()); now != told {
			t.Errorf("%s: finance was told %d times, before it %d times", why, now, told)
		}
	}
	send("other", map[string]any{"Message": alarm(t)}, "another topic", s.wantRunning)
	send("money", map[string]any{"Message": ok}, "releases nothing", s.wantRunning)
	send("money", map[string]any{"Message": alarm(t)[:99]}, "can't be read", s.wantRunning)
	send("money", map[string]any{"Message": "stop!"}, "neither an alarm nor a budget", s.wantRunning)

	if a := s.publish("money", map[string]any{"Message": alarm(t)}); a.status != http.StatusOK {
		t.Fatal(a.status)
	}
	s.wantStopped()
	told := s.announcements()
	if len(told) != 1 {
		t.Fatalf("finance was told %d times, want 1", len(told))
	}
	send("money", map[string]any{"Message": alarm(t)}, `"effect":"already braked"`, s.wantStopped)
	send("money", map[string]any{"Message": ok}, "releases nothing", s.wantStopped)
	send("money", map[string]any{"Message": ok, "Timestamp": early}, "releases nothing", s.wantStopped)
	send("money", map[string]any{"Message": told[0]}, "neither an alarm nor a budget", s.wantStopped)
	send("other", map[string]any{"Message": ok}, "another topic", s.wantStopped)

	if _, err := s.stack.Brake.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantRunning()
	send("money", map[string]any{"Message": alarm(t), "Timestamp": early}, "older than the last release", s.wantRunning)
	send("money", map[string]any{"Message": alarm(t), "MessageAttributes": own}, "the brake's own message", s.wantRunning)
}

// TestBrakeSurvivesARestart, and commands of another process are followed.
func TestBrakeSurvivesARestart(t *testing.T) {
	s := startWithBrake(t, nil)
	memory := s.stores.Brake(laptop.BrakeName("local"))
	if err := brake.Ask(t.Context(), memory, true, brake.Cause{Name: "hand", Text: "By hand."}, time.Now()); err != nil {
		t.Fatal(err)
	}
	// What was asked for while no service ran is done before the first request.
	if err := s.stack.Brake.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantStopped()
	again := startWithBrake(t, func(c *laptop.Config) { c.Brake.Memory = memory })
	if err := again.stack.Brake.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.wantStopped()

	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { again.stack.FollowBrake(ctx) })
	defer func() { cancel(); following.Wait() }()
	if err := brake.Ask(t.Context(), memory, false, brake.Cause{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		state, err := memory.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.Phase == brake.Off {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %s after a minute", state.Phase)
		}
	}
	again.wantRunning()
}

// TestOnlyThisMachinePublishes: a message can stop the service.
func TestOnlyThisMachinePublishes(t *testing.T) {
	s := startWithBrake(t, nil)
	body, _ := json.Marshal(map[string]string{"Message": alarm(t)})
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"a web page":       {string(body), []string{"Origin", "https://example.com"}, 403},
		"a form":           {string(body), []string{"Content-Type", "text/plain"}, 400},
		"no JSON":          {"stop", nil, 400},
		"nothing in it":    {"{}", nil, 400},
		"more than 256 KB": {`{"Message":"` + strings.Repeat("x", 256<<10) + `"}`, nil, 400},
	} {
		if a := s.call("POST", "/_local/topics/money", "", c.body, c.header...); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, c.status)
		}
	}
	s.wantRunning()
}

// TestTheBrakeStopsWhatTheContractSays: every function that serves calls, except those that
// its table spares.
func TestTheBrakeStopsWhatTheContractSays(t *testing.T) {
	s := startWithBrake(t, nil)
	var want []string
	for _, name := range table(t).Functions() {
		if table(t).Function(name).Braked {
			want = append(want, name)
		}
	}
	if got := slices.Sorted(slices.Values(s.stack.Brake.Functions)); !slices.Equal(got, want) {
		t.Errorf("the brake stops %q, want %q", got, want)
	}
}

// TestTimeoutsAreTheContracts: a function that is given no timeout runs with that of AWS.
func TestTimeoutsAreTheContracts(t *testing.T) {
	s := startWithBrake(t, func(c *laptop.Config) { c.Functions = laptop.Defaults(c.Functions[laptop.Authorizer].Env) })
	var served map[string]struct {
		Seconds float64 `json:"timeout_seconds"`
	}
	if err := json.Unmarshal(s.call("GET", "/_local/functions", "", "").body, &served); err != nil {
		t.Fatal(err)
	}
	for name, f := range served {
		if want := table(t).Function(name).Timeout.Seconds(); f.Seconds != want {
			t.Errorf("%s has %v s, the contract says %v", name, f.Seconds, want)
		}
	}
}

// table is the contract, for its table of functions.
func table(t *testing.T) *contract.API {
	t.Helper()
	api, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	return api
}
