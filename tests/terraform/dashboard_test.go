package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/tests/terraform/insights"
	"sekisho/tests/terraform/metricmath"
)

const dashboard = "module.sekisho.module.observability.aws_cloudwatch_dashboard.this"

// widget is one of the dashboard's. A metric is a list: namespace, name, dimensions, options;
// an expression is a list of its options alone.
type widget struct {
	Type          string
	X, Y          int
	Width, Height int
	Properties    struct {
		Title, Region, View, Stat, Query, Start string
		Period                                  int
		Metrics                                 [][]any
		Annotations                             struct {
			Horizontal []struct {
				Label string
				Value float64
			}
		}
	}
}

// widgetsOf are those of the planned dashboard.
func widgetsOf(t *testing.T, p planned) []widget {
	t.Helper()
	body, _ := p.value(dashboard, "dashboard_body").(string)
	var board struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(body), &board); err != nil {
		t.Fatalf("the dashboard is not known when planning: %v: %q", err, body)
	}
	return board.Widgets
}

// verifyDashboard: what is looked at, in which order; and that the dollars are right.
func verifyDashboard(t *testing.T, p planned) {
	widgets := widgetsOf(t, p)
	want := []string{
		"Estimated US dollars today and this month (UTC; calls only)", "Estimated US dollars per hour, by part",
		"Admitted", "Denied and refused, by reason", "Refunded, by outcome",
		"Executions at a time, and what is reserved",
		"Throttles of functions", "Throttles of tables",
		"Answers of the gateway", "Errors of functions",
		"Latency of the gateway (ms)", "Duration of functions, 95th percentile (ms)",
		"Invocations", "DynamoDB units consumed", "Admitted calls, by operation and status",
	}
	var have []string
	for i, w := range widgets {
		have = append(have, w.Properties.Title)
		if w.X != 12*(i%2) || w.Y != 6*(i/2) || w.Width != 12 || w.Height != 6 {
			t.Errorf("%q lies at %d,%d and is %d×%d", w.Properties.Title, w.X, w.Y, w.Width, w.Height)
		}
		if problem := w.misshapen(p); problem != "" {
			t.Errorf("%q: %s", w.Properties.Title, problem)
		}
	}
	if !slices.Equal(have, want) {
		t.Fatalf("the dashboard shows\n%q, want\n%q", have, want)
	}
	verifyEveryFunctionIsShown(t, p, widgets)
	verifyCeilings(t, p, widgets[5])
	verifyDollars(t, p, widgets[0], widgets[1], 0)
}

// misshapen tells what CloudWatch would refuse or show wrong.
func (w widget) misshapen(p planned) string {
	if w.Properties.Region != "us-east-1" {
		return "region " + w.Properties.Region
	}
	if w.Type == "log" {
		group, query, ok := strings.Cut(strings.TrimPrefix(w.Properties.Query, "SOURCE '"), "' | ")
		if !ok || !slices.Contains(p.logGroups(), group) || query == "" {
			return "queries no log group of the stack: " + w.Properties.Query
		}
		if _, err := insights.Parse(query); err != nil {
			return err.Error()
		}
		return ""
	}
	if w.Type != "metric" || len(w.Properties.Metrics) == 0 || len(w.Properties.Metrics) > 500 || w.Properties.Period == 0 {
		return fmt.Sprintf("type %q, %d metrics, period %d", w.Type, len(w.Properties.Metrics), w.Properties.Period)
	}
	ids := map[string]bool{}
	for _, m := range w.Properties.Metrics {
		options, _ := m[len(m)-1].(map[string]any)
		if id, _ := options["id"].(string); id != "" && ids[id] {
			return "two have the ID " + id
		} else if id != "" {
			ids[id] = true
		}
		expression, _ := options["expression"].(string)
		if (len(m) == 1) != (expression != "") || len(expression) > 2048 {
			return fmt.Sprintf("neither a metric nor an expression: %v", m)
		}
		if len(m) > 1 && len(m)%2 == 0 { // namespace and name, pairs of dimensions, options
			return fmt.Sprintf("a metric's list has %d parts: %v", len(m), m)
		}
	}
	return ""
}

// logGroups are the planned ones.
func (p planned) logGroups() (names []string) {
	for _, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type == "aws_cloudwatch_log_group" {
			names = append(names, resource.AttributeValues["name"].(string))
		}
	}
	return names
}

func verifyEveryFunctionIsShown(t *testing.T, p planned, widgets []widget) {
	for role := range p.functions() {
		for _, metric := range []string{"ConcurrentExecutions", "Invocations", "Duration", "Throttles", "Errors"} {
			shown := slices.ContainsFunc(widgets, func(w widget) bool {
				return slices.ContainsFunc(w.Properties.Metrics, func(m []any) bool {
					options, _ := m[len(m)-1].(map[string]any)
					return len(m) == 5 && m[0] == "AWS/Lambda" && m[1] == metric && m[3] == p.name()+"-"+role && options["visible"] == nil
				})
			})
			if !shown {
				t.Errorf("%s of %s is not shown", metric, role)
			}
		}
	}
}

func verifyCeilings(t *testing.T, p planned, w widget) {
	for role, f := range p.functions() {
		reserved := f["reserved_concurrent_executions"].(float64)
		found := false
		for _, line := range w.Properties.Annotations.Horizontal {
			_, roles, _ := strings.Cut(line.Label, " reserved: ")
			found = found || line.Value == reserved && slices.Contains(strings.Split(roles, ", "), role)
		}
		if found != (reserved >= 0) {
			t.Errorf("%s reserves %v, and there is a line for it: %v", role, reserved, found)
		}
	}
}

// verifyDollars evaluates both graphs over made-up periods: days across the end of a month,
// and five minutes. Prices as in verifySpendRate; atDoor is the dollars of a day's answers of the door.
func verifyDollars(t *testing.T, p planned, daily, hourly widget, atDoor float64) {
	if daily.Properties.View != "singleValue" || daily.Properties.Period != 86400 || daily.Properties.Start != "-P31D" || daily.Properties.Stat != "Sum" {
		t.Errorf("days are shown as %+v", daily.Properties)
	}
	if lines := hourly.Properties.Annotations.Horizontal; len(lines) != 1 || lines[0].Value != p.value(spendRate, "threshold") {
		t.Errorf("the live alarm's line is %v", lines)
	}
	var days []time.Time
	for date := 30; date < 34; date++ { // 30 and 31 October, 1 and 2 November
		days = append(days, time.Date(2026, 10, date, 0, 0, 0, 0, time.UTC))
	}
	// Each day a million requests, and the second of November nothing at all.
	frame, metrics := daily.frame(days)
	none := metricmath.Missing
	amounts := map[string]float64{
		"AWS/ApiGateway Count " + p.name():                                    1_000_000,
		"SampleCount of AWS/ApiGateway IntegrationLatency " + p.name():        900_000,
		"AWS/Lambda Invocations " + p.name() + "-mcp":                         500_000,
		"AWS/Lambda Duration " + p.name() + "-mcp":                            40_000_000,
		"AWS/Lambda Duration " + p.name() + "-settle":                         8_000_000,
		"AWS/DynamoDB ConsumedWriteCapacityUnits " + p.name() + "-usage":      400_000,
		"AWS/DynamoDB ConsumedReadCapacityUnits " + p.name() + "-accounts":    80_000,
		"AWS/Logs IncomingBytes /aws/apigateway/" + p.name() + "/live/access": 600_000_000,
		"AWS/Logs IncomingBytes /aws/lambda/" + p.name() + "-mcp":             400_000_000,
	}
	for id, what := range metrics {
		amount := amounts[what]
		frame.Metrics[id] = metricmath.Series{amount, amount, amount, none}
	}
	day := 3.15 + // 900000 × 3.50 / 1000000
		0.10 + // 500000 × 0.20 / 1000000
		11_000*0.0000133334 + // 40000 s × 0.25 GB + 8000 s × 0.125 GB
		0.25 + 0.01 + // 400000 × 0.625 / 1000000, 80000 × 0.125 / 1000000
		0.50 + // 1 GB × 0.50
		0.18432 + // 1000000 × 2048 bytes × 0.09 / 1000000000
		atDoor
	if err := differs(frame, "today", metricmath.Series{day, day, day, 0}); err != nil {
		t.Error(err)
	}
	if err := differs(frame, "month", metricmath.Series{0, 0, day, day}); err != nil {
		t.Error(err)
	}
	for id := range metrics {
		series := frame.Metrics[id]
		frame.Metrics[id] = metricmath.Series{1e9, 1e9, 1e9, 1e9}
		if differs(frame, "today", metricmath.Series{day, day, day, 0}) == nil {
			t.Errorf("dollars do not depend on %s", metrics[id])
		}
		frame.Metrics[id] = series
	}

	// The graph by the hour has the same parts; its lines are twelve times five minutes.
	rate, same := hourly.frame(make([]time.Time, 1))
	if !slices.Equal(slices.Sorted(maps.Values(same)), slices.Sorted(maps.Values(metrics))) {
		t.Errorf("the two graphs read different metrics")
	}
	for id := range same {
		rate.Metrics[id] = metricmath.Series{frame.Metrics[id][0] / 288}
	}
	sum := 0.0
	for id := range rate.Expressions {
		if strings.HasSuffix(id, "_rate") {
			value, err := rate.Eval(id)
			must(t, err)
			sum += value[0]
		}
	}
	if !near(sum, day/24) {
		t.Errorf("an hour is shown as %v, want %v", sum, day/24)
	}
}

// frame holds the expressions of a widget, and what its metrics are by ID: namespace, name and
// the value of the first dimension.
func (w widget) frame(times []time.Time) (metricmath.Frame, map[string]string) {
	frame := metricmath.Frame{Times: times, Metrics: map[string]metricmath.Series{}, Expressions: map[string]string{}}
	metrics := map[string]string{}
	for _, m := range w.Properties.Metrics {
		options, _ := m[len(m)-1].(map[string]any)
		id, _ := options["id"].(string)
		if expression, ok := options["expression"].(string); ok {
			frame.Expressions[id] = expression
			continue
		}
		metrics[id] = fmt.Sprintf("%s %s %s", m[0], m[1], m[3])
		if stat, _ := options["stat"].(string); stat != "" && stat != "Sum" {
			metrics[id] = stat + " of " + metrics[id]
		}
	}
	return frame, metrics
}
