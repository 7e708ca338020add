package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
)

// allFaults are all that there are.
var allFaults = func() (kinds []fault) {
	for f := none + 1; f < numberOfFaults; f++ {
		kinds = append(kinds, f)
	}
	return kinds
}()

func seeds(t *testing.T) uint64 {
	text := os.Getenv("SEKISHO_FAULT_SEEDS")
	if text == "" {
		return 200 // make prove runs 10,000
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("SEKISHO_FAULT_SEEDS takes a number of runs, not %q", text)
	}
	return n
}

// of makes the run of a seed: some are calm, some stormy.
func of(seed uint64) run {
	return run{Seed: seed, Calls: 150 + int(seed%7)*25, Share: []int{0, 5, 20, 45}[seed%4], Kinds: allFaults}
}

// TestSeeds runs the seeds from 1, half of them at a time.
func TestSeeds(t *testing.T) {
	n := seeds(t)
	const parts = 2
	var admitted, denied, failed, unclear atomic.Int64
	t.Run("parts", func(t *testing.T) {
		for part := range uint64(parts) {
			t.Run(strconv.FormatUint(part, 10), func(t *testing.T) {
				t.Parallel()
				for seed := 1 + part; seed <= n; seed += parts {
					w := simulate(t, of(seed), nil)
					if err := w.err(); err != nil {
						t.Fatalf("seed %d: %v\nshrunk to %s", seed, err, literal(shrink(t, of(seed), nil)))
					}
					a, d, f := w.tally()
					admitted.Add(a)
					denied.Add(d)
					failed.Add(f)
					unclear.Add(w.wire.unclear.Load())
				}
			})
		}
	})
	t.Logf("%d seeds: %d calls admitted, %d denied, %d refused in doubt; %d writes of unknown fate", n, admitted.Load(), denied.Load(), failed.Load(), unclear.Load())
	if admitted.Load() == 0 || denied.Load() == 0 || failed.Load() == 0 || unclear.Load() == 0 {
		t.Error("the runs lack a kind of call: they prove less than they should")
	}
}

// tally counts calls by what was decided about them.
func (w *world) tally() (admitted, denied, failed int64) {
	for _, c := range w.calls {
		switch {
		case c.admitted():
			admitted++
		case c.err != nil:
			failed++
		default:
			denied++
		}
	}
	return admitted, denied, failed
}

// TestASeedIsARun: a seed decides everything, or a failing one could not be repeated.
func TestASeedIsARun(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		one, two := simulate(t, of(seed), nil), simulate(t, of(seed), nil)
		for i, c := range one.calls {
			if d := two.calls[i]; c.admitted() != d.admitted() || !c.decided.Equal(d.decided) || c.outcome != d.outcome {
				t.Fatalf("seed %d, call %d took another course the second time", seed, i)
			}
		}
	}
}

// TestSQLite: the laptop's store has no wire that could fail; what is left are clocks, turns
// and many callers at once, over several connections to one file.
func TestSQLite(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", seed))
		var open []*sqlite.DB
		w := simulateOver(t, of(seed), nil, func(*wire) usage.Store {
			db, err := sqlite.Open(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, db)
			return db.Usage()
		}, func() {
			for _, db := range open {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		})
		if err := w.err(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if _, _, failed := w.tally(); failed > 0 {
			t.Errorf("seed %d: %d admissions failed", seed, failed)
		}
	}
}

// TestSeedsThatFailed once, shrunk.
func TestSeedsThatFailed(t *testing.T) {
	for _, r := range []run{} {
		if err := simulate(t, r, nil).err(); err != nil {
			t.Errorf("%s: %v", literal(r), err)
		}
	}
}

// shrink makes a failing run shorter as long as it fails: fewer calls, fewer kinds of faults.
func shrink(t *testing.T, r run, strip func(string) string) run {
	fails := func(r run) bool { return simulate(t, r, strip).err() != nil }
	for r.Calls > 1 {
		shorter := r
		if shorter.Calls = r.Calls * 3 / 4; !fails(shorter) {
			break
		}
		r = shorter
	}
	for i := 0; i < len(r.Kinds); {
		fewer := r
		fewer.Kinds = append(append([]fault{}, r.Kinds[:i]...), r.Kinds[i+1:]...)
		if !fails(fewer) {
			i++
			continue
		}
		r = fewer
	}
	return r
}

func literal(r run) string {
	return strings.ReplaceAll(fmt.Sprintf("%#v", r), "faults.", "")
}

// guards are conditions of the admission's and the refund's writes. Each taken out by itself,
// the model must notice within a few seeds.
var guards = map[string]func(string) string{
	"month":                    without(" AND (attribute_not_exists(#used) OR #used \\u003c= :room)", " AND (attribute_not_exists(#used) OR #used <= :room)"),
	"day":                      without(" AND (attribute_not_exists(#day) OR #day \\u003c= :dayroom)", " AND (attribute_not_exists(#day) OR #day <= :dayroom)"),
	"rate, bucket in use":      without(" AND #tat \\u003c= :last", " AND #tat <= :last"),
	"rate, bucket full":        without(" AND #tat \\u003c= :now", " AND #tat <= :now"),
	"rate, first of the month": without(" AND attribute_not_exists(#tat)"),
	"slot of a repetition":     replaced("(attribute_not_exists(#slot) OR #slot < :floor)", "(attribute_not_exists(#slot) OR #slot <> :none)"),
	"refund's marker":          without(`"ConditionExpression":"attribute_not_exists(#pk)",`),
	"refund's cap":             without(" AND (attribute_not_exists(#refunded) OR #refunded <= :room)"),
	"take-back's slot":         replaced("#slot = :id AND #used >= :u AND #day >= :u", "#used >= :u AND #day >= :u"),
}

func without(parts ...string) func(string) string {
	return func(body string) string {
		for _, p := range parts {
			body = strings.ReplaceAll(body, p, "")
		}
		return body
	}
}

func replaced(old, by string) func(string) string {
	return func(body string) string { return strings.ReplaceAll(body, old, by) }
}

// TestTheHarnessBites: without one of its guards the metering fails.
func TestTheHarnessBites(t *testing.T) {
	const most = 60
	for name, strip := range guards {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= most; seed++ {
				r := of(seed)
				if seed%2 == 0 { // answers that are lost, and nothing else that could explain a unit too many
					r.Kinds, r.Share = []fault{lostAnswer, errorAfter}, 45
				}
				if err := simulate(t, r, strip).err(); err != nil {
					t.Logf("noticed with seed %d: %.200v", seed, err)
					return
				}
			}
			t.Errorf("%d seeds without this guard, and nothing failed", most)
		})
	}
}
