package cost_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/money/cost"
	"sekisho/tests/awsfake/moto"
)

var update = flag.Bool("update", false, "write the files that these tests compare with")

var emulator moto.Shared

func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }

// thousand is how many calls of each kind are made by each way, cold and warm, and denied ones in a
// burst, too: 1,250 in total.
var thousand = map[cost.Outcome]int{cost.Admitted: 40, cost.Denied: 15, cost.Failed: 20}

// burst is how many calls are denied in a burst: what settle gets in two deliveries, the first of
// them alone.
const burst = 100

// TestMeasured makes 1,250 calls to the service and compares what they did with the figures
// in measured.json. Counts must be equal; bytes may differ by 3 %, since times and IDs vary
// in length.
func TestMeasured(t *testing.T) {
	got := cost.Measurement{
		Note: "What calls made the service do, in total. Written by TestMeasured (make generate). " +
			"laptop_ms: medians of the functions' durations on the machine that made this, over an emulator of DynamoDB.",
		LaptopMS: map[string]int64{}, Kinds: map[string]cost.Counts{},
	}
	for _, via := range append(slices.Clone(cost.Topologies), cost.OAuth) {
		w := newWorld(t, via)
		if via == cost.MCP {
			got.Visits = w.visits(10)
		}
		if via == cost.OAuth {
			maps.Copy(got.Visits, w.signIns(10))
		}
		for _, kind := range cost.Kinds() {
			if kind.Via != via && !(kind.Via == cost.REST && via == cost.MCP) {
				continue
			}
			n := thousand[kind.Outcome]
			if kind.State == cost.Burst {
				n = burst
			}
			got.Kinds[kind.String()] = w.measure(kind, n)
		}
		w.durationsTo(got.LaptopMS, via)
		if unknown := w.Wire.Uncounted(); len(unknown) > 0 {
			t.Errorf("%s: requests to DynamoDB that were not counted: %v", via, unknown)
		}
		t.Logf("%s: the largest item has %d bytes", via, w.Wire.Largest())
	}
	total := int64(0)
	for _, counts := range got.Kinds {
		total += counts.Calls
	}
	if total != 1250 {
		t.Errorf("%d calls, want 1,250", total)
	}
	if *update {
		write(t, "measured.json", got)
		return
	}
	want, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	for visit, counts := range got.Visits {
		for _, difference := range compare(counts, want.Visits[visit]) {
			t.Errorf("%s: %s. If that is meant, run make generate, and look at what a visit costs now", visit, difference)
		}
	}
	for name, counts := range got.Kinds {
		for _, difference := range compare(counts, want.Kinds[name]) {
			t.Errorf("%s: %s. If that is meant, run make generate, and look at what a call costs now", name, difference)
		}
	}
}

// measure makes n calls of a kind, one after the other, and delivers each one's log record
// to settle before the next: one delivery per record is the most that can be billed. Only in a
// burst settle is kept waiting with the first record.
func (w *world) measure(kind cost.Kind, n int) cost.Counts {
	w.t.Helper()
	plan, code := plentiful, "1000001"
	switch kind.Outcome {
	case cost.Denied:
		plan = used1
	case cost.Failed:
		code = "0000000"
	}
	key := w.credential(kind.Via, plan, strings.ReplaceAll(kind.String(), " ", "-"))
	if kind.Outcome == cost.Denied {
		w.call(kind.Via, key, "1000001") // uses up the plan's only call
	}
	w.forget()
	if kind.State != cost.Cold {
		w.one(kind, key, code)
		w.flush()
	}
	return w.count(n, kind.State == cost.Burst, func() int64 {
		if kind.State == cost.Cold {
			w.forget()
		}
		return w.one(kind, key, code)
	})
}

// count does something n times, which returns the size of its answers. In a burst what settle does is
// awaited one by one.
func (w *world) count(n int, burst bool, do func() int64) cost.Counts {
	w.t.Helper()
	before := w.invocations()
	w.Wire.Take()
	atDoor, billed, accessBytes, logBytes := w.AtDoor.Load(), w.access.billed.Load(), w.access.bytes.Load(), w.logs.bytes.Load()
	c := cost.Counts{Calls: int64(n), Invocations: map[string]int64{}}
	w.settle.set(burst)
	for range n {
		c.AnswerBytes += do()
		if burst {
			w.settle.awaitOne()
			continue
		}
		w.flush()
	}
	w.settle.set(false)
	w.flush()
	c.ReadUnits, c.WriteUnits = w.Wire.Take().Units()
	c.BilledRequests, c.AccessLogBytes = w.access.billed.Load()-billed, w.access.bytes.Load()-accessBytes
	c.HTTPRequests = w.AtDoor.Load() - atDoor
	c.FunctionLogBytes = w.logs.bytes.Load() - logBytes
	for name, now := range w.invocations() {
		if d := now - before[name]; d > 0 {
			c.Invocations[name] = d
		}
	}
	return c
}

// one makes a call and checks that its outcome is that of its kind.
func (w *world) one(kind cost.Kind, key, code string) (size int64) {
	w.t.Helper()
	status, body, size := w.call(kind.Via, key, code)
	want := map[cost.Outcome]struct {
		status int
		says   string
	}{
		cost.Admitted: {200, "千代田"}, cost.Failed: {404, "not_found"}, cost.Denied: {429, "limit_exceeded"},
	}[kind.Outcome]
	if kind.Via != cost.REST {
		want.status = 200
	}
	if status != want.status || !strings.Contains(body, want.says) {
		w.t.Fatalf("%s: answer %d %s", kind, status, body)
	}
	return size
}

// flush waits until settle has everything.
func (w *world) flush() {
	w.t.Helper()
	if err := w.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// durationsTo adds the medians: of all functions by proxy, of mcp where it dispatches by itself, and of
// what people sign in at.
func (w *world) durationsTo(ms map[string]int64, via cost.Via) {
	if via == cost.OAuth {
		ms[cost.SignInFunction] = w.median(cost.SignInFunction)
		return
	}
	if via != cost.MCP {
		ms["mcp direct"] = w.median("mcp")
		return
	}
	for _, name := range cost.Functions {
		ms[name] = w.median(name)
	}
}

func compare(got, want cost.Counts) (differences []string) {
	exact := func(what string, got, want int64) {
		if got != want {
			differences = append(differences, fmt.Sprintf("%s: %d, measured.json has %d", what, got, want))
		}
	}
	near := func(what string, got, want int64) {
		if d := got - want; d*100 > want*3 || -d*100 > want*3 {
			differences = append(differences, fmt.Sprintf("%s: %d, measured.json has %d", what, got, want))
		}
	}
	exact("calls", got.Calls, want.Calls)
	exact("billed requests to the API", got.BilledRequests, want.BilledRequests)
	exact("billed requests to an HTTP API", got.HTTPRequests, want.HTTPRequests)
	exact("read units", got.ReadUnits, want.ReadUnits)
	exact("write units", got.WriteUnits, want.WriteUnits)
	if !maps.Equal(got.Invocations, want.Invocations) {
		differences = append(differences, fmt.Sprintf("invocations: %v, measured.json has %v", got.Invocations, want.Invocations))
	}
	near("bytes of the access log", got.AccessLogBytes, want.AccessLogBytes)
	near("bytes of the functions' logs", got.FunctionLogBytes, want.FunctionLogBytes)
	near("bytes of the answers", got.AnswerBytes, want.AnswerBytes)
	return differences
}

func write(t *testing.T, path string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
