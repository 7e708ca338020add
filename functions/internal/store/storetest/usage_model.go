package storetest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// model is the simplest usage.Store there can be, for one caller at a time and one month.
// It is written apart from usage's own rules, which the stores share.
type model struct {
	used, free, refunded int64
	days                 map[int]int64
	bucket               float64 // places that are free
	filled               time.Time
	done                 map[string]bool
}

// admit returns whether the call passes, and by which limits it does not.
func (m *model) admit(a usage.Admission) (refused []usage.Window) {
	day := a.At.Day()
	if l := a.Limits.Monthly; l >= 0 && m.used+a.Units > int64(l) {
		refused = append(refused, usage.Monthly)
	}
	if l := a.Limits.Daily; l >= 0 && m.days[day]+a.Units > int64(l) {
		refused = append(refused, usage.Daily)
	}
	if r := a.Limits.Rate; r.Burst > 0 {
		m.bucket = min(float64(r.Burst), m.bucket+a.At.Sub(m.filled).Seconds()*r.PerSecond)
		m.filled = a.At
		if m.bucket < 1-1e-6 {
			refused = append(refused, usage.PerSecond)
		}
	}
	if refused == nil {
		m.used += a.Units
		m.days[day] += a.Units
		m.bucket--
	}
	return refused
}

func (m *model) refund(c usage.FailedCall, limit usage.Limit, day int) usage.Outcome {
	switch {
	case m.done[c.AdmissionID]:
		return usage.AlreadyRefunded
	case m.used < c.Units || m.days[day] < c.Units:
		return usage.NothingCharged
	case !c.Unstarted && limit >= 0 && m.free+c.Units > int64(limit):
		return usage.CapReached
	}
	m.used -= c.Units
	m.days[day] -= c.Units
	m.refunded += c.Units
	if !c.Unstarted {
		m.free += c.Units
	}
	m.done[c.AdmissionID] = true
	return usage.Refunded
}

// step is one call of a random sequence: an admission, or a refund of earlier ones.
type step struct {
	refund         bool
	units          int64
	monthly, daily usage.Limit
	cap            usage.Limit
	which          []int // the admissions that are refunded, modulo their number
	unstarted      bool
	later          time.Duration // after the step before
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		refund:    rapid.Bool().Draw(t, "refund"),
		units:     rapid.Int64Range(1, 4).Draw(t, "units"),
		monthly:   usage.Limit(rapid.Int64Range(-1, 12).Draw(t, "monthly")),
		daily:     usage.Limit(rapid.Int64Range(-1, 9).Draw(t, "daily")),
		cap:       usage.Limit(rapid.Int64Range(-1, 9).Draw(t, "cap")),
		which:     rapid.SliceOfN(rapid.IntRange(0, 20), 1, 3).Draw(t, "which"),
		unstarted: rapid.Bool().Draw(t, "unstarted"),
		later:     time.Duration(rapid.SampledFrom([]int{0, 100, 1000, 20_000_000}).Draw(t, "later")) * time.Millisecond,
	}
}), 1, 14)

func usageModel(t *testing.T, s usage.Store) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := usage.NoLimits
		if rapid.Bool().Draw(rt, "rated") {
			limits.Rate = ratelimit.Limit{PerSecond: 1, Burst: rapid.IntRange(1, 3).Draw(rt, "burst")}
		}
		now := time.Date(2026, time.November, 10, 12, 0, 0, 0, time.UTC)
		reference := &model{done: map[string]bool{}, days: map[int]int64{}, bucket: float64(limits.Rate.Burst), filled: now}
		m := meter()
		var asked []usage.Admission
		for i, step := range steps.Draw(rt, "steps") {
			if now = now.Add(step.later); usage.PeriodOf(now) != november {
				break
			}
			if !step.refund || len(asked) == 0 {
				limits.Monthly, limits.Daily = step.monthly, step.daily
				a := admissionAt(now, m, step.units, limits)
				asked = append(asked, a)
				got, err := s.Admit(t.Context(), a)
				want := reference.admit(a)
				if err != nil || got.Admitted != (want == nil) || want != nil && !slices.Contains(want, got.Refused) {
					rt.Fatalf("step %d %+v: %+v, %v; want it refused by %v", i, step, got, err, want)
				}
				if got.Used != reference.used || got.Today != reference.days[now.Day()] {
					rt.Fatalf("step %d: %+v; want %d used, %d today", i, got, reference.used, reference.days[now.Day()])
				}
				continue
			}
			r := usage.Refund{Meter: m, Period: november, Cap: step.cap}
			var want []usage.Outcome
			for _, which := range step.which {
				a := asked[which%len(asked)]
				c := failedCall(a)
				c.Unstarted = step.unstarted
				r.Calls = append(r.Calls, c)
				want = append(want, reference.refund(c, step.cap, a.At.Day()))
			}
			if got, err := s.Refund(t.Context(), r); err != nil || !slices.Equal(got, want) {
				rt.Fatalf("step %d %+v: %s, %v; want %s", i, step, got, err, want)
			}
		}
		c := countsOf(t, s, m, november)
		days := map[int]int64{}
		for d, n := range c.Days {
			days[d.Number()] = n
		}
		maps.DeleteFunc(reference.days, func(_ int, n int64) bool { return n == 0 })
		if c.Used != reference.used || c.Refunded != reference.refunded || !maps.Equal(days, reference.days) {
			rt.Fatalf("counts %+v; want used %d, refunded %d, days %v", c, reference.used, reference.refunded, reference.days)
		}
	})
}
