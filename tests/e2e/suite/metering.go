package suite

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func testHealth(t *testing.T, g Target) {
	before := g.started(t)
	a := g.get(t, "/v1/health", "")
	if a.Status != http.StatusOK || string(a.Body) != `{"status":"ok"}` {
		t.Errorf("health: %s", a)
	}
	after := g.started(t)
	for name := range after {
		if after[name] != before[name] {
			t.Errorf("health started %s", name)
		}
	}
}

func testExactREST(t *testing.T, g Target) {
	testExact(t, g, func(k key) (bool, string) {
		a := g.get(t, "/v1/postal/1000001", k.Secret)
		switch a.Status {
		case http.StatusOK:
			return true, ""
		case http.StatusTooManyRequests:
			p := a.problem(t)
			wait, err := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64)
			if err != nil || p.RetryAfterMs == nil || *p.RetryAfterMs != wait*1000 {
				t.Errorf("Retry-After %q and the body's %v differ", a.Header.Get("Retry-After"), p.RetryAfterMs)
			}
			return false, quotaFault(p)
		}
		return false, a.String()
	})
}

func testExactMCP(t *testing.T, g Target) {
	testExact(t, g, func(k key) (bool, string) {
		result := g.callTool(t, k.Secret, "postal.lookup", `{"postal_code":"100-0001"}`).tool(t)
		if !result.IsError {
			return true, ""
		}
		return false, quotaFault(result.problem(t))
	})
}

// quotaFault says what is wrong with the refusal of a call over the limit.
func quotaFault(p problem) string {
	if p.Error != "limit_exceeded" || p.Retryable || p.Limit == nil || *p.Limit != Limit || p.Used == nil || *p.Used != Limit ||
		!regexp.MustCompile(`^\d{4}-\d\d-01T00:00:00\.000Z$`).MatchString(p.ResetAt) {
		return fmt.Sprintf("%+v", p)
	}
	return ""
}

// testExact sends 100 concurrent calls against a limit of 50.
func testExact(t *testing.T, g Target, call func(key) (passed bool, fault string)) {
	const calls = 2 * Limit
	for range g.Repeats {
		k := g.newKey(t)
		before := g.started(t)
		passed := together(calls, func(int) bool {
			ok, fault := call(k)
			if fault != "" {
				t.Error(fault)
			}
			return ok
		})
		ran := g.started(t)["postal"] - before["postal"]
		u := g.usageOf(t, k)
		if passed != Limit || u.Used != Limit || *u.Remaining != 0 || g.LocalToken != "" && ran != Limit {
			t.Errorf("%d passed, %d used, %d remaining, %d invocations; want %d, %d, 0, %d",
				passed, u.Used, *u.Remaining, ran, Limit, Limit, Limit)
		}
	}
}

func testFailures(t *testing.T, g Target) {
	k := g.newKey(t)
	for path, want := range map[string]int{
		"/v1/postal/0000000": 404, "/v1/postal/abc": 400, "/v1/calendar/holidays": 400,
		"/v1/calendar/holidays?year=1": 400, "/v1/convert/units?value=1&from=m&to=kg": 400,
	} {
		if a := g.get(t, path, k.Secret); a.Status != want {
			t.Errorf("%s: %s, want %d", path, a, want)
		} else {
			a.problem(t)
		}
	}
	if r := g.callTool(t, k.Secret, "postal.lookup", `{"postal_code":"0000000"}`).tool(t); r.problem(t).Error != "not_found" {
		t.Errorf("tool call: %+v", r)
	}
	if a := g.get(t, "/v1/postal/1000001", k.Secret); a.Status != http.StatusOK {
		t.Errorf("good call: %s", a)
	}
	g.settles(t, k, 1)
}

func (g Target) exhaust(t testing.TB, k key) {
	t.Helper()
	if n := together(Limit, func(int) bool { return g.get(t, "/v1/postal/1000001", k.Secret).Status == 200 }); n != Limit {
		t.Fatalf("only %d of %d calls within the limit passed", n, Limit)
	}
}

func testZeroQuota(t *testing.T, g Target) {
	k := g.newKey(t)
	g.exhaust(t, k)
	g.startsNothing(t, func() {
		if a := g.get(t, "/v1/postal/1000001", k.Secret); a.Status != 429 || quotaFault(a.problem(t)) != "" {
			t.Errorf("over the limit: %s", a)
		}
		u := g.usageOf(t, k)
		if u.Plan != Plan || u.Period != "monthly" || *u.Limit != Limit || u.Used != Limit || *u.Remaining != 0 {
			t.Errorf("usage: %+v", u)
		}
		if reset, err := time.Parse("2006-01-02T15:04:05.000Z", u.ResetAt); err != nil || !reset.After(time.Now()) || reset.Day() != 1 {
			t.Errorf("reset_at %q", u.ResetAt)
		}
		if r := g.callTool(t, k.Secret, "utility.get_usage", `{}`).tool(t); r.IsError || !strings.Contains(r.Content[0].Text, `"remaining":0`) {
			t.Errorf("utility.get_usage: %+v", r)
		}
		r := g.callTool(t, k.Secret, "utility.diagnose_mcp", `{}`).tool(t)
		var d struct {
			OK     bool
			Advice string
			Checks []struct {
				Name string
				OK   bool
			}
		}
		decode(t, r.StructuredContent, &d)
		if r.IsError || len(d.Checks) != 5 || d.OK || !strings.Contains(d.Advice, "limit") {
			t.Errorf("utility.diagnose_mcp: %+v", r)
		}
		for _, c := range d.Checks {
			if c.OK == (c.Name == "usage") {
				t.Errorf("diagnosis at zero quota: all but usage must be ok: %s", r.StructuredContent)
			}
		}
		if a := g.get(t, "/v1/user/tool-settings", k.Secret); a.Status != 200 {
			t.Errorf("tool settings: %s", a)
		}
	})
	if used := g.usageOf(t, k).Used; used != Limit {
		t.Errorf("diagnosis and refusals changed monthly_used to %d", used)
	}
}

func testRateLimitHeaders(t *testing.T, g Target) {
	k := g.newKey(t)
	a := g.get(t, "/v1/postal/1000001", k.Secret)
	if p := a.Header.Get("RateLimit-Policy"); !regexp.MustCompile(`^"monthly";q=50;w=\d+$`).MatchString(p) {
		t.Errorf("RateLimit-Policy %q", p)
	}
	if l := a.Header.Get("RateLimit"); !regexp.MustCompile(`^"monthly";r=49;t=\d+$`).MatchString(l) {
		t.Errorf("RateLimit %q", l)
	}
}

func testUsageReport(t *testing.T, g Target) {
	k := g.newKey(t)
	for range 3 {
		g.get(t, "/v1/postal/1000001", k.Secret)
	}
	rows, err := csv.NewReader(strings.NewReader(g.Sekisho(t, "usage", "--format", "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(rows[0], ",") != "meter,user,plan,name,month,limit,used,remaining,refunded,denied,apps" {
		t.Errorf("header %v", rows[0])
	}
	for _, row := range rows[1:] {
		if row[0] == k.ID {
			want := []string{k.ID, k.User, Plan, "", time.Now().UTC().Format("2006-01"), "50", "3", "47", "0", "0", ""} // no app has signed in
			if strings.Join(row, ",") != strings.Join(want, ",") {
				t.Errorf("row %v, want %v", row, want)
			}
			return
		}
	}
	t.Errorf("no row for %s", k.ID)
}
