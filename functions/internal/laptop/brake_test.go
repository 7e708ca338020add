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
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/usage"
)

// ceilings that the drills start with: those of some, and none for all other functions.
var ceilings = func() map[string]int {
	all := map[string]int{laptop.BrakeFunction: lambda.Unreserved}
	for name := range laptop.Defaults(nil) {
		all[name] = lambda.Unreserved
	}
	maps.Copy(all, map[string]int{"convert": 0, "external": 5, "postal": 7})
	return all
}()

func startWithBrake(t *testing.T, change func(*laptop.Config)) *service {
	t.Helper()
	return start(t, account.Plans{"demo": usage.PerMonth(-1)}, func(c *laptop.Config) {
		for name, n := range ceilings {
			if f, ok := c.Functions[name]; ok {
				f.Reserved = n
				c.Functions[name] = f
			}
		}
		c.Brake = &laptop.Brake{Memory: c.Stores.Brake(laptop.BrakeName(c.Gateway.Stage)), ReleaseCommand: "sekisho brake off"}
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
	return s.local(http.MethodPost, "topics/"+topic, string(body))
}

// reserved is the reserved concurrency of every function.
func (s *service) reserved() map[string]int {
	reserved := map[string]int{}
	for name, counts := range s.Functions.Counts() {
		reserved[name] = counts.Reserved
	}
	return reserved
}

// announcements are the brake's messages to finance.
func (s *service) announcements() (told []string) {
	s.t.Helper()
	var kept []events.SNSEntity
	if err := json.Unmarshal(s.local("GET", "topics/money", "").body, &kept); err != nil {
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
	if got := s.closed(); !slices.Equal(got, slices.Sorted(slices.Values(s.Brake.Methods))) {
		s.t.Errorf("methods %q are throttled to 0, want %q", got, s.Brake.Methods)
	}
}

// closed are the methods that are throttled to 0.
func (s *service) closed() []string {
	s.t.Helper()
	status, err := s.Brake.Status(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return status.Methods
}

func (s *service) wantRunning() {
	s.t.Helper()
	if got := s.reserved(); !maps.Equal(got, ceilings) {
		s.t.Errorf("ceilings %v, want %v as before the brake", got, ceilings)
	}
	if got := s.closed(); len(got) > 0 {
		s.t.Errorf("methods %q are still throttled to 0", got)
	}
	if a := s.local("GET", "stage", ""); !strings.Contains(string(a.body), `"unavailable_error":"unavailable"`) {
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
	case strings.Contains(body, `"error":"braked"`) && a.status == http.StatusTooManyRequests,
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

	if _, err := s.Brake.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantRunning()
	wait(t, &tr.passed, 60, "calls that pass after the release")
	tr.stop()
	tr.done.Wait()
	tr.others.Range(func(body, status any) bool {
		// A call that was under way when the brake went on or off.
		if !strings.Contains(body.(string), `unavailable`) && !strings.Contains(body.(string), `braked`) {
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
		if a.status != http.StatusTooManyRequests || p["error"] != "braked" || p["retryable"] != false || p["retryAfterMs"] != nil || !strings.Contains(p["hint"].(string), "Do not retry") {
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
	if a := s.call("POST", "/register", "", "{}"); a.status != http.StatusTooManyRequests {
		s.t.Errorf("register: %d %s", a.status, a.body)
	}
	// Where the operator leaves mcp running, its tools say the same.
	s.openMCP(-1, nil)
	if body := string(s.mcpCall(key, "postal.lookup", `{"postal_code":"1000001"}`).body); !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `\"error\":\"braked\"`) {
		s.t.Errorf("tool result: %s", body)
	}
	if body := string(s.mcpCall(key, "utility.get_usage", `{}`).body); !strings.Contains(body, "monthly_used") || strings.Contains(body, `"isError":true`) {
		s.t.Errorf("utility.get_usage: %s", body)
	}
	s.openMCP(0, &brake.Throttle{})
}

// openMCP sets what the brake set of mcp.
func (s *service) openMCP(reserved int, throttle *brake.Throttle) {
	s.t.Helper()
	if err := s.Functions.SetReserved("mcp", reserved); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Brake.Stage.Set(s.t.Context(), true, map[string]*brake.Throttle{"POST /mcp": throttle}); err != nil {
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

	if _, err := s.Brake.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantRunning()
	send("money", map[string]any{"Message": alarm(t), "Timestamp": early}, "older than the last release", s.wantRunning)
	send("money", map[string]any{"Message": alarm(t), "MessageAttributes": own}, "the brake's own message", s.wantRunning)
}

// TestBrakeByHand: put on and released through the service, over a restart with other
// ceilings.
func TestBrakeByHand(t *testing.T) {
	s := startWithBrake(t, nil)
	order := func(body string, want int) brake.Status {
		t.Helper()
		a := s.local("POST", "brake", body)
		var status brake.Status
		if err := json.Unmarshal(a.body, &status); a.status != want || err != nil {
			t.Fatalf("%s: %d %s, want %d", body, a.status, a.body, want)
		}
		return status
	}
	for range 2 { // the second one changes nothing
		if status := order(`{"on":true,"reason":"drill"}`, 200); !status.On || status.State != "on" || status.Why != "Put on by hand: drill" {
			t.Errorf("%+v", status)
		}
		s.wantStopped()
	}
	if told := s.announcements(); len(told) != 1 || !strings.Contains(told[0], "Put on by hand: drill") {
		t.Errorf("finance was told %q", told)
	}
	memory := s.stores.Brake(laptop.BrakeName("local"))
	s = startWithBrake(t, func(c *laptop.Config) { c.Brake.Memory = memory })
	if err := s.Brake.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantStopped()
	for _, bad := range []string{`{}`, `{"reason":"x"}`, `stop`, `{"on":"yes"}`} {
		order(bad, 400)
	}
	s.wantStopped()
	if status := order(`{"on":false}`, 200); status.On || status.State != "off" {
		t.Errorf("%+v", status)
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
	if got := slices.Sorted(slices.Values(s.Brake.Functions)); !slices.Equal(got, want) {
		t.Errorf("the brake stops %q, want %q", got, want)
	}
}

// TestTimeoutsAreTheContracts: a function that is given no timeout runs with that of AWS.
func TestTimeoutsAreTheContracts(t *testing.T) {
	s := startWithBrake(t, func(c *laptop.Config) { c.Functions = laptop.Defaults(c.Functions[laptop.Authorizer].Env) })
	for name, f := range s.Functions.Counts() {
		if want := table(t).Function(name).Timeout.Seconds(); f.TimeoutSeconds != want {
			t.Errorf("%s has %v s, the contract says %v", name, f.TimeoutSeconds, want)
		}
	}
}

// table is the contract, for its table of functions.
func table(t *testing.T) *contract.API {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	return api
}
