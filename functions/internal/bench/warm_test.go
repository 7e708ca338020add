package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/tests/bench"
)

// warmProcesses has running instances serve call after call, as Lambda does: one at a time.
func warmProcesses(r *run) {
	f := r.functions()
	o := r.outside(f.double, 0)
	t := r.table("warm processes", "The real binaries through the Runtime API, one call after the other, after a first one that is not counted. "+
		"\"Go's defaults\" is the same binary without what the deployment sets of Go's runtime (GOGC, GOMEMLIMIT, GOMAXPROCS). "+
		"Memory is the most that the process had. An empty function shows what the Runtime API takes of each call.",
		"CPU ms", "÷ Go's defaults", "p50 ms", "p99 ms", "peak MB", "of MB")
	described, err := contract.Default()
	r.must(err)
	// Escaping makes a character of this kind six times as long, twice over.
	largest := `{"postal_code":"1000001","formatted":"` + strings.Repeat("<", int(described.Limits.AnswerBytes)*9/10/12) + `","addresses":[]}`
	empty := f.empty()
	variants := []bench.Variant{{Name: empty.name, Measure: func() (map[string]float64, error) { return empty.warm(f, o, smallAnswer, 3000) }}}
	for _, name := range []string{"authorizer", "mcp"} {
		deployed := f.runnable(name, o.plain)
		plain := deployed
		plain.env = maps.Clone(deployed.env)
		for variable := range f.deployed()[name].runtimeOnly() {
			delete(plain.env, variable)
		}
		variants = append(variants,
			bench.Variant{Name: name + ", Go's defaults", Measure: func() (map[string]float64, error) { return plain.warm(f, o, smallAnswer, 3000) }},
			bench.Variant{Name: name, Measure: func() (map[string]float64, error) { return deployed.warm(f, o, smallAnswer, 3000) }})
		if name == "mcp" {
			variants = append(variants, bench.Variant{Name: "mcp, largest answers", Measure: func() (map[string]float64, error) { return deployed.warm(f, o, largest, 600) }})
		}
	}
	r.interleave(t, variants)
	for _, name := range []string{"authorizer", "mcp"} {
		t.Divide(bench.Ratio{Column: "÷ Go's defaults", Of: "CPU ms", To: name + ", Go's defaults"}, name, name+", Go's defaults")
	}
}

// warm serves a number of calls and says what one took.
func (p runnable) warm(f *functions, o *outside, answer string, calls int) (map[string]float64, error) {
	o.answerWith(answer)
	defer o.answerWith(smallAnswer)
	i, err := p.start(nil)
	if err != nil {
		return nil, err
	}
	defer i.stop()
	first, err := i.invoke(f.Context(), p.event)
	if err != nil {
		return nil, i.said(err)
	}
	if strings.Contains(string(first.body), "isError\\\":true") {
		return nil, i.said(fmt.Errorf("the call failed: %.300s", first.body))
	}
	before, _, _, err := processUsage(i.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	calls = f.many(calls)
	took := make([]time.Duration, 0, calls)
	for range calls {
		start := time.Now()
		a, err := i.invoke(f.Context(), p.event)
		if err != nil {
			return nil, i.said(err)
		}
		took = append(took, a.at.Sub(start))
	}
	after, _, peak, err := processUsage(i.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"CPU ms": ms(after-before) / float64(calls), "p50 ms": percentile(took, 50), "p99 ms": percentile(took, 99),
		"peak MB": peak, "of MB": float64(p.memoryMB),
	}, nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// percentile in milliseconds; it sorts.
func percentile(all []time.Duration, percent int) float64 {
	slices.Sort(all)
	return ms(all[min(len(all)-1, len(all)*percent/100)])
}
