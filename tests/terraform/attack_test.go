package terraform_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/tests/terraform/metricmath"
)

const attacksIntro = `What strangers and runaway agents cost, what the alarms take it for, and what the brake leaves of it. A test evaluates the
alarms' own expressions minute by minute: ` + "`go test ./tests/terraform -run TestMoney -update`" + `. Quantities of a call are those that
` + "`sekisho cost`" + ` has measured, durations those that it assumes. Estimated and billed are US dollars an hour while the attack goes on.
"Trips after" counts from its start until the brake has stopped everything, four minutes after the last datapoint that the alarm needs.

`

// request is what one request of an attack does, per request.
type request struct {
	billed, integrationMS             float64 // requests that reach an integration, and how long that takes
	authorizer, settle, mcp, business float64 // starts
	reads, writes                     float64
	recordBytes, lineBytes, outBytes  float64
}

// attack is so many requests a second of one kind.
type attack struct {
	name      string
	perSecond float64
	of        request
	// turnedAway is the part of them that a throttle refuses; it costs a record and an answer.
	turnedAway float64
	// on reports whether the attack goes on in a minute.
	on func(minute int) bool
	// stopped: the brake closes its methods.
	stopped bool
}

// refused is a request that starts nothing: its record and the gateway's answer.
var refused = request{recordBytes: 150, outBytes: 750}

// durations that `sekisho cost` assumes, and the memory of the functions.
type durations struct {
	MS     map[string]float64 `json:"durations_ms"`
	Memory map[string]float64 `json:"memory_mb"`
}

// measuredRequest reads a kind of call from what `sekisho cost` has measured.
func measuredRequest(t *testing.T, kind string, d durations) request {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "functions/internal/money/cost/measured.json"))
	must(t, err)
	var m struct {
		Kinds map[string]struct {
			Calls       float64
			Requests    float64            `json:"billed_requests"`
			Invocations map[string]float64 `json:"invocations"`
			Reads       float64            `json:"read_units"`
			Writes      float64            `json:"write_units"`
			Records     float64            `json:"access_log_bytes"`
			Lines       float64            `json:"function_log_bytes"`
			Answers     float64            `json:"answer_bytes"`
		}
	}
	must(t, json.Unmarshal(raw, &m))
	k, ok := m.Kinds[kind]
	if !ok {
		t.Fatalf("measured.json has no %q", kind)
	}
	r := request{
		billed: k.Requests / k.Calls, reads: k.Reads / k.Calls, writes: k.Writes / k.Calls,
		recordBytes: k.Records / k.Calls, lineBytes: k.Lines / k.Calls, outBytes: k.Answers / k.Calls,
		authorizer: k.Invocations["authorizer"] / k.Calls, settle: k.Invocations["settle"] / k.Calls,
		mcp: k.Invocations["mcp"] / k.Calls, business: k.Invocations["business"] / k.Calls,
	}
	r.integrationMS = r.mcp*d.MS["mcp"] + r.business*d.MS["business"]
	return r
}

// attacks against a stage whose methods have this throttle.
func attacks(t *testing.T, throttle float64, tools int, d durations) []attack {
	always := func(int) bool { return true }
	// A POST to /mcp without a key: mcp says so in about 5 ms, and writes a line.
	anonymous := request{billed: 1, integrationMS: 5, mcp: 1, recordBytes: 112, lineBytes: 220, outBytes: 900}
	onMCP := func(perSecond float64) attack {
		return attack{
			name: fmt.Sprintf("%v anonymous calls of /mcp a second", perSecond), perSecond: perSecond, of: anonymous,
			turnedAway: max(0, 1-throttle/perSecond), on: always, stopped: true,
		}
	}
	return []attack{
		{name: "10 denied calls a second, by REST", perSecond: 10, of: measuredRequest(t, "denied rest warm", d), on: always, stopped: true},
		onMCP(20), onMCP(100),
		{name: "a runaway agent, 10 tool calls a second", perSecond: 10, of: measuredRequest(t, "admitted mcp warm", d), on: always, stopped: true},
		{name: "1,000 requests of unknown paths a second", perSecond: 1000, of: refused, on: always},
		{
			name: fmt.Sprintf("agents on all %d tools, two minutes on, three off", tools), perSecond: throttle * float64(tools),
			of: measuredRequest(t, "admitted rest warm", d), on: func(minute int) bool { return minute%5 < 2 }, stopped: true,
		},
	}
}

// usdPerHour is what AWS bills for the attack, by the prices and not by the alarm's expressions.
func (a attack) usdPerHour(t *testing.T, d durations) float64 {
	price := prices(t)
	each := func(r request) float64 {
		gbSeconds := 0.0
		for name, starts := range map[string]float64{"authorizer": r.authorizer, "settle": r.settle, "business": r.business} {
			gbSeconds += starts * d.MS[name] / 1000 * d.Memory[name] / 1024
		}
		mcpMS := d.MS["mcp"]
		if r.integrationMS < mcpMS {
			mcpMS = r.integrationMS // of an anonymous call, mcp is all there is
		}
		gbSeconds += r.mcp * mcpMS / 1000 * d.Memory["mcp"] / 1024
		return r.billed*price["apigateway_rest_request"] +
			(r.authorizer+r.settle+r.mcp+r.business)*price["lambda_request"] + gbSeconds*price["lambda_arm64_gb_second"] +
			r.reads*price["dynamodb_read_unit"] + r.writes*price["dynamodb_write_unit"] +
			(r.recordBytes+r.lineBytes)/1e9*price["logs_ingested_gb"] + r.outBytes/1e9*price["data_out_gb"]
	}
	return 3600 * a.perSecond * ((1-a.turnedAway)*each(a.of) + a.turnedAway*each(refused))
}

// frame is the alarm's metrics over periods of so many minutes.
func (a attack) frame(alarm queries, periods, minutes int, d durations) metricmath.Frame {
	passed := a.perSecond * 60 * (1 - a.turnedAway)
	perMinute := map[string]float64{
		"requests": a.perSecond * 60 * requestsOf(a.of), "billed": passed * a.of.billed, "integration_ms": passed * a.of.integrationMS,
		"authorizer_ms": passed * a.of.authorizer * d.MS["authorizer"], "authorizer_runs": passed * a.of.authorizer,
		"settle_ms": passed * a.of.settle * d.MS["settle"], "usage_writes": passed * a.of.writes, "usage_reads": 0,
		"accounts_writes": 0, "accounts_reads": passed * a.of.reads,
	}
	f := metricmath.Frame{Times: make([]time.Time, periods), Metrics: map[string]metricmath.Series{}, Expressions: alarm.expressions}
	for id := range alarm.metrics {
		series := make(metricmath.Series, periods)
		for minute := range periods * minutes {
			if a.on(minute) {
				series[minute/minutes] += perMinute[id]
			}
		}
		for i, v := range series {
			if v == 0 {
				series[i] = metricmath.Missing // AWS has no datapoint where nothing happened
			}
		}
		f.Metrics[id] = series
	}
	return f
}

// requestsOf is how many requests the gateway counts: a call by MCP is two.
func requestsOf(r request) float64 { return max(1, r.mcp+r.authorizer) }

// trips is the first second at which an alarm has tripped and the brake has stopped everything;
// ok is false if it never does in six hours.
func (a attack) trips(t *testing.T, p planned, address string, d durations) (seconds float64, estimate float64, ok bool) {
	t.Helper()
	list, _ := p.value(address, "metric_query").([]any)
	period := 0.0
	for _, item := range list {
		if m, _ := item.(map[string]any)["metric"].([]any); len(m) == 1 {
			period = m[0].(map[string]any)["period"].(float64)
		}
	}
	minutes := int(period / 60)
	frame := a.frame(queriesOf(t, p, address, period), 6*60/minutes, minutes, d)
	got, err := frame.Eval("usd_per_hour")
	must(t, err)
	threshold := p.value(address, "threshold").(float64)
	of, needed := int(p.value(address, "evaluation_periods").(float64)), int(p.value(address, "datapoints_to_alarm").(float64))
	const untilStopped = 120 + 60 + 60 // until metrics are there, the alarm looks, and all is stopped
	for i := range got {
		above := 0
		for _, usd := range got[max(0, i-of+1) : i+1] {
			if usd > threshold {
				above++
			}
		}
		if above >= needed {
			return float64(i+1)*period + untilStopped, got[0], true
		}
	}
	return 0, got[0], false
}

// underAttack is the table of an environment, and checks what must hold in every row.
func underAttack(t *testing.T, p planned, env string) string {
	out, code := binary.Run(t, nil, "cost", "--calls", "1", "--format", "json")
	if code != 0 {
		t.Fatalf("sekisho cost: %s", out)
	}
	var d durations
	must(t, json.Unmarshal([]byte(out), &d))
	throttle := p.block("module.sekisho.module.api.aws_api_gateway_method_settings.this", "settings")["throttling_rate_limit"].(float64)
	tools := 0
	for path, item := range p.contract.Paths {
		for range item {
			if strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/v1/user/") && path != "/v1/health" {
				tools++
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## envs/%s\n\nThe alarms trip above %v USD an hour; each method lets %v requests a second through.\n\n", env, p.value(spendRate, "threshold"), throttle)
	b.WriteString("| Attack | Estimated | Billed | Trips after | Spent by then | An hour after |\n| --- | ---: | ---: | --- | ---: | ---: |\n")
	for _, a := range attacks(t, throttle, tools, d) {
		short, estimate, trips := a.trips(t, p, spendRate, d)
		long, _, tripsLong := a.trips(t, p, spendAverage, d)
		if tripsLong && (!trips || long < short) {
			short, trips = long, true
		}
		billed := a.usdPerHour(t, d)
		// The alarm must neither stop a stack for what AWS doesn't bill, nor miss what it does.
		if ratio := estimate / billed; ratio < 0.9 || ratio > 1.5 {
			t.Errorf("%s: estimated at %.3f USD an hour, and AWS bills %.3f", a.name, estimate, billed)
		}
		after := billed
		if a.stopped {
			r := a
			r.turnedAway = 1
			after = r.usdPerHour(t, d)
			if after > billed/2 {
				t.Errorf("%s: %.3f USD an hour, and %.3f with the brake on", a.name, billed, after)
			}
		}
		when, spent, rest := "never", "", ""
		if trips {
			when = (time.Duration(short) * time.Second).String()
			spent = fmt.Sprintf("%.3f", a.spentBy(short, billed))
			rest = fmt.Sprintf("%.3f", after)
		}
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %s | %s | %s |\n", a.name, estimate, billed, when, spent, rest)
	}
	return b.String()
}

func (a attack) spentBy(seconds, perHour float64) float64 {
	on := 0.0
	for minute := 0; float64(minute*60) < seconds; minute++ {
		if a.on(minute) {
			on += math.Min(60, seconds-float64(minute*60))
		}
	}
	return perHour * on / 3600
}
