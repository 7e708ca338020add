package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultDenialMemory is how long an instance denies an exhausted meter from memory.
// A refund or an upgrade may reopen the meter, so it is seconds, not the rest of the month.
const DefaultDenialMemory = 3 * time.Second

// Gate admits calls. It makes the admission IDs, knows the time, and remembers for a few
// seconds what was denied, so that an agent that loops against an exhausted key does not
// cost a write per turn. It is safe for concurrent use.
type Gate struct {
	store  Store
	now    func() time.Time
	memory time.Duration

	mu     sync.Mutex
	denied map[string]denial
}

// denial is what is remembered of one.
type denial struct {
	Decision
	limits Limits
	units  int64
	// until is when it is forgotten, open when the limit that denied admits again.
	until, open time.Time
}

// NewGate makes a gate over a store. memory is how long a denial is remembered; 0 = never.
func NewGate(store Store, now func() time.Time, memory time.Duration) *Gate {
	return &Gate{store: store, now: now, memory: memory, denied: map[string]denial{}}
}

// Grant is the gate's answer to a call.
type Grant struct {
	Decision
	// AdmissionID is empty when the answer came from memory.
	AdmissionID string
	Limits      Limits
	Units       int64
	// At is when the decision was made.
	At time.Time
}

// Period is the month that was decided about.
func (g Grant) Period() Period { return PeriodOf(g.At) }

// Resets is when the limit that denied the call admits again.
func (g Grant) Resets() time.Time { return g.At.Add(g.Wait) }

// Quotas is where the caller stands after the decision; nothing is known of a busy meter.
func (g Grant) Quotas() []Quota {
	if g.Refused == Busy {
		return nil
	}
	return g.Limits.Quotas(g.State, g.At)
}

// Quota is where the caller stands with the limit that refused the call.
func (g Grant) Quota() (Quota, bool) {
	for _, q := range g.Quotas() {
		if q.Window == g.Refused {
			return q, true
		}
	}
	return Quota{}, false
}

// Crossed returns the highest of some percentages of the monthly limit that this admission
// has reached, 0 if none: its units took the count over it. Of all admissions of a month
// exactly one crosses each, as long as nothing is refunded and no answer is lost; after a
// lost answer, one that may have crossed it says so too.
func (g Grant) Crossed(percent []int) int {
	if !g.Admitted || g.Limits.Monthly <= 0 {
		return 0
	}
	highest := 0
	for _, p := range percent {
		// Rounded up: 80 % of 7 is reached with the sixth unit.
		mark := (int64(g.Limits.Monthly)*int64(p) + 99) / 100
		if g.Used >= mark && (g.Used-g.Units < mark || g.Unseen) {
			highest = max(highest, p)
		}
	}
	return highest
}

// Admit decides about one call of an operation. An error means that the store could not
// decide: the call must not run. A meter that is busy is left alone for a moment, like one
// that is used up.
func (g *Gate) Admit(ctx context.Context, meter, operation string, units int64, limits Limits) (Grant, error) {
	// By the wall clock alone: a wait that is measured by the monotonic one and added to a
	// wall-clock instant would miss the reset by microseconds.
	now := g.now().Round(0)
	grant := Grant{Limits: limits, Units: units, At: now}
	if units < 1 {
		return grant, fmt.Errorf("admit %s: units must be at least 1, not %d", operation, units)
	}
	if limits.Monthly < Unlimited || limits.Daily < Unlimited {
		return grant, fmt.Errorf("admit %s: a limit must not be negative: %v", operation, limits)
	}
	if d, ok := g.remembered(meter, grant); ok {
		grant.Decision = d
		return grant, nil
	}
	id := NewAdmissionID(now)
	decision, err := g.store.Admit(ctx, Admission{
		ID: id, At: now, Meter: meter, Operation: operation, Units: units, Limits: limits,
	})
	if errors.Is(err, ErrBusy) {
		decision, err = Decision{Refused: Busy, Wait: RetryBusy}, nil
	}
	if err != nil {
		return grant, fmt.Errorf("admit %s: %w", operation, err)
	}
	grant.Decision, grant.AdmissionID = decision, id
	if !decision.Admitted {
		g.remember(meter, grant)
	}
	return grant, nil
}

func (g *Gate) remembered(meter string, grant Grant) (Decision, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.denied[meter]
	if !ok {
		return Decision{}, false
	}
	if !grant.At.Before(d.until) {
		delete(g.denied, meter)
		return Decision{}, false
	}
	if d.limits != grant.Limits || grant.Units < d.units {
		return Decision{}, false
	}
	d.Wait = d.open.Sub(grant.At)
	return d.Decision, true
}

// maxDenials bounds the memory of a gate; beyond it, denials are not remembered.
const maxDenials = 10_000

func (g *Gate) remember(meter string, grant Grant) {
	if g.memory <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.denied) >= maxDenials {
		for m, d := range g.denied {
			if !grant.At.Before(d.until) {
				delete(g.denied, m)
			}
		}
		if len(g.denied) >= maxDenials {
			return
		}
	}
	open := grant.Resets()
	g.denied[meter] = denial{
		Decision: grant.Decision, limits: grant.Limits, units: grant.Units,
		until: earlier(open, grant.At.Add(g.memory)), open: open,
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
