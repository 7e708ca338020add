package gateway_test

import (
	"encoding/json"
	"maps"
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
	said := gateway.Admission{Operation: "postal.lookup", KeyID: "key_a"}
	if got := (gateway.AuthorizerContext{Admission: said}).Values(); !maps.Equal(got, map[string]any{
		"operation": "postal.lookup", "key_id": "key_a", "gate": "operation=postal.lookup key_id=key_a",
	}) {
		t.Errorf("an admission is handed on as %v", got)
	}
	if got := (gateway.AuthorizerContext{}).Values(); len(got) != 0 {
		t.Errorf("an empty context has %v", got)
	}
	refused := gateway.AuthorizerContext{Admission: gateway.Admission{Denial: "limit_exceeded"}}.Values()
	if want := reflect.TypeFor[gateway.Refusal]().NumField() + 2; len(refused) != want {
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
