package chargeback_test

import (
	"io"
	"maps"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sekisho/functions/internal/money/chargeback"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

func prices() chargeback.Prices {
	return chargeback.Prices{
		Admitted: big.NewRat(10, 1), Failed: big.NewRat(20, 1), Denied: big.NewRat(5, 1),
		Units: map[string]int64{"heavy": 3, "exempt": 0},
	}
}

func meter(id string, counts usage.Counts) chargeback.Meter {
	return chargeback.Meter{ID: id, User: "u-" + id, Plan: "free", Name: "n", Counts: counts}
}

func light(meter string) chargeback.Subject {
	return chargeback.Subject{Meter: meter, Operation: "light", Why: problem.LimitExceeded}
}

func operations(of map[string][2]int64) map[string]usage.OperationCounts {
	out := map[string]usage.OperationCounts{}
	for name, n := range of {
		out[name] = usage.OperationCounts{Charged: n[0], Refunded: n[1]}
	}
	return out
}

// TestSplit compares with a split worked out by hand. Weights: heavy has 2 calls that
// succeeded and 1 that failed, 2×10 + 1×20 = 40; light has 4 that succeeded, 40, and 4 denied,
// 20; not in the log are 2 denied, 10; b has none. The total is 110.
func TestSplit(t *testing.T) {
	a := meter("a", usage.Counts{Used: 10, Refunded: 3, Denied: 6, Operations: operations(map[string][2]int64{"heavy": {9, 3}, "light": {4, 0}})})
	b := meter("b", usage.Counts{})
	sheet := chargeback.Split([]chargeback.Meter{b, a}, chargeback.Denials{light("a"): 4, light("gone"): 7}, prices(), big.NewRat(11, 1))
	want := []chargeback.Row{
		{Meter: "a", User: "u-a", Plan: "free", Name: "n", Tool: chargeback.NotInLog, Denied: 2, Share: 90_909, Cents: 100},
		{Meter: "a", User: "u-a", Plan: "free", Name: "n", Tool: "heavy", Charged: 9, Refunded: 3, Share: 363_636, Cents: 400},
		{Meter: "a", User: "u-a", Plan: "free", Name: "n", Tool: "light", Charged: 4, Denied: 4, Share: 545_455, Cents: 600},
	}
	if len(sheet.Rows) != len(want) {
		t.Fatalf("%+v", sheet.Rows)
	}
	for i := range want {
		if sheet.Rows[i] != want[i] {
			t.Errorf("row %d: %+v, want %+v", i, sheet.Rows[i], want[i])
		}
	}
	if sheet.Strangers != 7 || sheet.Unshared {
		t.Errorf("strangers %d, unshared %t", sheet.Strangers, sheet.Unshared)
	}
}

// TestLogAhead: what is logged but not counted yet gets a negative row, and shares still add
// up.
func TestLogAhead(t *testing.T) {
	a := meter("a", usage.Counts{Used: 1, Denied: 1, Operations: operations(map[string][2]int64{"light": {1, 0}})})
	sheet := chargeback.Split([]chargeback.Meter{a}, chargeback.Denials{light("a"): 3}, prices(), big.NewRat(1, 1))
	last := sheet.Rows[0]
	if len(sheet.Rows) != 2 || last.Tool != chargeback.NotCounted || last.Denied != -2 || last.Share != 0 {
		t.Errorf("%+v", sheet.Rows)
	}
	if total := sheet.Total(); total.Denied != 1 || total.Share != 1_000_000 || total.Cents != 100 {
		t.Errorf("totals %+v", total)
	}
}

// figures leaves out the texts.
func figures(s chargeback.Sum) chargeback.Row {
	return chargeback.Row{Charged: s.Charged, Refunded: s.Refunded, Denied: s.Denied, Share: s.Share, Cents: s.Cents}
}

// TestBy: rows with one name become one sum, the largest first; its texts are those of the first.
func TestBy(t *testing.T) {
	sheet := chargeback.Sheet{Rows: []chargeback.Row{
		{Meter: "a", Tool: "light", Charged: 5, Refunded: 1, Denied: 2, Share: 200, Cents: 2},
		{Meter: "a", Tool: "heavy", Charged: 3, Share: 100, Cents: 1},
		{Meter: "b", Tool: "light", Charged: 9, Refunded: 9, Denied: 1, Share: 700, Cents: 7},
	}}
	sums := sheet.By(func(r chargeback.Row) string { return r.Meter })
	if len(sums) != 2 || sums[0].Meter != "b" || sums[1].Tool != "light" || sums[1].Rows != 2 || sums[1].Succeeded() != 7 || sums[1].Denied != 2 || sums[1].Share != 300 {
		t.Errorf("%+v", sums)
	}
}

// TestTotalsAreTheCounters: whatever counters and log say, the sums equal the counters, and
// all shares and cents are handed out.
func TestTotalsAreTheCounters(t *testing.T) {
	tools := rapid.SampledFrom([]string{"heavy", "light", "exempt", "odd"})
	rapid.Check(t, func(t *rapid.T) {
		var meters []chargeback.Meter
		denials := chargeback.Denials{}
		var want chargeback.Row
		for _, id := range []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(t, "meters")] {
			counts := usage.Counts{Operations: map[string]usage.OperationCounts{}, Denied: rapid.Int64Range(0, 9).Draw(t, "denied")}
			for range rapid.IntRange(0, 3).Draw(t, "tools") {
				charged := rapid.Int64Range(0, 100).Draw(t, "charged")
				counts.Operations[tools.Draw(t, "tool")] = usage.OperationCounts{
					Charged: charged, Refunded: rapid.Int64Range(0, charged).Draw(t, "refunded"),
				}
			}
			for _, o := range counts.Operations {
				counts.Used += o.Charged - o.Refunded
				counts.Refunded += o.Refunded
			}
			// Units that no operation accounts for, as an older version's store may have.
			extra := rapid.Int64Range(0, 2).Draw(t, "extra")
			counts.Used += extra
			for range rapid.IntRange(0, 2).Draw(t, "logged") {
				denials[chargeback.Subject{Meter: id, Operation: tools.Draw(t, "operation"), Why: problem.LimitExceeded}] = rapid.Int64Range(0, 9).Draw(t, "times")
			}
			want.Charged += counts.Used + counts.Refunded
			want.Refunded += counts.Refunded
			want.Denied += counts.Denied
			meters = append(meters, meter(id, counts))
		}
		cents := rapid.Int64Range(0, 100_000).Draw(t, "cents")
		sheet := chargeback.Split(meters, denials, prices(), big.NewRat(cents, 100))
		if !sheet.Unshared {
			want.Share, want.Cents = 1_000_000, cents
		}
		total := figures(sheet.Total())
		if total != want {
			t.Fatalf("totals %+v, want %+v, rows %+v", total, want, sheet.Rows)
		}
		for _, by := range []func(chargeback.Row) string{
			func(r chargeback.Row) string { return r.Meter }, func(r chargeback.Row) string { return r.Tool }, func(r chargeback.Row) string { return "" },
		} {
			if got := figures(chargeback.Merge(sheet.By(by))); got != want {
				t.Fatalf("the groups add up to %+v, want %+v", got, want)
			}
		}
		for _, r := range sheet.Rows {
			if r.Share < 0 || r.Cents < 0 || r.Charged < 0 || r.Refunded < 0 || (r.Denied < 0 && r.Tool != chargeback.NotCounted) {
				t.Fatalf("negative: %+v", r)
			}
		}
	})
}

func record(meter, operation, period, denial string) string {
	return `{"gate":"denial=` + denial + ` operation=` + operation + ` meter=` + meter + ` period=` + period + `","status":"429"}` + "\n"
}

// TestReasons: the log says why calls were refused. Those that were throttled, which includes
// those that the brake stopped, belong to no meter and to the month of their time.
func TestReasons(t *testing.T) {
	november, err := usage.ParsePeriod("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	throttled := func(ms string) string {
		return `{"@timestamp":` + ms + `,"gate":"-","response_type":"THROTTLED"}` + "\n"
	}
	log := record("a", "light", "2026-11", "limit_exceeded") + record("a", "light", "2026-11", "rate_limited") + record("b", "light", "2026-11", "rate_limited") +
		throttled("1796074827970") + throttled("1796083199999") + throttled("1796083200000") + throttled("0")
	got, err := chargeback.ReadLog(strings.NewReader(log), november)
	want := map[problem.Code]int64{problem.LimitExceeded: 1, problem.RateLimited: 2, problem.Throttled: 2}
	if err != nil || !maps.Equal(got.Denials.Reasons(), want) {
		t.Errorf("%v, %v; want %v", got.Denials.Reasons(), err, want)
	}
	a := meter("a", usage.Counts{Denied: 2})
	if sheet := chargeback.Split([]chargeback.Meter{a}, got.Denials, prices(), new(big.Rat)); sheet.Strangers != 1 || len(sheet.Rows) != 1 || sheet.Rows[0].Denied != 2 {
		t.Errorf("%+v", sheet)
	}
}

func TestReadLog(t *testing.T) {
	november, err := usage.ParsePeriod("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	good := record("a", "light", "2026-11", "limit_exceeded")
	for name, c := range map[string]struct {
		log       string
		denied    int64
		malformed int64
		torn      bool
	}{
		"empty":                {"", 0, 0, false},
		"two":                  {good + good, 2, 0, false},
		"another month":        {good + record("a", "light", "2026-10", "limit_exceeded"), 1, 0, false},
		"another denial":       {good + record("a", "light", "2026-11", "throttled"), 1, 0, false},
		"torn":                 {good + good[:20], 1, 0, true},
		"whole, no line end":   {good + strings.TrimSuffix(good, "\n"), 2, 0, false},
		"garbage between":      {good + "\x00\xff{\n" + good, 2, 1, false},
		"an empty line":        {good + "\n" + good, 2, 1, false},
		"an array":             {"[1]\n" + good, 1, 1, false},
		"torn, then continued": {good[:20] + good + good, 1, 1, false},
		"a very long line":     {good + strings.Repeat("x", 300_000) + "\n" + good, 2, 1, false},
		"a very long end":      {good + strings.Repeat("x", 300_000), 1, 1, false},
	} {
		got, err := chargeback.ReadLog(strings.NewReader(c.log), november)
		if err != nil || got.Denials[light("a")] != c.denied || got.Malformed != c.malformed || got.Torn != c.torn {
			t.Errorf("%s: %+v, %v; want %d denied, %d malformed, torn %t", name, got, err, c.denied, c.malformed, c.torn)
		}
	}
}

// repeat is a long log that is never entirely in memory. After its last line it measures
// the heap.
type repeat struct {
	line string
	left int
	rest string
	// live is the size of the heap at the end, in bytes.
	live uint64
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			r.live = heap()
			return 0, io.EOF
		}
		r.left--
		r.rest = r.line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestReadLogIsBounded: while reading 8 MB of records, at most half of that is kept.
func TestReadLogIsBounded(t *testing.T) {
	november, err := usage.ParsePeriod("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(record("a", "light", "2026-11", "limit_exceeded"), "}\n") + `,"padding":"` + strings.Repeat("p", 300) + "\"}\n"
	log := &repeat{line: line, left: 20_000}
	before := heap()
	got, err := chargeback.ReadLog(log, november)
	if err != nil || got.Denials[light("a")] != 20_000 || len(got.Denials) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if log.live > before+4<<20 {
		t.Errorf("%d bytes on the heap before, %d at the end of the log", before, log.live)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(record("a", "light", "2026-11", "limit_exceeded"))
	f.Add("{\"meter\":1}\n{")
	november, err := usage.ParsePeriod("2026-11")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, log string) {
		got, err := chargeback.ReadLog(strings.NewReader(log), november)
		if err != nil {
			t.Fatal(err)
		}
		counted := got.Malformed
		for _, n := range got.Denials {
			counted += n
		}
		if got.Torn {
			counted++
		}
		if lines := int64(strings.Count(log, "\n")) + 1; counted > lines {
			t.Errorf("%d of %d lines", counted, lines)
		}
	})
}
