package laptop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

const lookUp = "/v1/postal/1000001"

// TestEachLimitSaysItsOwn: the rate, the day and their turn, as REST and MCP callers read them.
func TestEachLimitSaysItsOwn(t *testing.T) {
	c := newClock("2026-11-30T23:59:50.200Z")
	plan := usage.Limits{Monthly: 100, Daily: 3, Rate: ratelimit.Limit{PerSecond: 1, Burst: 2}}
	s := start(t, account.Plans{"demo": plan}, func(config *laptop.Config) { config.Now = c.now })
	secret, key := s.newKey("demo")
	want := func(a answer, status int, members map[string]any) {
		t.Helper()
		body := a.json(t)
		for name, value := range members {
			if body[name] != value {
				t.Errorf("%s is %v, want %v: %s", name, body[name], value, a.body)
			}
		}
		if a.status != status {
			t.Errorf("%d %s, want %d", a.status, a.body, status)
		}
	}
	get := func() answer { t.Helper(); return s.call("GET", lookUp, secret.Reveal(), "") }

	first := get()
	want(first, 200, nil)
	if limit := first.header.Get("RateLimit"); limit != `"monthly";r=99;t=10, "daily";r=2;t=10, "rate";r=1;t=1` {
		t.Errorf("RateLimit: %s", limit)
	}
	want(get(), 200, nil)
	refused := get()
	want(refused, http.StatusTooManyRequests, map[string]any{
		"error": "rate_limited", "classification": "transient", "retryable": true, "retryAfterMs": 1000.0,
		"limit_period": "rate", "limit": 2.0, "used": 2.0,
	})
	if refused.header.Get("Retry-After") != "1" || !strings.HasPrefix(refused.header.Get("RateLimit"), `"monthly";r=98;t=10, `) {
		t.Errorf("headers %v", refused.header)
	}
	c.set("2026-11-30T23:59:52.200Z")
	want(get(), 200, nil)
	daily := map[string]any{
		"error": "limit_exceeded", "limit_period": "daily", "limit": 3.0, "used": 3.0, "retryable": false,
		"retryAfterMs": 8000.0, "reset_at": "2026-12-01T00:00:00.000Z",
	}
	want(get(), http.StatusTooManyRequests, daily)
	over := s.mcpCall(secret.Reveal(), "postal_lookup", `{"postal_code":"1000001"}`)
	want(answer{over.status, over.header, textOf(t, over)}, http.StatusOK, daily)
	c.set("2026-12-01T00:00:00.000Z")
	want(get(), 200, nil)
	if counts := s.used(key, usage.PeriodOf(c.now()).Before(1)); counts.Used != 3 || counts.Denied != 3 {
		t.Errorf("November: %+v; want 3 used and 3 denied", counts)
	}
}

// textOf is the text of a tool's result.
func textOf(t *testing.T, a answer) []byte {
	t.Helper()
	var response struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(a.body, &response); err != nil || len(response.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, a.body)
	}
	return []byte(response.Result.Content[0].Text)
}

// TestAnAgentSeesWhatIsLeft with every result of a counted call, in both eras.
func TestAnAgentSeesWhatIsLeft(t *testing.T) {
	c := newClock("2026-11-30T12:00:00.500Z")
	plan := usage.Limits{Monthly: 10, Daily: 1}
	s := start(t, account.Plans{"demo": plan}, func(config *laptop.Config) { config.Now = c.now })
	secret, _ := s.newKey("demo")
	type quota struct {
		Limit, Remaining int64
		ResetAt          string `json:"reset_at"`
	}
	call := func(tool, arguments, version string, header ...string) map[string]quota {
		t.Helper()
		params := `{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
		a := s.call("POST", "/mcp", secret.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`,
			append([]string{"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", version}, header...)...)
		var response struct {
			Result struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal(a.body, &response); err != nil {
			t.Fatalf("%v: %s", err, a.body)
		}
		var quotas map[string]quota
		if raw := response.Result.Meta["io.sekisho/quota"]; raw != nil {
			if err := json.Unmarshal(raw, &quotas); err != nil {
				t.Fatal(err)
			}
		}
		return quotas
	}
	legacy := call("postal_lookup", `{"postal_code":"1000001"}`, "2025-11-25")
	if legacy["monthly"] != (quota{10, 9, "2026-12-01T00:00:00.000Z"}) || legacy["daily"] != (quota{1, 0, "2026-12-01T00:00:00.000Z"}) {
		t.Errorf("after a call: %v", legacy)
	}
	modern := call("postal_lookup", `{"postal_code":"1000001"}`, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "postal_lookup")
	if modern["monthly"].Remaining != 9 || modern["daily"].Remaining != 0 {
		t.Errorf("after a refusal: %v", modern)
	}
	if free := call("utility_get_usage", `{}`, "2025-11-25"); free != nil {
		t.Errorf("a free call says %v", free)
	}
}

// TestARefundStaysInItsDay: a call that fails across midnight gives back to the day, and the
// month, that it was taken from.
func TestARefundStaysInItsDay(t *testing.T) {
	c := newClock("2026-11-29T23:59:59.900Z")
	s := start(t, account.Plans{"demo": {Monthly: 5, Daily: 5}}, func(config *laptop.Config) {
		config.Now = c.now
		replace(config, "postal", boot.Handle(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			c.set("2026-11-30T00:00:01Z")
			return events.APIGatewayProxyResponse{StatusCode: 500, Body: "{}"}, nil
		}))
	})
	secret, key := s.newKey("demo")
	s.call("GET", "/v1/calendar/holidays?year=2026", secret.Reveal(), "")
	s.call("GET", lookUp, secret.Reveal(), "")
	s.call("GET", "/v1/calendar/holidays?year=2026", secret.Reveal(), "")
	counts := s.used(key, usage.PeriodOf(c.now()))
	yesterday, today := usage.DayOf(c.now().AddDate(0, 0, -1)), usage.DayOf(c.now())
	if counts.Used != 2 || counts.Refunded != 1 || counts.Days[yesterday] != 1 || counts.Days[today] != 1 {
		t.Errorf("%+v; want one unit on each day, and one given back", counts)
	}
}

// TestHistory: months by tool and the days of one, free of charge at zero quota too.
func TestHistory(t *testing.T) {
	c := newClock("2026-10-05T10:00:00Z")
	s := start(t, account.Plans{"demo": usage.PerMonth(2)}, func(config *laptop.Config) { config.Now = c.now })
	secret, _ := s.newKey("demo")
	call := func(path string) answer { t.Helper(); return s.call("GET", path, secret.Reveal(), "") }
	call(lookUp)
	c.set("2026-11-02T10:00:00Z")
	call(lookUp)
	call("/v1/calendar/holidays?year=2026")
	call(lookUp) // denied
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	type month struct {
		Month                  string
		Used, Admitted, Denied int64
		Tools                  []struct {
			Tool     string
			Admitted int64
		}
	}
	var history struct {
		Months []month
		Month  string
		Days   []struct {
			Day  string
			Used int64
		}
	}
	read := func(query string) {
		t.Helper()
		a := call("/v1/user/usage/history" + query)
		if err := json.Unmarshal(a.body, &history); err != nil || a.status != 200 {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
	}
	read("")
	if len(history.Months) != 13 || history.Months[12].Month != "2025-11" || history.Months[1].Used != 1 {
		t.Errorf("months %+v", history.Months)
	}
	if m := history.Months[0]; m.Month != "2026-11" || m.Used != 2 || m.Admitted != 2 || m.Denied != 1 || len(m.Tools) != 2 || m.Tools[1].Tool != "postal.lookup" {
		t.Errorf("this month: %+v", m)
	}
	if len(history.Days) != 2 || history.Days[1].Day != "2026-11-02" || history.Days[1].Used != 2 || history.Days[0].Used != 0 {
		t.Errorf("days %+v", history.Days)
	}
	if read("?month=2026-10"); history.Month != "2026-10" || len(history.Days) != 31 || history.Days[4].Used != 1 {
		t.Errorf("the days of October: %s %+v", history.Month, history.Days)
	}
	for query, code := range map[string]string{"?month=2025-10": "out_of_range", "?month=2026-12": "out_of_range", "?month=soon": "invalid_argument"} {
		if a := call("/v1/user/usage/history" + query); a.status != 400 || a.json(t)["error"] != code {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// TestHistorySaysWhatIsLeft of each limit of the plan, over the turn of a month too: there the rate's
// calls at once are still those of before.
func TestHistorySaysWhatIsLeft(t *testing.T) {
	c := newClock("2026-11-30T23:59:59.500Z")
	plan := usage.Limits{Monthly: 100, Daily: 10, Rate: ratelimit.Limit{PerSecond: 0.5, Burst: 4}}
	s := start(t, account.Plans{"demo": plan, "free": usage.NoLimits}, func(config *laptop.Config) {
		config.Now = c.now
		config.Functions["account"].Env[boot.UpgradeURL] = "https://example.com/plans"
	})
	secret, _ := s.newKey("demo")
	read := func(secret string) string {
		t.Helper()
		var history struct {
			Now        string
			UpgradeURL string `json:"upgrade_url"`
			Limits     []struct {
				Period                 string `json:"limit_period"`
				Limit, Used, Remaining int64
				Length                 int64  `json:"length_ms"`
				ResetAt                string `json:"reset_at"`
			}
		}
		a := s.call("GET", "/v1/user/usage/history", secret, "")
		if err := json.Unmarshal(a.body, &history); err != nil || a.status != 200 {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		return fmt.Sprint(history)
	}
	for range 3 {
		s.call("GET", lookUp, secret.Reveal(), "")
	}
	if got, want := read(secret.Reveal()), "{2026-11-30T23:59:59.500Z https://example.com/plans ["+
		"{monthly 100 3 97 2592000000 2026-12-01T00:00:00.000Z} {daily 10 3 7 86400000 2026-12-01T00:00:00.000Z} "+
		"{rate 4 3 1 8000 2026-12-01T00:00:05.500Z}]}"; got != want {
		t.Errorf("before the turn\n%s, want\n%s", got, want)
	}
	c.set("2026-12-01T00:00:01.500Z")
	if got, want := read(secret.Reveal()), "{2026-12-01T00:00:01.500Z https://example.com/plans ["+
		"{monthly 100 0 100 2678400000 2027-01-01T00:00:00.000Z} {daily 10 0 10 86400000 2026-12-02T00:00:00.000Z} "+
		"{rate 4 2 2 8000 2026-12-01T00:00:05.500Z}]}"; got != want {
		t.Errorf("after the turn\n%s, want\n%s", got, want)
	}
	unlimited, _ := s.newKey("free")
	if got, want := read(unlimited.Reveal()), "{2026-12-01T00:00:01.500Z https://example.com/plans []}"; got != want {
		t.Errorf("without limits\n%s, want\n%s", got, want)
	}
}

// TestThresholds: of many calls at once, the one that crosses a mark is told of, once.
func TestThresholds(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(10)}, func(c *laptop.Config) {
		f := c.Functions[laptop.Authorizer]
		f.Env[boot.UsagePercent] = "80,100"
	})
	secret, key := s.newKey("demo")
	for range 12 {
		s.call("GET", lookUp, secret.Reveal(), "")
	}
	s.used(key, thisMonth()) // settles
	var told []events.SNSEntity
	if err := json.Unmarshal(s.local("GET", "topics/"+laptop.UsageTopic, "").body, &told); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || !strings.Contains(told[0].Message, `"used": 8`) || !strings.Contains(told[1].Subject, "100 %") {
		t.Errorf("told %+v; want 80 and 100 %%, once each", told)
	}
}
