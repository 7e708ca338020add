package gateway_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// TestContextTravels: what the authorizer hands on, the function and the access log get.
func TestContextTravels(t *testing.T) {
	sent := gateway.ContextVariables() // every value is there, and each is another
	values := sent.Values()
	for name, value := range values {
		if !regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(name) {
			t.Errorf("API Gateway takes no name like %q", name)
		}
		if _, ok := value.(string); !ok {
			t.Errorf("%s is %T, want a text", name, value)
		}
	}
	values["principalId"], values["integrationLatency"] = "key_a", 12.5 // API Gateway's own
	if got := gateway.ParseAuthorizerContext(values); got != sent {
		t.Errorf("got %+v, want %+v", got, sent)
	}
	for name, variable := range gateway.AccessLogFormat() {
		if value, ok := values[name]; ok && value != variable {
			t.Errorf("the access log takes %s from %s, and the authorizer says %s", name, variable, value)
		}
	}
	if got := (gateway.AuthorizerContext{}).Values(); len(got) != 0 {
		t.Errorf("an empty context has %v", got)
	}
	refused := gateway.AuthorizerContext{Admission: gateway.Admission{Denial: "limit_exceeded"}}.Values()
	if want := reflect.TypeFor[gateway.Refusal]().NumField() + 1; len(refused) != want {
		t.Errorf("a refusal has %v, want %d values: the gateway's answer substitutes empty ones too", refused, want)
	}
}

// TestQuotas: what a function and an agent read is what the authorizer wrote.
func TestQuotas(t *testing.T) {
	quotas := []usage.Quota{
		{Window: usage.Monthly, Limit: 1000, Remaining: 990, Length: 30 * 24 * time.Hour, Reset: 90 * time.Second},
		{Window: usage.PerSecond, Limit: 10, Remaining: 0, Length: 5 * time.Second, Reset: 1200 * time.Millisecond},
	}
	q := gateway.RenderQuotas(quotas)
	if q.RateLimit != `"monthly";r=990;t=90, "rate";r=0;t=2` || q.RateLimitPolicy != `"monthly";q=1000;w=2592000, "rate";q=10;w=5` {
		t.Errorf("%+v", q)
	}
	quotas[1].Reset = 2 * time.Second // rounded up
	if got := gateway.ParseQuotas(q); !slices.Equal(got, quotas) {
		t.Errorf("%+v, want %+v", got, quotas)
	}
	for _, broken := range []gateway.Quota{{}, {RateLimit: q.RateLimit}, {RateLimit: "x", RateLimitPolicy: "y"}, {RateLimit: q.RateLimit, RateLimitPolicy: `"daily";q=1;w=1`}} {
		if got := gateway.ParseQuotas(broken); len(got) != 0 {
			t.Errorf("%+v: %+v", broken, got)
		}
	}
}

// TestRefusals: what a gateway response substitutes needs no escaping in JSON.
func TestRefusals(t *testing.T) {
	quota := &problem.Quota{Limit: 5, Used: 5, Period: "daily", ResetAt: "2026-12-01T00:00:00.000Z", UpgradeURL: "https://example.com"}
	for code, q := range map[problem.Code]*problem.Quota{problem.LimitExceeded: quota, problem.RateLimited: quota, problem.Throttled: nil} {
		p := problem.Denial(code, q, 1500*time.Millisecond)
		if p.Status != 429 {
			t.Errorf("%s has the status %d, and all denials share one answer of the gateway", code, p.Status)
		}
		r := gateway.RefusalOf(p)
		for _, text := range []string{r.Title, r.Classification, r.Hint, r.LimitPeriod, r.ResetAt, r.UpgradeURL} {
			if quoted, _ := json.Marshal(text); string(quoted) != `"`+text+`"` {
				t.Errorf("%s: %s needs escaping", code, text)
			}
		}
		if r.RetryAfter != "2" || r.RetryAfterMs != "2000" {
			t.Errorf("%s: header %s, body %s ms", code, r.RetryAfter, r.RetryAfterMs)
		}
		if limit := map[bool]string{true: "null", false: "5"}[q == nil]; r.Limit != limit || r.Used != limit {
			t.Errorf("%s: limit %s, used %s", code, r.Limit, r.Used)
		}
	}
}

func TestCrossing(t *testing.T) {
	c := gateway.Crossing{Percent: 80, Used: 800, Limit: 1000}
	if got, ok := (gateway.Admission{Crossed: c.String()}).Crossing(); !ok || got != c {
		t.Errorf("%s: %+v, %v", c, got, ok)
	}
	for _, text := range []string{"", "-", "pct:", "pct:80:x:1"} {
		if got, ok := (gateway.Admission{Crossed: text}).Crossing(); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestRecord: a field without a value is empty, and a client has no say in any of them.
func TestRecord(t *testing.T) {
	line, err := json.Marshal(gateway.RecordNames())
	if err != nil {
		t.Fatal(err)
	}
	r, err := gateway.ParseAccessRecord(line)
	if err != nil || r != gateway.RecordNames() {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = gateway.ParseAccessRecord([]byte(strings.ReplaceAll(string(line), `"`+r.Denial+`":"`+r.Denial+`"`, `"`+r.Denial+`":"-"`)))
	if err != nil || r.Denial != "" {
		t.Errorf("%+v, %v", r, err)
	}
	for name, variable := range gateway.AccessLogFormat() {
		switch variable {
		case "$context.requestId", "$context.httpMethod", "$context.path", "$context.protocol", "$context.identity.userAgent":
			t.Errorf("%s is %s, which a client can choose", name, variable)
		}
	}
}

// TestNotStartedTravels: what a gateway response substitutes are the variables of its own code.
func TestNotStartedTravels(t *testing.T) {
	n := gateway.NotStarted{Error: "braked", Classification: "permanent", Retryable: "false", RetryAfterMs: "null"}
	variables := n.Variables("throttled")
	v := gateway.NotStartedVariables("throttled")
	got := gateway.NotStarted{}
	for to, variable := range map[*string]string{&got.Error: v.Error, &got.Classification: v.Classification, &got.Retryable: v.Retryable, &got.RetryAfterMs: v.RetryAfterMs} {
		name, ok := strings.CutPrefix(variable, "$stageVariables.throttled_")
		if !ok {
			t.Errorf("the response substitutes %s", variable)
		}
		*to = variables["throttled_"+name]
	}
	if got != n || len(variables) != 4 {
		t.Errorf("got %+v out of %v, want %+v", got, variables, n)
	}
}

// TestSettleFilter: CloudWatch Logs, which reads the pattern, and the laptop, which asks
// ForSettle, deliver the same records.
func TestSettleFilter(t *testing.T) {
	admissions := []string{"", "adm_", "adm_0123456789abcdefghij", "adm", "xadm_1", "ADM_1"}
	statuses := []string{"", "200", "204", "301", "399", "400", "404", "429", "499", "500", "504", "4", "5", "14", "44x"}
	denials := []string{"", "limit_exceeded", "rate_limited", "limit_exceeded2", "throttled", "LIMIT_EXCEEDED"}
	crossings := []string{"", "pct:80:8:10", "pct", "80"}
	matches := 0
	for _, admission := range admissions {
		for _, status := range statuses {
			for i := range len(denials) * len(crossings) {
				denial, crossed := denials[i%len(denials)], crossings[i/len(denials)]
				r := gateway.AccessRecord{Status: status, Admission: gateway.Admission{AdmissionID: admission, Denial: denial, Crossed: crossed}}
				got := r.ForSettle()
				if want := matchesPattern(t, gateway.SettleFilter(), r); got != want {
					t.Errorf("%+v: ForSettle %v, the pattern %v", r, got, want)
				}
				if got {
					matches++
				}
			}
		}
	}
	if all := len(admissions) * len(statuses) * len(denials) * len(crossings); matches == 0 || matches == all {
		t.Errorf("%d of %d records match: nothing was compared", matches, all)
	}
}

var term = regexp.MustCompile(`\$\.(\w+) = "([^"]*)"`)

// matchesPattern evaluates a filter pattern for JSON: comparisons of texts, where a * is any
// text, with && and || and parentheses; && binds closer
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html).
func matchesPattern(t *testing.T, pattern string, r gateway.AccessRecord) bool {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	if err := json.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	text, opened := strings.CutPrefix(pattern, "{ ")
	text, closed := strings.CutSuffix(text, " }")
	if !opened || !closed {
		t.Fatalf("%s is not a pattern for JSON", pattern)
	}
	text = term.ReplaceAllStringFunc(text, func(comparison string) string {
		parts := term.FindStringSubmatch(comparison)
		value, known := fields[parts[1]]
		if !known {
			t.Fatalf("the pattern asks for %s, which no record has", parts[1])
		}
		glob := "^" + strings.ReplaceAll(regexp.QuoteMeta(parts[2]), `\*`, ".*") + "$"
		if regexp.MustCompile(glob).MatchString(value) {
			return "1"
		}
		return "0"
	})
	for before := ""; text != before; { // inwards out, && ahead of ||
		before = text
		text = regexp.MustCompile(`\(([01])\)`).ReplaceAllString(text, "$1")
		text = strings.ReplaceAll(text, "1 && 1", "1")
		text = regexp.MustCompile(`0 && [01]|1 && 0`).ReplaceAllString(text, "0")
		if !strings.Contains(text, "&&") {
			text = strings.ReplaceAll(text, "0 || 0", "0")
			text = regexp.MustCompile(`1 \|\| [01]|0 \|\| 1`).ReplaceAllString(text, "1")
		} else {
			text = regexp.MustCompile(`\(0 \|\| 0\)`).ReplaceAllString(text, "0")
			text = regexp.MustCompile(`\((?:1 \|\| [01]|0 \|\| 1)\)`).ReplaceAllString(text, "1")
		}
	}
	if text != "0" && text != "1" {
		t.Fatalf("%s comes to %q", pattern, text)
	}
	return text == "1"
}

// TestDashboardAsksForTheRecord: the queries of Terraform's dashboard name fields of the record.
func TestDashboardAsksForTheRecord(t *testing.T) {
	source, err := os.ReadFile("../../../modules/observability/dashboard.tf")
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Collect(maps.Keys(gateway.AccessLogFormat()))
	// Beside them a query has the words of its language and the names that it gives its sums.
	words := strings.Fields("filter like stats count as by bin 5m sort desc or and admitted calls")
	asked := 0
	for _, widget := range regexp.MustCompile(`(?s)group = ([^\n]*)\n\s*text  = "((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(string(source), -1) {
		if widget[1] != "var.api.access_log_group" {
			continue // another log
		}
		query := regexp.MustCompile(`\\"[^"]*\\"|/[^/]*/`).ReplaceAllString(widget[2], "")
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(query, -1) {
			if slices.Contains(words, word) {
				continue
			}
			asked++
			if !slices.Contains(known, word) {
				t.Errorf("the dashboard asks for %s, which no record has: %s", word, widget[2])
			}
		}
	}
	if asked < 5 {
		t.Errorf("only %d fields were found in the dashboard's queries", asked)
	}
}
