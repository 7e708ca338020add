//go:build interop

package conformance

import (
	"strings"
	"testing"
)

// The gate itself: what is wrong must be told, and what is right must not.
func TestJudge(t *testing.T) {
	found := report{scenarios: []scenario{
		{name: "good", checks: []check{{ID: "a", Status: "SUCCESS"}}},
		{name: "bad", checks: []check{{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "FAILURE", Message: "no"}, {ID: "b", Status: "FAILURE"}, {ID: "c", Status: "FAILURE"}}},
	}}
	expect := func(scenario string, checks ...string) expectation {
		return expectation{Runs: []string{"run"}, Scenario: scenario, Checks: checks, Reason: "because"}
	}
	for name, c := range map[string]struct {
		list []expectation
		want []string
	}{
		"nothing expected":    {nil, []string{"unexpected failure: bad: b", "unexpected failure: bad: c"}},
		"all expected":        {[]expectation{expect("bad", "b", "c")}, nil},
		"scenario expected":   {[]expectation{expect("bad")}, nil},
		"one expected":        {[]expectation{expect("bad", "b")}, []string{"unexpected failure: bad: c"}},
		"in two entries":      {[]expectation{expect("bad", "b"), expect("bad", "c")}, nil},
		"passes now":          {[]expectation{expect("bad", "a", "b", "c")}, []string{"stale: bad: a"}},
		"no such check":       {[]expectation{expect("bad", "b", "c", "d")}, []string{"stale: bad: d"}},
		"whole one passes":    {[]expectation{expect("bad"), expect("good")}, []string{"stale: good"}},
		"scenario is gone":    {[]expectation{expect("bad"), expect("old", "x")}, []string{"stale: old: x"}},
		"gone, without check": {[]expectation{expect("bad"), expect("old")}, []string{"stale: old"}},
		"of another run":      {[]expectation{expect("bad"), {Runs: []string{"other"}, Scenario: "good", Reason: "because"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge("run", found, c.list).complaints
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

// A suite that stopped half way must not look like one that found nothing.
func TestReadRefusesHalfReports(t *testing.T) {
	for _, printed := range []string{"", "=== SUMMARY ===\n", "=== SUMMARY ===\n✓ ping: 1 passed, 0 failed\n"} {
		if found, err := read(printed, t.TempDir()); err == nil {
			t.Errorf("%q was read as %v", printed, found)
		}
	}
}
