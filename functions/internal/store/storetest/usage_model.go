package storetest

import (
	"testing"

	"pgregory.net/rapid"

	"sekisho/functions/internal/usage"
)

// model is the simplest possible usage.Store, for one caller at a time.
type model struct {
	used, refunded int64
	done           map[string]bool
}

func (m *model) admit(a usage.Admission) usage.Decision {
	if a.Limit != usage.Unlimited && m.used+a.Units > int64(a.Limit) {
		return usage.Decision{Used: m.used}
	}
	m.used += a.Units
	return usage.Decision{Admitted: true, Used: m.used}
}

func (m *model) refund(r usage.Refund) usage.Outcome {
	switch {
	case m.done[r.AdmissionID]:
		return usage.AlreadyRefunded
	case m.used < r.Units:
		return usage.NothingCharged
	case r.Cap != usage.Unlimited && m.refunded+r.Units > int64(r.Cap):
		return usage.CapReached
	}
	m.used -= r.Units
	m.refunded += r.Units
	m.done[r.AdmissionID] = true
	return usage.Refunded
}

// step is one call of a random sequence.
type step struct {
	refund bool
	units  int64
	bound  usage.Limit // an admission's limit or a refund's cap
	which  int         // the admission to refund, modulo their number
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		refund: rapid.Bool().Draw(t, "refund"),
		units:  rapid.Int64Range(1, 4).Draw(t, "units"),
		bound:  usage.Limit(rapid.Int64Range(-1, 9).Draw(t, "bound")),
		which:  rapid.IntRange(0, 20).Draw(t, "which"),
	}
}), 1, 12)

func usageModel(t *testing.T, s usage.Store) {
	rapid.Check(t, func(rt *rapid.T) {
		reference, m := &model{done: map[string]bool{}}, meter()
		var asked []usage.Admission
		for i, step := range steps.Draw(rt, "steps") {
			if !step.refund || len(asked) == 0 {
				a := admission(m, step.units, step.bound)
				asked = append(asked, a)
				got, err := s.Admit(t.Context(), a)
				if want := reference.admit(a); err != nil || got != want {
					rt.Fatalf("step %d %+v: %+v, %v; want %+v", i, step, got, err, want)
				}
				continue
			}
			r := refundOf(asked[step.which%len(asked)], step.bound)
			got, err := s.Refund(t.Context(), r)
			if want := reference.refund(r); err != nil || got != want {
				rt.Fatalf("step %d %+v: %s, %v; want %s", i, step, got, err, want)
			}
		}
		c, err := s.Counts(t.Context(), m, november)
		if err != nil || c.Used != reference.used || c.Refunded != reference.refunded {
			rt.Fatalf("counts %+v, %v; want used %d, refunded %d", c, err, reference.used, reference.refunded)
		}
	})
}
