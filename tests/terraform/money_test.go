package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/tests/terraform/metricmath"
	"sekisho/tests/terraform/stack"
)

// TestMoney plans envs/dev and envs/prod as they are and checks what they say about money.
func TestMoney(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, func(dir string) {
		keepStateBeside(t, dir, "prod")
	})
	var worst []worstCase
	var attacks []string
	for _, env := range []string{"dev", "prod"} {
		s := prepare(t, dir, "envs/"+env, map[string]any{"dist": dist})
		plan, err := s.Plan(t, t.Context())
		must(t, err)
		p, err := read(plan, dir)
		must(t, err)
		t.Run(env+"/spend rate", func(t *testing.T) { verifySpendRate(t, p, spendRate, 60) })
		t.Run(env+"/spend average", func(t *testing.T) { verifySpendRate(t, p, spendAverage, 600) })
		t.Run(env+"/attacks", func(t *testing.T) { attacks = append(attacks, underAttack(t, p, env)) })
		t.Run(env+"/dashboard", func(t *testing.T) { verifyDashboard(t, p) })
		t.Run(env+"/worst case", func(t *testing.T) { worst = append(worst, verifyWorstCase(t, p, env)) })
	}
	for _, other := range topologies {
		variables := maps.Clone(other.variables)
		variables["dist"] = dist
		s := prepare(t, dir, "envs/dev", variables)
		plan, err := s.Plan(t, t.Context())
		must(t, err)
		p, err := read(plan, dir)
		must(t, err)
		t.Run(other.name+"/worst case", func(t *testing.T) { worst = append(worst, verifyWorstCase(t, p, "dev "+other.name)) })
		if other.name == "direct-url" { // the ID of an HTTP API is known after the apply only
			t.Run(other.name+"/spend rate", func(t *testing.T) { verifyDoorRate(t, p, spendRate, 60) })
			t.Run(other.name+"/dashboard", func(t *testing.T) {
				widgets := widgetsOf(t, p)
				verifyDollars(t, p, widgets[0], widgets[1], 500_000*2048*0.09/1e9) // each run of mcp answers
			})
		}
	}
	t.Run("attacks", func(t *testing.T) { sameAsFile(t, "attacks.md", attacksIntro+strings.Join(attacks, "\n")) })
	t.Run("README", func(t *testing.T) { verifyWorstCaseInReadme(t, worst) })
}

// topologies of envs/dev beside proxy.
var topologies = []struct {
	name      string
	variables map[string]any
}{
	{"direct-http", map[string]any{"mcp": map[string]any{"dispatch": "direct", "door": "http"}}},
	{"direct-http with OAuth", map[string]any{"mcp": map[string]any{"dispatch": "direct", "door": "http"}, "oauth": map[string]any{"enabled": true}}},
	{"direct-url", map[string]any{
		"mcp": map[string]any{"dispatch": "direct", "door": "url"}, "functions": map[string]any{"mcp": map[string]any{"reserved_concurrency": 20}},
	}},
}

// The two alarms on dollars per hour.
const (
	spendRate    = `module.sekisho.module.spend_alarm.aws_cloudwatch_metric_alarm.this["short"]`
	spendAverage = `module.sekisho.module.spend_alarm.aws_cloudwatch_metric_alarm.this["long"]`
)

// verifySpendRate evaluates the alarms' expressions over periods that are made up, against
// dollars that were computed by hand. Prices are those of prices.json: 3.50 for a million
// requests, 0.20 for a million starts, 0.0000133334 for a GB-second, 0.625 and 0.125 for a
// million units, 0.50 and 0.09 for a GB.
func verifySpendRate(t *testing.T, p planned, address string, period float64) {
	alarm := queriesOf(t, p, address, period)
	if n := len(alarm.metrics); n != 10 {
		t.Errorf("the alarm reads %d metrics, and CloudWatch lets it read 10: %v", n, slices.Sorted(maps.Keys(alarm.metrics)))
	}
	for id, want := range map[string]string{
		"requests":       "Sum of AWS/ApiGateway Count ApiName=STACK Stage=live",
		"billed":         "SampleCount of AWS/ApiGateway IntegrationLatency ApiName=STACK Stage=live",
		"integration_ms": "Sum of AWS/ApiGateway IntegrationLatency ApiName=STACK Stage=live",
		"authorizer_ms":  "Sum of AWS/Lambda Duration FunctionName=STACK-authorizer", "settle_ms": "Sum of AWS/Lambda Duration FunctionName=STACK-settle",
		"authorizer_runs": "Sum of AWS/Lambda Invocations FunctionName=STACK-authorizer",
		"usage_writes":    "Sum of AWS/DynamoDB ConsumedWriteCapacityUnits TableName=STACK-usage", "usage_reads": "Sum of AWS/DynamoDB ConsumedReadCapacityUnits TableName=STACK-usage",
		"accounts_writes": "Sum of AWS/DynamoDB ConsumedWriteCapacityUnits TableName=STACK-accounts", "accounts_reads": "Sum of AWS/DynamoDB ConsumedReadCapacityUnits TableName=STACK-accounts",
	} {
		if got, want := alarm.metrics[id], strings.ReplaceAll(want, "STACK", p.name()); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}

	none := metricmath.Missing
	minutes := map[string]metricmath.Series{
		// A busy minute; nothing at all; refusals only; a call that is in one metric and not yet
		// in the other.
		"requests":       {1200, none, 3000, none},
		"billed":         {1000, none, none, 1},
		"integration_ms": {150_000, none, none, 400},
		"authorizer_ms":  {6_000, none, 3_000, none}, "authorizer_runs": {600, none, 200, none},
		"settle_ms":    {500, none, none, none},
		"usage_writes": {600, none, none, none}, "usage_reads": {20, none, none, none},
		"accounts_writes": {2, none, none, none}, "accounts_reads": {100, none, 1, none},
	}
	// The most memory behind the API.
	behindGB := 0.0
	for _, item := range p.contract.Paths {
		for _, op := range item {
			if role := op.Sekisho.Function; role != "" {
				behindGB = max(behindGB, p.functions()[role]["memory_size"].(float64)/1024)
			}
		}
	}
	const gbSecond = 0.0000133334
	want := metricmath.Series{
		0.0035 + // 1000 × 3.50 / 1000000
			0.00044 + // (1000 + 2 × 600) × 0.20 / 1000000
			(6*0.25+0.5*0.125+150*behindGB)*gbSecond +
			0.00037625 + 0.000015 + // 602 writes × 0.625 / 1000000, 120 reads × 0.125 / 1000000
			0.000425 + // (1200 × 250 + 2200 × 250) × 0.50 / 1000000000
			0.00019872, // (200 × 800 + 1000 × 2048) × 0.09 / 1000000000
		0,
		0.00008 + 3*0.25*gbSecond + 0.000000125 + 0.000425 + 0.000216, // 400 starts; 750000 + 100000 bytes of log; 2400000 of refusals
		0.0000035 + 0.0000002 + 0.4*behindGB*gbSecond + 0.000000125 + 0.00000018432,
	}
	for i := range want {
		want[i] *= 3600 / period
	}
	verifyEstimate(t, alarm, minutes, want)
}

// verifyEstimate evaluates an alarm's expressions. The check is worth something only if a wrong
// expression fails it, so each is made wrong, too.
func verifyEstimate(t *testing.T, alarm queries, minutes map[string]metricmath.Series, want metricmath.Series) {
	t.Helper()
	frame := metricmath.Frame{Times: make([]time.Time, len(want)), Metrics: minutes, Expressions: alarm.expressions}
	if err := differs(frame, alarm.watched, want); err != nil {
		t.Error(err)
	}
	for id, expression := range alarm.expressions {
		wrong := maps.Clone(alarm.expressions)
		wrong[id] = "2 * (" + expression + ")"
		if err := differs(metricmath.Frame{Times: frame.Times, Metrics: minutes, Expressions: wrong}, alarm.watched, want); err == nil {
			t.Errorf("twice %s would not be noticed", id)
		}
	}
	for id, series := range minutes {
		wrong := maps.Clone(minutes)
		wrong[id] = make(metricmath.Series, len(series))
		if err := differs(metricmath.Frame{Times: frame.Times, Metrics: wrong, Expressions: alarm.expressions}, alarm.watched, want); err == nil {
			t.Errorf("the estimate does not depend on %s", id)
		}
	}
}

// verifyDoorRate is the same for a function URL and direct dispatch, over one busy minute.
func verifyDoorRate(t *testing.T, p planned, address string, period float64) {
	alarm := queriesOf(t, p, address, period)
	if n := len(alarm.metrics); n != 10 {
		t.Errorf("the alarm reads %d metrics, and CloudWatch lets it read 10: %v", n, slices.Sorted(maps.Keys(alarm.metrics)))
	}
	for id, want := range map[string]string{
		"door_billed": "Sum of AWS/Lambda Invocations FunctionName=" + p.name() + "-mcp", "door_ms": "Sum of AWS/Lambda Duration FunctionName=" + p.name() + "-mcp",
	} {
		if got := alarm.metrics[id]; got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	minute := map[string]metricmath.Series{
		"requests": {1200}, "billed": {1000}, "integration_ms": {150_000}, "authorizer_ms": {6_000}, "authorizer_runs": {600},
		"settle_ms": {500}, "usage_writes": {600}, "accounts_writes": {2}, "door_billed": {2000}, "door_ms": {70_000},
	}
	const usd = 0.0035 + // 1000 × 3.50 / 1000000, and none for the URL
		0.00124 + // (1000 + 2 × 600 + 2 × 2000) × 0.20 / 1000000
		(6*0.25+0.5*0.125+150*0.25+70*(0.25+0.25))*0.0000133334 +
		0.00037625 + 0.00065 + // 602 writes × 0.625 / 1000000, 2 × (600 + 2000) reads × 0.125 / 1000000
		0.000925 + // (1200 × 250 + 6200 × 250) × 0.50 / 1000000000
		0.00056736 // (200 × 800 + 3000 × 2048) × 0.09 / 1000000000
	verifyEstimate(t, alarm, minute, metricmath.Series{usd * 3600 / period})
	verifyRunawayAtDoor(t, alarm)
}

// verifyRunawayAtDoor: the alarm must neither stop a stack for what AWS doesn't bill, nor miss what it
// does, by `sekisho cost`, of an agent that makes ten calls a second.
func verifyRunawayAtDoor(t *testing.T, alarm queries) {
	out, code := binary.Run(t, nil, "cost", "--calls", "1", "--topology", "direct-url", "--format", "json")
	if code != 0 {
		t.Fatalf("sekisho cost: %s", out)
	}
	var priced struct {
		PerMillion map[string]float64 `json:"per_million_usd"`
		DirectMS   map[string]float64 `json:"direct_mcp_ms"`
	}
	must(t, json.Unmarshal([]byte(out), &priced))
	const perMinute = 600
	frame := metricmath.Frame{Times: make([]time.Time, 1), Metrics: map[string]metricmath.Series{}, Expressions: alarm.expressions}
	for id := range alarm.metrics {
		frame.Metrics[id] = metricmath.Series{metricmath.Missing}
	}
	frame.Metrics["door_billed"] = metricmath.Series{perMinute}
	frame.Metrics["door_ms"] = metricmath.Series{perMinute * priced.DirectMS["answered"]}
	frame.Metrics["usage_writes"] = metricmath.Series{perMinute}
	estimate, err := frame.Eval(alarm.watched)
	must(t, err)
	billed := priced.PerMillion["admitted, key in memory"] * perMinute * 60 / 1e6
	if ratio := estimate[0] / billed; !(ratio >= 0.9 && ratio <= 1.5) {
		t.Errorf("ten calls a second are estimated at %.3f USD an hour, and AWS bills %.3f", estimate[0], billed)
	}
	t.Logf("ten calls a second: estimated %.3f USD an hour, billed %.3f", estimate[0], billed)
}

func differs(frame metricmath.Frame, id string, want metricmath.Series) error {
	got, err := frame.Eval(id)
	if err != nil {
		return err
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-9) {
			return fmt.Errorf("%s is %v, want %v by hand", id, got, want)
		}
	}
	return nil
}

// queries is what an alarm on metric math reads and computes.
type queries struct {
	metrics     map[string]string // statistic, namespace, name and dimensions
	expressions map[string]string
	watched     string
}

func queriesOf(t *testing.T, p planned, address string, period float64) queries {
	t.Helper()
	q := queries{metrics: map[string]string{}, expressions: map[string]string{}}
	list, _ := p.value(address, "metric_query").([]any)
	for _, item := range list {
		query := item.(map[string]any)
		id := query["id"].(string)
		if query["return_data"] == true {
			q.watched += id
		}
		if expression, _ := query["expression"].(string); expression != "" {
			q.expressions[id] = expression
			if len(expression) > 1024 {
				t.Errorf("%s has %d characters", id, len(expression))
			}
			continue
		}
		metric := query["metric"].([]any)[0].(map[string]any)
		if metric["period"] != period {
			t.Errorf("%s is over %v s, want %v", id, metric["period"], period)
		}
		what := fmt.Sprintf("%s of %s %s", metric["stat"], metric["namespace"], metric["metric_name"])
		dimensions := metric["dimensions"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(dimensions)) {
			what += fmt.Sprintf(" %s=%s", name, dimensions[name])
		}
		q.metrics[id] = what
	}
	if len(q.expressions) > 10 {
		t.Errorf("an alarm may have 10 expressions, and this has %d", len(q.expressions))
	}
	return q
}

// name is the stack's.
func (p planned) name() string {
	name, _ := p.value(restAPI, "name").(string)
	return name
}

// output reads an output of the environment as planned.
func (p planned) output(name string, into any) error {
	output, ok := p.plan.RawPlan.PlannedValues.Outputs[name]
	if !ok {
		return fmt.Errorf("there is no output %s", name)
	}
	raw, err := json.Marshal(output.Value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// bill is one of the outputs on the worst case.
type bill struct {
	USD       *float64 `json:"usd"`
	Unbounded *string  `json:"unbounded"`
	Delay     float64  `json:"delay_seconds"`
}

// worstCase is the same, as `sekisho worst-case` computes it.
type worstCase struct {
	env         string
	PerHour     float64 `json:"usd_per_hour"`
	BeforeBrake float64 `json:"usd_before_brake"`
	WhileBraked float64 `json:"usd_while_braked"`
	threshold   float64
}

// verifyWorstCase holds Terraform's figures equal to those of the command line, which computes
// them from the ceilings in the plan; the ceilings to the planned resources; and the arithmetic
// to a file that people read.
func verifyWorstCase(t *testing.T, p planned, env string) worstCase {
	plan := filepath.Join(t.TempDir(), "plan.json")
	raw, err := json.Marshal(p.plan.RawPlan)
	must(t, err)
	must(t, os.WriteFile(plan, raw, 0o600))
	run := func(args ...string) string {
		out, code := binary.Run(t, nil, append([]string{"worst-case", plan}, args...)...)
		if code != 0 {
			t.Fatalf("sekisho worst-case: exit code %d: %s", code, out)
		}
		return out
	}
	w := worstCase{env: env, threshold: p.value(spendRate, "threshold").(float64)}
	must(t, json.Unmarshal([]byte(run("--json")), &w))
	for output, want := range map[string]float64{
		"worst_case_usd_per_hour": w.PerHour, "worst_case_usd_before_brake": w.BeforeBrake, "worst_case_usd_while_braked": w.WhileBraked,
	} {
		var got bill
		must(t, p.output(output, &got))
		if got.USD == nil || got.Unbounded != nil || math.Abs(*got.USD-want) > 0.001 {
			t.Errorf("%s is %+v, and sekisho worst-case says %v", output, got, want)
		}
	}
	if w.WhileBraked >= w.PerHour || w.BeforeBrake >= w.PerHour || w.WhileBraked <= 0 {
		t.Errorf("the brake saves nothing: %+v", w)
	}
	text := run()
	if strings.Contains(text, "-0.") || strings.Contains(text, "−") {
		t.Errorf("a row is negative: %s", text)
	}
	sameAsFile(t, "worst_case_"+strings.ReplaceAll(env, " ", "_")+".md", fmt.Sprintf("What bounds envs/%s, with 1,000 concurrent executions in the account: `sekisho worst-case` of its plan.\n\n%s", env, text))
	verifyCeilingsArePlanned(t, p)
	return w
}

// verifyCeilingsArePlanned: what the figures are computed from is what the resources get.
func verifyCeilingsArePlanned(t *testing.T, p planned) {
	var c struct {
		Throttle struct {
			Rate  float64 `json:"rate_per_second"`
			Burst float64 `json:"burst"`
		}
		Functions map[string]struct {
			Memory       float64 `json:"memory_mb"`
			Timeout      float64 `json:"timeout_seconds"`
			Architecture string
			Reserved     float64 `json:"reserved_concurrency"`
		}
		Tables     map[string]struct{ Read, Write *float64 }
		Unreserved float64 `json:"unreserved_concurrency"`
		Braked     []string
		Dispatch   string
		OAuth      map[string]struct{} `json:"oauth_routes"`
		Trip       struct {
			Delay float64 `json:"delay_seconds"`
		}
		Prices map[string]float64
	}
	must(t, p.output("ceilings", &c))
	settings := p.block("module.sekisho.module.api.aws_api_gateway_method_settings.this", "settings")
	if settings["throttling_rate_limit"] != c.Throttle.Rate || settings["throttling_burst_limit"] != c.Throttle.Burst {
		t.Errorf("the throttle is %v, the ceilings have %+v", settings, c.Throttle)
	}
	left := 1000.0 // the stand-in's quota of concurrent executions
	for role, f := range p.functions() {
		have := c.Functions[role]
		reserved, _ := f["reserved_concurrent_executions"].(float64)
		if have.Memory != f["memory_size"] || have.Timeout != f["timeout"] || have.Architecture != f["architectures"].([]any)[0] || have.Reserved != reserved {
			t.Errorf("%s gets %v MB, %v s, %v reserved; the ceilings have %+v", role, f["memory_size"], f["timeout"], reserved, have)
		}
		left -= max(0, reserved)
	}
	if len(c.Functions) != len(p.functions()) || c.Unreserved != left {
		t.Errorf("%d functions and %v unreserved, want %d and %v", len(c.Functions), c.Unreserved, len(p.functions()), left)
	}
	for _, role := range []string{"accounts", "usage"} {
		granted := p.block(fmt.Sprintf("module.sekisho.module.usage.aws_dynamodb_table.this[%q]", role), "on_demand_throughput")
		for kind, units := range map[string]*float64{"read": c.Tables[role].Read, "write": c.Tables[role].Write} {
			if n, _ := granted["max_"+kind+"_request_units"].(float64); units == nil && n > 0 || units != nil && *units != n {
				t.Errorf("table %s grants %v %ss, the ceilings have %v", role, n, kind, units)
			}
		}
	}
	want := braked(p.contract, "")
	if c.Dispatch == "direct" { // mcp says for itself that the brake is on
		want = slices.DeleteFunc(want, func(name string) bool { return name == "mcp" })
	}
	if len(c.OAuth) > 0 {
		want = append(want, "oauth")
		slices.Sort(want)
	}
	if !slices.Equal(slices.Sorted(slices.Values(c.Braked)), want) {
		t.Errorf("the brake stops %q, the ceilings have %q", want, c.Braked)
	}
	// Three minutes, and what it takes to see and to stop them.
	if want := 3*60.0 + 120 + 60 + 60; c.Trip.Delay != want {
		t.Errorf("the brake takes %v s, want %v", c.Trip.Delay, want)
	}
	for name, usd := range prices(t) {
		if math.Abs(c.Prices[name]-usd) > 1e-15 {
			t.Errorf("%s costs %v, the ceilings have %v", name, usd, c.Prices[name])
		}
	}
}

// sameAsFile compares with a file in testdata, or writes it.
func sameAsFile(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if string(want) != got {
		t.Errorf("%s is not what comes out now: go test ./tests/terraform -run TestMoney -update", path)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.00011 }

// prices of the table, in dollars for one.
func prices(t *testing.T) map[string]float64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, stack.Prices))
	must(t, err)
	var table struct {
		Prices map[string]struct{ USD, Per float64 }
	}
	must(t, json.Unmarshal(raw, &table))
	each := map[string]float64{}
	for name, row := range table.Prices {
		each[name] = row.USD / row.Per
	}
	return each
}

// verifyWorstCaseInReadme: the README quotes these figures.
func verifyWorstCaseInReadme(t *testing.T, worst []worstCase) {
	want := "| | Live alarm at | Worst hour | Until the brake has stopped it | An hour with the brake on |\n| --- | --- | --- | --- | --- |\n"
	for _, w := range worst {
		env, topology, other := strings.Cut(w.env, " ")
		if name := "`envs/" + env + "`"; other {
			env = name + ", " + topology
		} else {
			env = name
		}
		want += fmt.Sprintf("| %s | %.2f USD an hour | %.2f USD | %.2f USD | %.2f USD |\n", env, w.threshold, w.PerHour, w.BeforeBrake, w.WhileBraked)
	}
	const begin, end = "<!-- worst case: go test ./tests/terraform -run TestMoney -update -->\n", "<!-- end of worst case -->\n"
	path := filepath.Join(root, "README.md")
	raw, err := os.ReadFile(path)
	must(t, err)
	before, rest, ok := strings.Cut(string(raw), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no place for the worst case: a line %q and a line %q", begin, end)
	}
	want = "\n" + want + "\n"
	if *update {
		must(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
	} else if have != want {
		t.Errorf("README.md has other figures: go test ./tests/terraform -run TestMoney -update\n%s", want)
	}
}
