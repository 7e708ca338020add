package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultDenialMemory is how long an instance denies calls to an exhausted meter from
// memory. A refund or an upgrade may reopen the meter, so this is seconds, not the rest of
// the month.
const DefaultDenialMemory = 3 * time.Second

// Gate admits calls. It makes the admission IDs, picks the period, and remembers denials
// for a few seconds, so that an agent looping on an exhausted key doesn't cost a write per
// attempt. It is safe for concurrent use.
type Gate struct {
	store  Store
	now    func() time.Time
	memory time.Duration

	mu     sync.Mutex
	denied map[string]denial
}

type denial struct {
	period Period
	limit  Limit
	units  int64
	used   int64
	until  time.Time
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
	Period      Period
	Limit       Limit
	Units       int64
	// At is when the decision was made.
	At time.Time
}

// RetryAfter is the time until the count resets, rounded up to whole seconds, at least one.
func (g Grant) RetryAfter() time.Duration {
	wait := g.Period.Reset().Sub(g.At)
	return max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
}

// Admit decides whether one call of an operation may run. After an error, which means that
// the store couldn't decide, it must not.
func (g *Gate) Admit(ctx context.Context, meter, operation string, units int64, limit Limit) (Grant, error) {
	now := g.now()
	grant := Grant{Period: PeriodOf(now), Limit: limit, Units: units, At: now}
	if units < 1 {
		return grant, fmt.Errorf("admit %s: units must be at least 1, not %d", operation, units)
	}
	if limit < Unlimited {
		return grant, fmt.Errorf("admit %s: limit must not be negative: %d", operation, limit)
	}
	if used, ok := g.remembered(meter, grant); ok {
		grant.Used = used
		return grant, nil
	}
	id := NewAdmissionID(now)
	decision, err := g.store.Admit(ctx, Admission{
		ID: id, Meter: meter, Period: grant.Period, Operation: operation, Units: units, Limit: limit,
	})
	if err != nil {
		return grant, fmt.Errorf("admit %s: %w", operation, err)
	}
	grant.Decision, grant.AdmissionID = decision, id
	if !decision.Admitted {
		g.remember(meter, grant)
	}
	return grant, nil
}

func (g *Gate) remembered(meter string, grant Grant) (used int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.denied[meter]
	if !ok {
		return 0, false
	}
	if !grant.At.Before(d.until) {
		delete(g.denied, meter)
		return 0, false
	}
	return d.used, d.period == grant.Period && d.limit == grant.Limit && grant.Units >= d.units
}

// maxDenials bounds a gate's memory; further denials are not remembered.
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
	g.denied[meter] = denial{
		period: grant.Period, limit: grant.Limit, units: grant.Units, used: grant.Used,
		until: grant.At.Add(g.memory),
	}
}

// ErrUnclear means that a store could not find out whether an admission was applied.
var ErrUnclear = errors.New("the store did not confirm whether the admission was applied")
