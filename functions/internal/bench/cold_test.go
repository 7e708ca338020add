package bench

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sekisho/tests/bench"
)

// coldStarts measures from exec to the first answer.
func coldStarts(r *run) {
	f := r.functions()
	f.plainStarts(r.outside(f.double, 0))
	f.throttledStarts(r.outside(f.double, 5*time.Millisecond))
}

var startColumns = []string{"start → ready ms", "event → answer ms", "start → answer ms", "÷ empty Go", "CPU ms", "CPU ÷ empty Go"}

func (f *functions) empty() runnable {
	return runnable{name: "empty Go", command: []string{filepath.Join(f.dir, "empty")}, event: []byte(`{}`), memoryMB: f.deployed()["authorizer"].memoryMB}
}

func (f *functions) plainStarts(o *outside) {
	t := f.table("cold starts", "From the start of a process to its first answer, through the Runtime API, with the environment of envs/dev; files are in the page cache. "+
		"The store and the REST API are plain HTTP and answer at once. The first event is one that the service's own gateway made; an authorizer reads the key and writes once.",
		append(slices.Clone(startColumns), "binary MB")...)
	programs := []runnable{f.empty()}
	for _, name := range slices.Sorted(maps.Keys(f.deployed())) {
		programs = append(programs, f.runnable(name, o.plain))
	}
	programs = append(programs, f.nodeOr(t, o)...)
	for _, p := range programs {
		if info, err := os.Stat(p.command[len(p.command)-1]); err == nil {
			t.Add(p.name, "binary MB", float64(info.Size())/1e6)
		}
	}
	f.starts(t, programs, nil)
}

// nodeOr are the rivals in Node, or a note about why there are none.
func (f *functions) nodeOr(t *bench.Table, o *outside) []runnable {
	programs, err := f.nodePrograms(o.plain)
	if err != nil {
		t.Note("Left out: Node. %s", oneLine(err))
		return nil
	}
	t.Note("Node: a bundle by esbuild of `tests/bench/node`: the same reads and writes with the AWS SDK, and one tool with the TypeScript SDK instead of all.")
	return programs
}

// throttledStarts have TLS, and from the first event on Lambda's share of a core.
func (f *functions) throttledStarts(o *outside) {
	t := f.table("cold starts, TLS and Lambda's share of CPU", "The same with TLS to the store and the REST API, which answer after 5 ms, and from the first event on the share of a core that Lambda gives for the function's memory: "+
		"a 1,769th per MB, handed out every 20 ms. Starting up is not throttled, as in Lambda. The trust store is laid out as golang/go#79018 describes provided.al2023.", startColumns...)
	roots := f.roots(o.authority)
	programs := []runnable{f.empty()}
	for _, name := range []string{"authorizer", "mcp"} {
		programs = append(programs, f.runnable(name, o.encrypted))
	}
	rivals, err := f.nodePrograms(o.encrypted)
	if err != nil {
		t.Note("Left out: Node. %s", oneLine(err))
	}
	programs = append(programs, rivals...)
	for _, p := range programs[1:] {
		for name, value := range roots {
			if p.env[name] == "" { // what is deployed counts
				p.env[name] = value
			}
		}
	}
	if err := tryQuota(); err != nil {
		t.Note("**Not throttled**: this machine allows no control group of ours (%s). TLS is measured all the same.", oneLine(err))
		f.starts(t, programs, nil)
		return
	}
	f.starts(t, programs, newQuota)
}

func (f *functions) starts(t *bench.Table, programs []runnable, limit func(string, int) (*quota, error)) {
	f.Helper()
	var variants []bench.Variant
	for i, p := range programs {
		variants = append(variants, bench.Variant{Name: p.name, Measure: func() (map[string]float64, error) {
			if limit == nil {
				return p.coldStart(f, nil)
			}
			q, err := limit(string(rune('a'+i)), p.memoryMB)
			if err != nil {
				return nil, err
			}
			defer q.remove()
			return p.coldStart(f, q.add)
		}})
	}
	f.interleave(t, variants, bench.Ratio{Column: "÷ empty Go", Of: "start → answer ms", To: "empty Go"},
		bench.Ratio{Column: "CPU ÷ empty Go", Of: "CPU ms", To: "empty Go"})
}

// coldStart is one start, one event, one answer.
func (p runnable) coldStart(f *functions, throttle func(int) error) (map[string]float64, error) {
	i, err := p.start(throttle)
	if err != nil {
		return nil, err
	}
	a, err := i.invoke(f.Context(), p.event)
	cpu := i.stop()
	if err != nil {
		return nil, i.said(err)
	}
	return map[string]float64{
		"start → ready ms": ms(i.next.Sub(i.begun)), "event → answer ms": ms(a.at.Sub(i.next)), "start → answer ms": ms(a.at.Sub(i.begun)), "CPU ms": ms(cpu),
	}, nil
}
