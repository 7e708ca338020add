package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// run says what happens in one run; it is all that decides it.
type run struct {
	Seed  uint64
	Calls int
	// Share of a hundred requests that meet a fault of Kinds.
	Share int
	Kinds []fault
	// Direct: mcp dispatches the calls itself; else they pass an authorizer.
	Direct bool
}

// instances are how many authorizers there are, skew how far their clocks differ.
const (
	instances = 3
	skew      = time.Second
)

// freeFailures is the cap of every plan: small enough to be met.
const freeFailures = 6

// call is one call of an agent, as it happened.
type call struct {
	number    int
	meter     string
	units     int64
	operation string
	// id is the admission's.
	id string
	// asked, decided and ended are instants of the virtual clock.
	asked, decided, ended time.Time
	grant                 usage.Grant
	err                   error
	failed, unstarted     bool
	// lasts is how long the function takes, where mcp dispatches.
	lasts time.Duration
	// refunded: settle was told so, or that it had been before.
	outcome usage.Outcome
}

func (c *call) admitted() bool { return c.err == nil && c.grant.Admitted }

// named gives admissions IDs that depend on the call instead of chance: the slot in the item,
// and with it the course of a run, is chosen by the ID.
type named struct{ usage.Store }

type callKey struct{}

func (s named) Admit(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	c := ctx.Value(callKey{}).(*call)
	random := rand.New(rand.NewPCG(uint64(c.number), uint64(a.At.UnixNano())))
	id := []byte(usage.AdmissionFloor(a.At))
	for i := len(id) - 9; i < len(id)-1; i++ { // eight of the characters that are random bits
		id[i] = "0123456789abcdefghijklmnopqrstuv"[random.IntN(32)]
	}
	a.ID, c.id = string(id), string(id)
	return s.Store.Admit(ctx, a)
}

// world is a deployment and its agents.
type world struct {
	run
	// start is the virtual clock's; base is the instant that stands for it, near a turn.
	start, base time.Time
	wire        *wire
	servers     []*server
	gates       []*usage.Gate
	settle      usage.Store
	plans       map[string]usage.Limits
	calls       []*call
	mu          sync.Mutex
	errs        []error
}

// turns are instants shortly before which runs begin: of a day, of a month, of a year.
var turns = []time.Time{
	time.Date(2026, time.November, 12, 0, 0, 0, 0, time.UTC),
	time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2026, time.November, 20, 13, 0, 0, 0, time.UTC),
}

var planSet = []usage.Limits{
	usage.PerMonth(20),
	{Monthly: 60, Daily: 15},
	{Monthly: usage.Unlimited, Daily: 14, Rate: ratelimit.Limit{PerSecond: 2, Burst: 3}},
	{Monthly: 40, Daily: 30, Rate: ratelimit.Limit{PerSecond: 0.5, Burst: 5}},
	{Monthly: usage.Unlimited, Daily: usage.Unlimited, Rate: ratelimit.Limit{PerSecond: 1, Burst: 2}},
	usage.NoLimits,
}

// simulate makes one run within a bubble of virtual time.
func simulate(t *testing.T, r run, strip func(string) string) (w *world) {
	t.Helper()
	return simulateOver(t, r, strip, func(w *wire) usage.Store {
		store := dynamo.New(dynamotest.Client(w), dynamo.Tables{Accounts: "a", Usage: "u"})
		store.Jitter = func(most time.Duration) time.Duration { // by the instant, which only one attempt has
			return time.Duration(rand.New(rand.NewPCG(w.seed, uint64(time.Now().UnixNano()))).Int64N(int64(most)))
		}
		return store.Usage()
	}, func() {})
}

// simulateOver lets a test open the store of each instance, and close all of them.
func simulateOver(t *testing.T, r run, strip func(string) string, open func(*wire) usage.Store, done func()) (w *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(r.Seed, 0))
		w = &world{run: r, start: time.Now(), plans: map[string]usage.Limits{}}
		// 20 s of traffic around a turn.
		w.base = turns[random.IntN(len(turns))].Add(-time.Duration(random.Int64N(int64(20 * time.Second))))
		for i := range planSet {
			w.plans[fmt.Sprintf("key_%d", i)] = planSet[i]
		}
		w.wire = &wire{store: dynamotest.New(), kinds: r.Kinds, share: r.Share, seed: r.Seed, strip: strip}
		store := func() usage.Store { return open(w.wire) }
		for range instances {
			off := time.Duration(random.Int64N(int64(skew))) - skew/2
			w.gates = append(w.gates, usage.NewGate(named{store()}, func() time.Time { return w.now().Add(off) }, time.Second))
		}
		w.settle = store()
		if r.Direct {
			for _, gate := range w.gates {
				w.servers = append(w.servers, newServer(w, gate, store(), w.now))
			}
		}
		w.traffic(random)
		w.wire.late.Wait()
		synctest.Wait()
		w.check()
		done()
	})
	return w
}

// now is the true time of the run.
func (w *world) now() time.Time { return w.base.Add(time.Since(w.start)) }

// traffic lets agents call, all at their own instants, and settles what failed.
func (w *world) traffic(random *rand.Rand) {
	var agents sync.WaitGroup
	for i := range w.Calls {
		own := rand.New(rand.NewPCG(w.Seed, uint64(i)<<32+1))
		c := &call{
			number: i, meter: fmt.Sprintf("key_%d", random.IntN(len(planSet))), units: 1 + int64(random.IntN(8))/6,
			operation: fmt.Sprintf("o%d", random.IntN(3)),
		}
		w.calls = append(w.calls, c)
		at := time.Duration(random.Int64N(int64(20 * time.Second)))
		if random.IntN(3) == 0 { // bursts, as agents make them
			at = at.Truncate(6*time.Second) + time.Duration(random.Int64N(int64(30*time.Millisecond)))
		}
		instance := random.IntN(instances)
		agents.Go(func() {
			time.Sleep(at)
			if w.Direct {
				w.servers[instance].one(c, own)
			} else {
				w.one(c, own, w.gates[instance])
			}
		})
	}
	agents.Wait()
	w.settleRest()
}

// one is the life of a call: admission, handler, access record, settlement.
func (w *world) one(c *call, random *rand.Rand, gate *usage.Gate) {
	c.asked = w.now()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	c.grant, c.err = gate.Admit(context.WithValue(ctx, callKey{}, c), c.meter, c.operation, c.units, w.plans[c.meter])
	cancel()
	c.decided = w.now()
	if !c.admitted() {
		return
	}
	time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
	c.ended = w.now()
	c.failed = random.IntN(3) == 0 // an error, a crash, a time-out: the record looks alike
	c.unstarted = c.failed && random.IntN(4) == 0
	if !c.failed || random.IntN(2) == 0 {
		return // settled with the rest, as records that come late
	}
	for range 1 + random.IntN(2) { // some records come twice
		time.Sleep(time.Duration(random.Int64N(int64(4 * time.Second))))
		w.refund(c)
	}
}

// refund settles calls of one meter and month, until the store takes it.
func (w *world) refund(calls ...*call) {
	r := usage.Refund{Meter: calls[0].meter, Period: calls[0].grant.Period(), Cap: freeFailures}
	for _, c := range calls {
		r.Calls = append(r.Calls, usage.FailedCall{
			AdmissionID: c.id, Operation: c.operation, Units: c.units, Unstarted: c.unstarted,
		})
	}
	var err error
	for range 50 {
		var outcomes []usage.Outcome
		if outcomes, err = w.settle.Refund(context.Background(), r); err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			for i, o := range outcomes {
				w.note(calls[i], o)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, fmt.Errorf("a refund failed 50 times: %w", err))
}

// note keeps what became of a call; that it was refunded before confirms what is known.
func (w *world) note(c *call, o usage.Outcome) {
	switch {
	case c.outcome == "" || c.outcome == usage.CapReached:
		c.outcome = o
	case c.outcome == usage.Refunded && o == usage.Refunded:
		w.errs = append(w.errs, fmt.Errorf("%s was refunded twice", c.id))
	}
}

// settleRest delivers all failed calls again, in batches and in another order.
func (w *world) settleRest() {
	type meter struct {
		name   string
		period usage.Period
	}
	groups := map[meter][]*call{}
	for _, c := range slices.Backward(w.calls) {
		if c.admitted() && c.failed {
			m := meter{c.meter, c.grant.Period()}
			groups[m] = append(groups[m], c)
		}
	}
	order := []meter{}
	for m := range groups {
		order = append(order, m)
	}
	slices.SortFunc(order, func(a, b meter) int {
		return cmp.Or(cmp.Compare(a.name, b.name), a.period.Start().Compare(b.period.Start()))
	})
	for _, m := range order {
		w.refund(groups[m]...)
	}
}

func (w *world) fail(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

// err is what the model has to object.
func (w *world) err() error { return errors.Join(w.errs...) }
