package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// TestPlansOfBothForms: a flag and a JSON object say the same, and String writes it again.
func TestPlansOfBothForms(t *testing.T) {
	for _, c := range []struct {
		flag, json string
		want       usage.Limits
		describe   string
	}{
		{"p=1000", `{"p":{"monthly":1000}}`, usage.PerMonth(1000), "1000 a month"},
		{"p=0", `{"p":{"monthly":0}}`, usage.PerMonth(0), "0 a month"},
		{"p=unlimited", `{"p":{}}`, usage.NoLimits, "unlimited"},
		{"p=daily=5", `{"p":{"daily":5}}`, usage.Limits{Monthly: usage.Unlimited, Daily: 5}, "5 a day"},
		{
			"p=1000,daily=200,per_second=2,burst=10", `{"p":{"monthly":1000,"daily":200,"per_second":2,"burst":10}}`,
			usage.Limits{Monthly: 1000, Daily: 200, Rate: ratelimit.Limit{PerSecond: 2, Burst: 10}},
			"1000 a month, 200 a day, 2 per second (10 at once)",
		},
		{ // a second's worth by default, and at least one call
			"p=burst=1,per_second=0.5,monthly=7", `{"p":{"monthly":7,"per_second":0.5}}`,
			usage.Limits{Monthly: 7, Daily: usage.Unlimited, Rate: ratelimit.Limit{PerSecond: 0.5, Burst: 1}},
			"7 a month, 0.5 per second (1 at once)",
		},
		{
			"p=per_second=2.5", `{"p":{"per_second":2.5}}`,
			usage.Limits{Monthly: usage.Unlimited, Daily: usage.Unlimited, Rate: ratelimit.Limit{PerSecond: 2.5, Burst: 3}},
			"2.5 per second (3 at once)",
		},
	} {
		want := Plans{"p": c.want}
		flags, err := ParsePlanFlags([]string{c.flag})
		if err != nil || !maps.Equal(flags, want) {
			t.Errorf("%s: %v, %v", c.flag, flags, err)
		}
		object, err := ParsePlans(c.json)
		if err != nil || !maps.Equal(object, want) {
			t.Errorf("%s: %v, %v", c.json, object, err)
		}
		if back, err := ParsePlans(want.String()); err != nil || !maps.Equal(back, want) {
			t.Errorf("%s: %v, %v", want, back, err)
		}
		if got := want.Describe("p"); got != c.describe {
			t.Errorf("%s: %s, want %s", c.flag, got, c.describe)
		}
	}
}

// TestOldPlans: a laptop's data directory of an older version opens.
func TestOldPlans(t *testing.T) {
	plans, err := ParsePlans(`{"free":1000,"tiny":7,"internal":null}`)
	if want := (Plans{"free": usage.PerMonth(1000), "tiny": usage.PerMonth(7), "internal": usage.NoLimits}); err != nil || !maps.Equal(plans, want) {
		t.Errorf("%v, %v", plans, err)
	}
}

// TestTable: Terraform takes the same plans, refuses the same and has the same defaults; its
// tests read the same table.
func TestTable(t *testing.T) {
	raw, err := os.ReadFile("testdata/plans.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Default           json.RawMessage
		Accepted, Refused map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	if plans, err := ParsePlans(string(table.Default)); err != nil || !maps.Equal(plans, DefaultPlans()) {
		t.Errorf("default: %s, %v; want %s", plans, err, DefaultPlans())
	}
	for name, parts := range table.Accepted {
		if plans, err := ParsePlans(fmt.Sprintf("{%q:%s}", name, parts)); err != nil {
			t.Errorf("%s: %v, %v", name, plans, err)
		}
	}
	for name, parts := range table.Refused {
		if plans, err := ParsePlans(fmt.Sprintf("{%q:%s}", name, parts)); err == nil {
			t.Errorf("%q: %s is accepted as %s", name, parts, plans)
		}
	}
	if len(table.Accepted) == 0 || len(table.Refused) == 0 {
		t.Error("the table is empty")
	}
}

func TestDefaultPlans(t *testing.T) {
	plans, err := ParsePlans("")
	if err != nil || plans.String() != DefaultPlans().String() || plans["free"] != usage.PerMonth(1000) {
		t.Errorf("%s, %v", plans, err)
	}
}

// TestPlansRefused: each message names the plan, the part and what it takes.
func TestPlansRefused(t *testing.T) {
	for text, says := range map[string]string{
		"[]": "JSON object", "{": "JSON object", "{}": "at least one", `{"p":"x"}`: "JSON object", `{"p":[1]}`: "JSON object",
		`{"Free":{}}`: `plan "Free"`, `{"":{}}`: "lower-case", `{"p":{"monthly":-1}}`: "monthly takes 0 to 1000000000000",
		`{"p":{"monthly":1.5}}`: "JSON object", `{"p":{"daily":1000000000001}}`: "daily takes", `{"p":{"per_minute":1}}`: "per_minute",
		`{"p":{"per_second":0}}`: "per_second takes 0.001 to 10000", `{"p":{"per_second":10001}}`: "per_second takes",
		`{"p":{"burst":5}}`: "burst goes with per_second", `{"p":{"per_second":1,"burst":0}}`: "burst takes 1 to 100000",
		`{"p":-1}`: "monthly takes",
	} {
		if plans, err := ParsePlans(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v; want %q", text, plans, err, says)
		}
	}
	for flag, says := range map[string]string{
		"p": "write NAME=MONTHLY", "p=": "monthly takes a number", "p=x": `monthly takes a number, not "x"`, "p=-1": "monthly takes 0 to",
		"p=1,2": "monthly is given twice", "p=1,daily=x": "daily takes a number", "p=1,hourly=3": `no part "hourly"`,
		"p=burst=2": "burst goes with per_second", "p=per_second=NaN": "per_second takes", "p=1.5": "monthly takes a number", "P=1": "lower-case",
		"p=unlimited,daily=3": "monthly takes a number",
	} {
		if plans, err := ParsePlanFlags([]string{flag}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v; want %q", flag, plans, err, says)
		}
	}
	if _, err := ParsePlanFlags([]string{"p=1", "p=2"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a plan twice: %v", err)
	}
	if limits, err := DefaultPlans().Limits("free"); err != nil || limits != usage.PerMonth(1000) {
		t.Errorf("a plan that exists: %v, %v", limits, err)
	}
	if _, err := DefaultPlans().Limits("gold"); err == nil || !strings.Contains(err.Error(), "free, pro, starter") {
		t.Errorf("a plan that no longer exists: %v", err)
	}
}
