package gateway_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// TestDispatchFilter wants what SettleFilter wants, and exactly the reports that Failed means.
func TestDispatchFilter(t *testing.T) {
	settles := strings.TrimSuffix(gateway.SettleFilter(), " }")
	more, ok := strings.CutPrefix(gateway.DispatchFilter(), settles+" || ")
	if !ok {
		t.Fatalf("%s does not want what %s wants", gateway.DispatchFilter(), gateway.SettleFilter())
	}
	more = strings.TrimSuffix(more, " }")
	kind := regexp.MustCompile(`^\(\$\.type = "([^"]+)" && \((.+)\)\)$`).FindStringSubmatch(more)
	if kind == nil {
		t.Fatalf("%s is not a type and statuses", more)
	}
	statuses := map[string]bool{}
	for _, term := range strings.Split(kind[2], " || ") {
		status := regexp.MustCompile(`^\$\.record\.status = "(\w+)"$`).FindStringSubmatch(term)
		if status == nil {
			t.Fatalf("%s compares no status", term)
		}
		statuses[status[1]] = true
	}
	for _, status := range []string{"success", "error", "failure", "timeout", "", "timeouts"} {
		line, err := json.Marshal(gateway.NewReport(time.Now(), "i", status))
		if err != nil {
			t.Fatal(err)
		}
		r, ok := gateway.ParseReport(line)
		if !ok || r.Type != kind[1] || r.Failed() != statuses[status] {
			t.Errorf("%s: read %+v, %t; the filter wants it: %t", line, r, ok, statuses[status])
		}
	}
}

// TestParseDispatched: a line is one of a call if it says what the gate did.
func TestParseDispatched(t *testing.T) {
	id := admission(t, "2026-11-30T23:59:59Z")
	for _, c := range []struct {
		line string
		want gateway.Admission
		ok   bool
	}{
		{`{"msg":"admitted","invocation":"i","gate":"admission_id=` + id + ` key_id=key_a refund_cap=100"}`,
			gateway.Admission{KeyID: "key_a", Meter: "key_a", Period: "2026-11", AdmissionID: id, Units: "1", RefundCap: "100"}, true},
		{`{"msg":"denied","gate":"denial=rate_limited key_id=key_b meter=key_a period=2026-11"}`,
			gateway.Admission{Denial: "rate_limited", KeyID: "key_b", Meter: "key_a", Period: "2026-11"}, true},
		{`{"msg":"mcp","gate":"operation=system.health"}`, gateway.Admission{}, false},
		{`{"msg":"mcp","key_id":"key_a","status":200}`, gateway.Admission{}, false},
		{`{"msg":"refund","meter":"key_a","outcome":"refunded"}`, gateway.Admission{}, false},
		{`not JSON`, gateway.Admission{}, false},
	} {
		d, ok := gateway.ParseDispatched([]byte(c.line))
		if ok != c.ok || ok && d.Admission != c.want {
			t.Errorf("%s: %+v, %t; want %+v", c.line, d.Admission, ok, c.want)
		}
	}
}

func admission(t *testing.T, at string) string {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	return usage.NewAdmissionID(instant)
}
