package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sekisho/functions/internal/ratelimit"
)

// scripted is a store whose answers a test writes down.
type scripted struct {
	Store
	mu     sync.Mutex
	asked  []Admission
	answer func(Admission) (Decision, error)
}

func (s *scripted) Admit(_ context.Context, a Admission) (Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, a)
	return s.answer(a)
}

// atState answers as a store does whose meter never changes.
func atState(s State) func(Admission) (Decision, error) {
	return func(a Admission) (Decision, error) {
		_, d := a.Decide(s)
		return d, nil
	}
}

// world is a gate over a scripted store, with a clock that the test sets.
type world struct {
	*Gate
	store *scripted
	clock time.Time
}

func newWorld(t *testing.T, now string, memory time.Duration, s State) *world {
	w := &world{store: &scripted{answer: atState(s)}, clock: at(t, now)}
	w.Gate = NewGate(w.store, func() time.Time { return w.clock }, memory)
	return w
}

func (w *world) ask(t *testing.T, units int64, limits Limits) Grant {
	t.Helper()
	g, err := w.Admit(t.Context(), "key_a", "pl", units, limits)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (w *world) wantAsked(t *testing.T, n int, why string) {
	t.Helper()
	if len(w.store.asked) != n {
		t.Fatalf("%s: the store was asked %d times, want %d", why, len(w.store.asked), n)
	}
}

func TestGateRemembersADenialForSecondsOnly(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", 3*time.Second, State{Used: 50})
	w.ask(t, 1, PerMonth(50))
	w.clock = w.clock.Add(2999 * time.Millisecond)
	g := w.ask(t, 1, PerMonth(50))
	if g.Admitted || g.Refused != Monthly || g.Used != 50 || g.AdmissionID != "" || !g.Resets().Equal(at(t, "2026-12-01T00:00:00Z")) {
		t.Errorf("from memory: %+v", g)
	}
	w.wantAsked(t, 1, "within the memory")
	w.ask(t, 1, PerMonth(51)) // an upgrade is seen at once
	w.wantAsked(t, 2, "another plan")
	w.clock = w.clock.Add(time.Millisecond)
	w.ask(t, 1, PerMonth(50))
	w.wantAsked(t, 3, "after the memory")
}

func TestGateAsksAgainForFewerUnits(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", time.Hour, State{Used: 49})
	for _, units := range []int64{5, 5, 6, 2} {
		w.ask(t, units, PerMonth(50))
	}
	w.wantAsked(t, 2, "5, 5, 6 and 2 units")
	if w.store.asked[1].Units != 2 {
		t.Errorf("asked %+v", w.store.asked)
	}
}

// TestGateForgetsWhenTheLimitOpens: at the turn of the month, of the day, and when the
// bucket has a place again.
func TestGateForgetsWhenTheLimitOpens(t *testing.T) {
	day := Limits{Monthly: 100, Daily: 5}
	rate := Limits{Monthly: Unlimited, Daily: Unlimited, Rate: ratelimit.Limit{PerSecond: 4, Burst: 1}}
	now := "2026-11-29T23:59:59.750Z"
	full := at(t, now).Add(250 * time.Millisecond).UnixNano()
	for _, c := range []struct {
		name   string
		now    string
		limits Limits
		state  State
	}{
		{"month", "2026-11-30T23:59:59.750Z", PerMonth(50), State{Used: 50}},
		{"day", now, day, State{Today: 5}},
		{"rate", now, rate, State{TAT: full}},
	} {
		w := newWorld(t, c.now, time.Hour, c.state)
		g := w.ask(t, 1, c.limits)
		if g.Admitted || g.Wait != 250*time.Millisecond || WholeSeconds(g.Wait) != time.Second {
			t.Errorf("%s: %+v", c.name, g)
		}
		w.clock = w.clock.Add(249 * time.Millisecond)
		if g = w.ask(t, 1, c.limits); g.Wait != time.Millisecond {
			t.Errorf("%s: from memory: %+v", c.name, g)
		}
		w.wantAsked(t, 1, c.name)
		w.clock = w.clock.Add(time.Millisecond)
		w.ask(t, 1, c.limits)
		w.wantAsked(t, 2, c.name)
	}
}

// TestResetsAreExact on a clock with a monotonic reading, as time.Now has one.
func TestResetsAreExact(t *testing.T) {
	gate := NewGate(&scripted{answer: atState(State{Used: 50})}, time.Now, time.Hour)
	for range 3 {
		g, err := gate.Admit(t.Context(), "key_a", "pl", 1, PerMonth(50))
		if err != nil || !g.Resets().Equal(g.Period().Reset()) {
			t.Errorf("resets at %s, want %s; %v", g.Resets(), g.Period().Reset(), err)
		}
	}
}

func TestWholeSeconds(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{
		-time.Second: time.Second, 0: time.Second, time.Nanosecond: time.Second, time.Second: time.Second,
		time.Second + 1: 2 * time.Second, 1500 * time.Millisecond: 2 * time.Second, time.Hour: time.Hour,
	} {
		if got := WholeSeconds(wait); got != want {
			t.Errorf("%s: %s, want %s", wait, got, want)
		}
	}
}

// TestABusyMeterIsLeftAlone for a moment: it is no denial by a limit, so nothing is said of quotas.
func TestABusyMeterIsLeftAlone(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", time.Hour, State{})
	w.store.answer = func(Admission) (Decision, error) { return Decision{}, fmt.Errorf("write: %w", ErrBusy) }
	for range 2 {
		if g := w.ask(t, 1, PerMonth(50)); g.Admitted || g.Refused != Busy || g.Wait != RetryBusy || g.Quotas() != nil {
			t.Errorf("%+v", g)
		}
	}
	w.wantAsked(t, 1, "busy")
	w.clock = w.clock.Add(RetryBusy)
	w.store.answer = atState(State{})
	if g := w.ask(t, 1, PerMonth(50)); !g.Admitted {
		t.Errorf("after the moment: %+v", g)
	}
}

func TestGateRemembersDenialsOnly(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", time.Hour, State{})
	for range 3 {
		w.ask(t, 1, PerMonth(50))
	}
	w.wantAsked(t, 3, "admitted")
	if len(w.denied) != 0 {
		t.Errorf("what was admitted is remembered: %v", w.denied)
	}
	w = newWorld(t, "2026-11-15T00:00:00Z", 0, State{Used: 50})
	for range 3 {
		w.ask(t, 1, PerMonth(50))
	}
	w.wantAsked(t, 3, "denied, without a memory")
	if len(w.denied) != 0 {
		t.Errorf("a gate without a memory remembers %v", w.denied)
	}
}

func TestGateFailsClosed(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", time.Hour, State{})
	down := errors.New("store down")
	w.store.answer = func(Admission) (Decision, error) { return Decision{Admitted: true}, down }
	if g, err := w.Admit(t.Context(), "key_a", "pl", 1, PerMonth(50)); !errors.Is(err, down) || g.Admitted {
		t.Fatalf("the gate opened while the store was down: %+v, %v", g, err)
	}
	w.store.answer = atState(State{})
	if g := w.ask(t, 1, PerMonth(50)); !g.Admitted {
		t.Fatalf("a failure was remembered as a denial: %+v", g)
	}
}

func TestGateRefusesNonsense(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", 0, State{})
	for _, c := range []struct {
		units  int64
		limits Limits
	}{{0, PerMonth(10)}, {-1, PerMonth(10)}, {1, PerMonth(-2)}, {1, Limits{Monthly: 1, Daily: -2}}} {
		if _, err := w.Admit(t.Context(), "key_a", "pl", c.units, c.limits); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	w.wantAsked(t, 0, "nonsense")
}

// TestGateMemoryIsBounded: what is over is forgotten to make room.
func TestGateMemoryIsBounded(t *testing.T) {
	w := newWorld(t, "2026-11-15T00:00:00Z", time.Hour, State{Used: 1})
	deny := func(n int) {
		for i := range n {
			meter := NewAdmissionID(w.clock.Add(time.Duration(i) * time.Millisecond))
			if _, err := w.Admit(t.Context(), meter, "pl", 1, PerMonth(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	deny(maxDenials + 100)
	if n := len(w.denied); n != maxDenials {
		t.Fatalf("%d denials are remembered, want %d", n, maxDenials)
	}
	w.clock = w.clock.Add(time.Hour)
	deny(1)
	if n := len(w.denied); n != 1 {
		t.Fatalf("%d denials are remembered an hour later, want 1", n)
	}
}

// TestCrossed: of all admissions one crosses each mark, whatever their units.
func TestCrossed(t *testing.T) {
	marks := []int{80, 100}
	crossed := func(limit Limit, used, units int64, unseen bool) int {
		g := Grant{Decision: Decision{Admitted: true, Unseen: unseen, State: State{Used: used}}, Limits: PerMonth(limit), Units: units}
		return g.Crossed(marks)
	}
	for _, limit := range []Limit{1, 3, 7, 10, 1000} {
		for _, units := range []int64{1, 2, 3} {
			seen := map[int]int{}
			for used := units; used <= int64(limit); used += units {
				if p := crossed(limit, used, units, false); p != 0 {
					seen[p]++
				}
			}
			for p, n := range seen {
				if n != 1 {
					t.Errorf("limit %d, units %d: %d %% was crossed %d times", limit, units, p, n)
				}
			}
			if int64(limit)%units == 0 && seen[100] != 1 {
				t.Errorf("limit %d, units %d: 100 %% was not crossed", limit, units)
			}
		}
	}
	for _, c := range []struct {
		limit       Limit
		used, units int64
		unseen      bool
		want        int
	}{
		{10, 7, 1, false, 0}, {10, 8, 1, false, 80}, {10, 9, 1, false, 0}, {10, 10, 1, false, 100},
		{7, 5, 1, false, 0}, {7, 6, 1, false, 80}, {10, 10, 5, false, 100},
		{10, 9, 1, true, 80}, // the answer was lost: it may have been this one
		{Unlimited, 100, 1, false, 0}, {0, 0, 1, false, 0},
	} {
		if got := crossed(c.limit, c.used, c.units, c.unseen); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if g := (Grant{Decision: Decision{State: State{Used: 10}}, Limits: PerMonth(10), Units: 1}); g.Crossed(marks) != 0 {
		t.Error("a denial crossed")
	}
}

func TestQuotas(t *testing.T) {
	now := at(t, "2026-11-30T23:59:00Z")
	limits := Limits{Monthly: 1000, Daily: 200, Rate: ratelimit.Limit{PerSecond: 2, Burst: 10}}
	got := limits.Quotas(State{Used: 990, Today: 250, TAT: now.Add(1200 * time.Millisecond).UnixNano()}, now)
	want := []Quota{
		{Monthly, 1000, 10, 30 * 24 * time.Hour, time.Minute},
		{Daily, 200, 0, 24 * time.Hour, time.Minute},
		{PerSecond, 10, 7, 5 * time.Second, 1200 * time.Millisecond},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if full := limits.Quotas(State{}, now)[2]; full.Remaining != 10 || full.Reset != 0 {
		t.Errorf("a full bucket: %+v", full)
	}
	// On the last day of a month, both reset at once: the month is what is used up.
	last := Admission{At: now, Units: 1, Limits: limits}
	if _, d := last.Decide(State{Used: 1000, Today: 200}); d.Refused != Monthly || d.Wait != time.Minute {
		t.Errorf("month and day used up: %+v", d)
	}
	if none := NoLimits.Quotas(State{Used: 5}, now); len(none) != 0 {
		t.Errorf("%+v without limits", none)
	}
}

func BenchmarkGateDenialFromMemory(b *testing.B) {
	now := time.Now()
	gate := NewGate(&scripted{answer: atState(State{Used: 1})}, func() time.Time { return now }, time.Hour)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gate.Admit(ctx, "key_a", "pl", 1, PerMonth(1)); err != nil {
			b.Fatal(err)
		}
	}
}
