package gateway_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// TestRecord: a field without a value is empty, and a client has no say in any of them.
func TestRecord(t *testing.T) {
	line := map[string]string{}
	for name := range gateway.AccessLogFormat() {
		line[name] = "-" // as API Gateway writes a variable without a value
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := gateway.ParseAccessRecord(encoded); err != nil || r != (gateway.AccessRecord{}) {
		t.Errorf("%s: %+v, %v", encoded, r, err)
	}
	if variable := gateway.AccessLogFormat()[gateway.AdmissionField]; variable != "$context.authorizer."+gateway.AdmissionField {
		t.Errorf("the record takes the admission from %q", variable)
	}
	for name, variable := range gateway.AccessLogFormat() {
		switch variable {
		case "$context.requestId", "$context.httpMethod", "$context.path", "$context.protocol", "$context.identity.userAgent":
			t.Errorf("%s is %s, which a client can choose", name, variable)
		}
	}
}

// TestStamped: a record in a file says when it came in.
func TestStamped(t *testing.T) {
	at := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	want := gateway.AccessRecord{TimestampMs: at.UnixMilli(), Status: "429", ResponseType: gateway.Throttled}
	line := gateway.Stamped([]byte(`{"gate":"-","status":"429","response_type":"THROTTLED"}`+"\n"), at)
	if r, err := gateway.ParseAccessRecord(line); err != nil || r != want || !strings.HasSuffix(string(line), "}\n") {
		t.Errorf("%s: %+v, %v", line, r, err)
	}
	for _, whole := range []string{"{}\n", "", "text"} {
		if got := gateway.Stamped([]byte(whole), at); string(got) != whole {
			t.Errorf("%q becomes %q", whole, got)
		}
	}
}

// TestSettleFilter: CloudWatch Logs, which reads the pattern, and the laptop, which asks
// ForSettle, deliver the same records: those that settle has something to do for.
func TestSettleFilter(t *testing.T) {
	id := admission(t, "2026-11-30T12:00:00Z")
	for _, said := range []gateway.Admission{
		{}, {Operation: "system.health"}, {KeyID: "key_a", Operation: "adm_", Meter: "key_b"},
		{AdmissionID: id, KeyID: "key_a", Meter: "key_a", Period: "2026-11", Units: "1", RefundCap: "100"},
		{AdmissionID: id, KeyID: "key_a", Meter: "key_a", Period: "2026-11", Units: "1", RefundCap: "100", Crossed: "pct:80:8:10"},
		{AdmissionID: "xadm_1", KeyID: "key_a"}, {AdmissionID: "ADM_1"},
		{Denial: "limit_exceeded", KeyID: "key_a", Meter: "key_a", Period: "2026-11"},
		{Denial: "rate_limited", KeyID: "key_a", Meter: "key_a", Period: "2026-11"},
		{Denial: "throttled", KeyID: "key_a", Meter: "key_a"}, {Denial: "throttled"}, {Denial: "LIMIT_EXCEEDED"},
	} {
		for _, status := range []string{"", "-", "200", "204", "301", "399", "400", "404", "429", "499", "500", "504", "14"} {
			r := gateway.AccessRecord{Status: status, Admission: said}
			_, crossed := said.Crossing()
			want := r.IsCountedDenial() || crossed || said.AdmissionID == id && status >= "400"
			if got := r.ForSettle(); got != want || matchesPattern(t, gateway.SettleFilter(), r) != want {
				t.Errorf("%+v: ForSettle %v, the pattern %v, want %v", r, got, !got, want)
			}
		}
	}
	for _, code := range problem.Codes() { // the pattern knows a denial by its start
		for _, counted := range gateway.CountedDenials() {
			if code != counted && strings.HasPrefix(string(code), string(counted)) {
				t.Errorf("settle would get denials by %s, which begins as %s does", code, counted)
			}
		}
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

// TestDashboardAsksForTheRecord: the queries of Terraform's dashboard name fields of the record, and what
// they have parsed out of it.
func TestDashboardAsksForTheRecord(t *testing.T) {
	source, err := os.ReadFile("../../../modules/observability/dashboard.tf")
	if err != nil {
		t.Fatal(err)
	}
	commands := gateway.QueryFields()
	// Beside them a query has the words of its language and the names that it gives its sums.
	words := strings.Fields("filter ispresent stats count as by bin 5m sort desc or and admitted calls")
	asked := 0
	for _, widget := range regexp.MustCompile(`(?s)group = ([^\n]*)\n\s*text  = "((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(string(source), -1) {
		if widget[1] != "var.api.access_log_group" {
			continue // another log
		}
		known := slices.Collect(maps.Keys(gateway.AccessLogFormat()))
		query := regexp.MustCompile(`\$\{var\.api\.query_fields\.(\w+)\}`).ReplaceAllStringFunc(widget[2], func(command string) string {
			name := strings.TrimSuffix(command[strings.LastIndex(command, ".")+1:], "}")
			if commands[name] == "" {
				t.Errorf("the dashboard parses %s, which the gate never says: %s", name, widget[2])
			}
			known = append(known, name)
			return ""
		})
		query = regexp.MustCompile(`\\"[^"]*\\"`).ReplaceAllString(query, "")
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
