package terraform_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	for _, env := range []string{"dev", "prod"} {
		s := prepare(t, dir, "envs/"+env, map[string]any{"dist": dist})
		plan, err := s.Plan(t, t.Context())
		must(t, err)
		p, err := read(plan, dir)
		must(t, err)
		t.Run(env+"/spend rate", func(t *testing.T) { verifySpendRate(t, p) })
		t.Run(env+"/dashboard", func(t *testing.T) { verifyDashboard(t, p) })
		t.Run(env+"/worst case", func(t *testing.T) { worst = append(worst, verifyWorstCase(t, p, env)) })
	}
	t.Run("README", func(t *testing.T) { verifyWorstCaseInReadme(t, worst) })
}

const spendRate = "module.sekisho.module.spend_alarm.aws_cloudwatch_metric_alarm.this"

// verifySpendRate evaluates the alarm's expressions over minutes that are made up, against
// dollars that were computed by hand. Prices are those of prices.json: 3.50 for a million
// requests, 0.20 for a million starts, 0.0000133334 for a GB-second, 0.625 and 0.125 for a
// million units, 0.50 and 0.09 for a GB.
func verifySpendRate(t *testing.T, p planned) {
	alarm := queriesOf(t, p, spendRate)
	if n := len(alarm.metrics); n != 10 {
		t.Errorf("the alarm reads %d metrics, and CloudWatch lets it read 10: %v", n, slices.Sorted(maps.Keys(alarm.metrics)))
	}
	for id, want := range map[string]string{
		"requests":       "AWS/ApiGateway Count ApiName=STACK Stage=live",
		"integration_ms": "AWS/ApiGateway IntegrationLatency ApiName=STACK Stage=live",
		"authorizer_ms":  "AWS/Lambda Duration FunctionName=STACK-authorizer", "settle_ms": "AWS/Lambda Duration FunctionName=STACK-settle",
		"mcp_ms": "AWS/Lambda Duration FunctionName=STACK-mcp", "mcp_runs": "AWS/Lambda Invocations FunctionName=STACK-mcp",
		"usage_writes": "AWS/DynamoDB ConsumedWriteCapacityUnits TableName=STACK-usage", "usage_reads": "AWS/DynamoDB ConsumedReadCapacityUnits TableName=STACK-usage",
		"accounts_writes": "AWS/DynamoDB ConsumedWriteCapacityUnits TableName=STACK-accounts", "accounts_reads": "AWS/DynamoDB ConsumedReadCapacityUnits TableName=STACK-accounts",
	} {
		if got, want := alarm.metrics[id], strings.ReplaceAll(want, "STACK", p.name()); got != want {
			t.Errorf("%s is %q, want the sum over 60 seconds of %q", id, got, want)
		}
	}

	none := metricmath.Missing
	minutes := map[string]metricmath.Series{
		// A busy minute; nothing at all; refusals only; a call that is in one metric and not yet
		// in the other.
		"requests":       {1200, none, 3000, none},
		"integration_ms": {150_000, none, none, 400},
		"authorizer_ms":  {6_000, none, 3_000, none},
		"mcp_ms":         {90_000, none, none, 600},
		"mcp_runs":       {600, none, none, 1},
		"settle_ms":      {500, none, none, none},
		"usage_writes":   {600, none, none, none}, "usage_reads": {20, none, none, none},
		"accounts_writes": {2, none, none, none}, "accounts_reads": {100, none, 1, none},
	}
	// The functions behind the API other than mcp: 60 s in the first minute, none in the last.
	behindGB := 0.0
	for _, item := range p.contract.Paths {
		for _, op := range item {
			if role := op.Sekisho.Function; role != "" && role != "mcp" {
				behindGB = max(behindGB, p.functions()[role]["memory_size"].(float64)/1024)
			}
		}
	}
	want := metricmath.Series{
		60 * (0.0042 + // 1200 × 3.50 / 1000000
			0.0006 + // (3 × 1200 − 600) × 0.20 / 1000000
			46.5625*0.0000133334 + // 6 s × 0.25 GB + 90 s × 0.5 GB + 0.5 s × 0.125 GB
			60*behindGB*0.0000133334 +
			0.00037625 + 0.000015 + // 602 writes × 0.625 / 1000000, 120 reads × 0.125 / 1000000
			0.001121184), // 1200 × (1500 × 0.50 + 2048 × 0.09) / 1000000000
		0,
		60 * (0.0105 + 0.0018 + 0.75*0.0000133334 + 0.000000125 + 0.00280296),
		60 * (-0.0000002 + 0.3*0.0000133334), // the one start of mcp, whose request is not counted yet
	}
	frame := metricmath.Frame{Times: make([]time.Time, len(want)), Metrics: minutes, Expressions: alarm.expressions}
	if err := differs(frame, alarm.watched, want); err != nil {
		t.Error(err)
	}

	// The check is worth something only if a wrong expression fails it, so each is made wrong.
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
	metrics     map[string]string // namespace, name and dimensions
	expressions map[string]string
	watched     string
}

func queriesOf(t *testing.T, p planned, address string) queries {
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
		if metric["stat"] != "Sum" || metric["period"] != 60.0 {
			t.Errorf("%s is the %v over %v s, want the sum over 60", id, metric["stat"], metric["period"])
		}
		what := fmt.Sprintf("%s %s", metric["namespace"], metric["metric_name"])
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

// bill is either of the two outputs on the worst case.
type bill struct {
	USD       *float64 `json:"usd"`
	Unbounded *string  `json:"unbounded"`
	How       string   `json:"how"`
	Bound     string   `json:"bound"`
	Delay     float64  `json:"delay_seconds"`
	Prices    string   `json:"prices"`
	Parts     map[string]bill
}

// worstCase is the same, computed here from the planned resources.
type worstCase struct {
	env         string
	lines       [][3]string // part, arithmetic, dollars
	perHour     float64
	beforeBrake float64
	threshold   float64
}

// What one request can come to at the most, and the seconds until the brake has stopped
// everything. modules/worst_case and modules/spend_alarm give the reasons.
const (
	mostLogBytes, mostAnswerBytes = 4096, 65536
	mostWriteUnits, mostReadUnits = 8, 8
	brakeDelay                    = 3*60 + 120 + 60 + 60
)

// verifyWorstCase computes the worst case from the planned resources, not from Terraform's
// locals, and compares the figures; and the arithmetic with a file that people read.
func verifyWorstCase(t *testing.T, p planned, env string) worstCase {
	w := addUp(t, p, env)
	var told, before bill
	must(t, p.output("worst_case_usd_per_hour", &told))
	must(t, p.output("worst_case_usd_before_brake", &before))
	if told.USD == nil || told.Unbounded != nil {
		t.Fatalf("the worst hour of envs/%s is %+v, want a figure", env, told)
	}
	if !near(*told.USD, w.perHour) {
		t.Errorf("the worst hour is given as %v USD, and comes to %v", *told.USD, w.perHour)
	}
	if before.USD == nil || !near(*before.USD, w.beforeBrake) || before.Delay != brakeDelay {
		t.Errorf("before the brake: %+v, want %v USD in %d s", before, w.beforeBrake, brakeDelay)
	}
	if told.Prices != "Prices of us-east-1." {
		t.Errorf("prices: %s", told.Prices)
	}
	if len(told.Parts) != len(w.lines) {
		t.Errorf("there are %d parts, want %d", len(told.Parts), len(w.lines))
	}
	for _, line := range w.lines {
		part, ok := told.Parts[line[0]]
		if !ok || part.USD == nil || fmt.Sprintf("%.4f", *part.USD) != line[2] {
			t.Errorf("%s is given as %+v, want %s USD = %s", line[0], part, line[2], line[1])
			continue
		}
		if part.How != line[1] {
			t.Errorf("%s: the arithmetic is given as\n%s, want\n%s", line[0], part.How, line[1])
		}
	}
	path := filepath.Join("testdata", "worst_case_"+env+".md")
	if *update {
		must(t, os.WriteFile(path, []byte(w.markdown()), 0o644))
	}
	file, err := os.ReadFile(path)
	must(t, err)
	if string(file) != w.markdown() {
		t.Errorf("%s is not what comes out now: go test ./tests/terraform -run TestMoney -update", path)
	}
	return w
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

// addUp adds up the ceilings that the plan holds.
func addUp(t *testing.T, p planned, env string) worstCase {
	t.Helper()
	const quota, million = 1000, 1000000 // the stand-in's quota of concurrent executions
	price := prices(t)
	w := worstCase{env: env}
	add := func(part string, usd float64, arithmetic string, values ...any) {
		if usd = math.Ceil(usd*10000-0.000001) / 10000; usd == 0 {
			usd = 0 // not -0
		}
		w.perHour += usd
		w.lines = append(w.lines, [3]string{part, fmt.Sprintf(arithmetic, values...), fmt.Sprintf("%.4f", usd)})
	}

	settings := p.block("module.sekisho.module.api.aws_api_gateway_method_settings.this", "settings")
	rate, burst := settings["throttling_rate_limit"].(float64), settings["throttling_burst_limit"].(float64)
	methods, started := 0.0, map[string]float64{}
	for _, item := range p.body.Paths {
		for _, op := range item {
			methods++
			if access(op) == "key" {
				started["authorizer"]++
			}
			if function := served(op); function != "gateway" {
				started[strings.TrimPrefix(function, p.name()+"-")]++
			}
		}
	}
	started["settle"] = 3 * methods // a record that settle fails on is delivered three times
	perMethod := rate*3600 + burst
	requests := methods * perMethod
	add("gateway", requests*price["apigateway_rest_request"],
		"%v methods × (%v per second × 3600 s + %v at once) = %v requests × %v / %d", methods, rate, burst, dec(requests), dec(price["apigateway_rest_request"]*million), million)

	unreserved := float64(quota)
	for _, f := range p.functions() {
		unreserved -= max(0, f["reserved_concurrent_executions"].(float64))
	}
	var hanging []hang
	for role, f := range p.functions() {
		gb, timeout, reserved := f["memory_size"].(float64)/1024, f["timeout"].(float64), f["reserved_concurrent_executions"].(float64)
		starts := started[role] * perMethod
		gbSecond := map[string]float64{"arm64": price["lambda_arm64_gb_second"], "x86_64": price["lambda_x86_64_gb_second"]}[f["architectures"].([]any)[0].(string)]
		seconds, how := starts*timeout, fmt.Sprintf("%v starts × %v s", dec(starts), timeout)
		places, which := unreserved, fmt.Sprintf("%v unreserved in the account", unreserved)
		switch {
		case reserved >= 0:
			places, which = reserved, fmt.Sprintf("%v reserved", reserved)
		case starts == 0: // messages start it, one by one
			places, which = 1, "1, as messages come one by one"
		}
		if starts == 0 || places*3600 < seconds {
			seconds, how = places*3600, which+" × 3600 s"
		}
		if reserved < 0 && starts > 0 {
			hanging = append(hanging, hang{places: seconds / 3600, usd: 3600 * gb * gbSecond})
		}
		how += fmt.Sprintf(" × %v GB × %v", gb, dec(gbSecond))
		if starts > 0 {
			how += fmt.Sprintf(" + %v starts × %v / %d", dec(starts), dec(price["lambda_request"]*million), million)
		}
		add("function "+role, seconds*gb*gbSecond+starts*price["lambda_request"], "%s", how)
	}

	wanted, all, granted := share(hanging, unreserved)
	add("functions share the account", granted-all, "%.2f places wanted, %v left in the account, which the most expensive take: %.4f − %.4f", wanted, unreserved, granted, all)

	for kind, most := range map[string]float64{"write": mostWriteUnits, "read": mostReadUnits} {
		each := price["dynamodb_"+kind+"_unit"]
		units, how := requests*most, fmt.Sprintf("%v requests × %v units", dec(requests), most)
		if granted, list := p.tableUnits(kind); granted > 0 && granted*3600 < units {
			units, how = granted*3600, "("+list+") units per second × 3600 s"
		}
		add("dynamodb "+kind+"s", units*each, "%s × %v / %d", how, dec(each*million), million)
	}
	add("logs", requests*mostLogBytes/1e9*price["logs_ingested_gb"], "%v requests × %d bytes / 1000000000 × %v", dec(requests), mostLogBytes, price["logs_ingested_gb"])
	add("data_out", requests*mostAnswerBytes/1e9*price["data_out_gb"], "%v requests × %d bytes / 1000000000 × %v", dec(requests), mostAnswerBytes, price["data_out_gb"])

	slices.SortFunc(w.lines, func(a, b [3]string) int { return strings.Compare(a[0], b[0]) })
	w.beforeBrake = math.Ceil(w.perHour*brakeDelay/3600*10000-0.000001) / 10000
	w.threshold = p.value(spendRate, "threshold").(float64)
	return w
}

// hang is a function without a reservation that hangs all the time: how many places of the
// account it takes, and what one costs in an hour.
type hang struct{ places, usd float64 }

// share gives the account's places to the most expensive, and returns how many were wanted, what those
// would cost, and what the ones cost that there are.
func share(hanging []hang, left float64) (wanted, all, granted float64) {
	slices.SortFunc(hanging, func(a, b hang) int { return cmp.Compare(b.usd, a.usd) })
	for _, h := range hanging {
		wanted += h.places
		all += h.places * h.usd
		granted += min(h.places, left) * h.usd
		left -= min(h.places, left)
	}
	return wanted, all, granted
}

// dec is a number that is written without an exponent and without a rounding error of a
// division that was undone.
type dec float64

func (d dec) String() string {
	text := strconv.FormatFloat(float64(d), 'f', 10, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// tableUnits are the units per second that all tables together grant; 0 without a ceiling.
func (p planned) tableUnits(kind string) (sum float64, list string) {
	var each []string
	for _, role := range []string{"accounts", "usage"} {
		ceiling := p.block(fmt.Sprintf("module.sekisho.module.usage.aws_dynamodb_table.this[%q]", role), "on_demand_throughput")
		units, _ := ceiling["max_"+kind+"_request_units"].(float64)
		if units <= 0 {
			return 0, ""
		}
		sum += units
		each = append(each, fmt.Sprint(units))
	}
	return sum, strings.Join(each, " + ")
}

func (w worstCase) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The worst hour of envs/%s, from its ceilings (1,000 concurrent executions in the account):\n\n| Part | Arithmetic | USD |\n| --- | --- | ---: |\n", w.env)
	for _, line := range w.lines {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", line[0], line[1], line[2])
	}
	fmt.Fprintf(&b, "| **an hour** | | **%.4f** |\n", w.perHour)
	fmt.Fprintf(&b, "| **before the brake** | %.4f × %d s / 3600 s | **%.4f** |\n", w.perHour, brakeDelay, w.beforeBrake)
	return b.String()
}

const (
	worstBegin = "<!-- worst case: go test ./tests/terraform -run TestMoney -update -->\n"
	worstEnd   = "<!-- end of worst case -->\n"
)

// verifyWorstCaseInReadme: the README quotes these figures.
func verifyWorstCaseInReadme(t *testing.T, worst []worstCase) {
	path := filepath.Join(root, "README.md")
	raw, err := os.ReadFile(path)
	must(t, err)
	before, rest, ok := strings.Cut(string(raw), worstBegin)
	have, after, ok2 := strings.Cut(rest, worstEnd)
	if !ok || !ok2 {
		t.Fatalf("README.md has no place for the worst case: a line %q and a line %q", worstBegin, worstEnd)
	}
	want := "\n| | Live alarm at | Worst hour | Until the brake has stopped it |\n| --- | --- | --- | --- |\n"
	for _, w := range worst {
		want += fmt.Sprintf("| `envs/%s` | %.2f USD an hour | %.2f USD | %.2f USD |\n", w.env, w.threshold, w.perHour, w.beforeBrake)
	}
	want += "\n"
	if *update {
		must(t, os.WriteFile(path, []byte(before+worstBegin+want+worstEnd+after), 0o644))
	} else if have != want {
		t.Errorf("README.md tells other figures: go test ./tests/terraform -run TestMoney -update\n%s", want)
	}
}
