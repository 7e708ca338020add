package ratelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitsAtTheirBounds(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		good  bool
	}{
		{Limit{1, 1e6}, true}, {Limit{1, 1e6 + 1}, false},
		{Limit{315, 1e-6}, true}, {Limit{316, 1e-6}, false}, // a bit less and more than ten years
		{Limit{315_360_000, 1}, true}, {Limit{315_360_001, 1}, false},
	} {
		if err := c.limit.Validate(); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.limit, err)
		}
	}
}

// TestASweepIsNotRepeated before a bucket can have filled since: it walks through all sources.
func TestASweepIsNotRepeated(t *testing.T) {
	b := NewBudget(Limit{Burst: 1, PerSecond: 1})
	full := func() {
		for i := range maxSources {
			b.tat[string(rune('a'+i%26))+time.Duration(i).String()] = noon.UnixNano() - 1
		}
	}
	full()
	if !b.room(noon.UnixNano()) || len(b.tat) != 0 {
		t.Fatalf("%d sources with a full bucket are kept", len(b.tat))
	}
	full()
	if later := noon.Add(time.Second - 1); b.room(later.UnixNano()) || len(b.tat) != maxSources {
		t.Error("swept again, before any bucket can have filled")
	}
	if later := noon.Add(time.Second); !b.room(later.UnixNano()) {
		t.Error("not swept when a bucket can have filled")
	}
}

func TestASlotIsReservedOnce(t *testing.T) {
	day, ok := Day{}.Reserve("a", 1, noon, noon.Add(time.Hour))
	if !ok {
		t.Fatal("refused")
	}
	again, ok := day.Reserve("a", 1, noon, noon.Add(2*time.Hour))
	if !ok || again["a"] != noon.Add(time.Hour).UnixNano() {
		t.Errorf("repeated: %v, %t; want the same reservation", again, ok)
	}
}

func TestTheFirstLapseIsTheWait(t *testing.T) {
	at := func(d time.Duration) int64 { return noon.Add(d).UnixNano() }
	for _, c := range []struct {
		day  Day
		want time.Duration
	}{
		{Day{"a": at(time.Hour), "b": at(time.Minute), "c": at(2 * time.Hour)}, time.Minute},
		{Day{"a": 0, "b": at(time.Hour)}, time.Hour},
		{Day{"a": 0}, 12 * time.Hour},                  // all used for good: the next day
		{Day{"a": at(20 * time.Hour)}, 12 * time.Hour}, // the day ends first
	} {
		for range 20 { // maps have no order
			if e := (&Daily{Limit: len(c.day)}).refusal(c.day, noon); e.RetryAfter() != c.want {
				t.Fatalf("%v: %s, want %s", c.day, e.RetryAfter(), c.want)
			}
		}
	}
	if e := (&Daily{}).refusal(Day{"a": at(time.Minute)}, noon); e.RetryAfter() != 12*time.Hour {
		t.Errorf("a quota of none opens in %s", e.RetryAfter())
	}
}

// slow is a store that takes a second to answer.
type slow struct {
	BucketStore
	DailyStore
	slot    Slot
	err     error
	maxWait time.Duration
}

func (s *slow) Take(_ context.Context, _ string, _ Limit, _ time.Time, maxWait time.Duration) (Slot, error) {
	time.Sleep(time.Second)
	s.maxWait = maxWait
	return s.slot, s.err
}

func (s *slow) Update(context.Context, string, string, func(Day) (Day, bool)) error { return s.err }

// TestTheStoresTimeIsPartOfTheWait, and without another bound a wait is of ten seconds at most.
func TestTheStoresTimeIsPartOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{slot: Slot{OK: true, Wait: 3 * time.Second}}
		l := &Limiter{Store: s, Limit: Limit{Burst: 1, PerSecond: 1}}
		start := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %s, want a wait of 3s in all", err, time.Since(start))
		}
		if s.maxWait != DefaultMaxWait {
			t.Errorf("a place is booked up to %s away, want %s", s.maxWait, DefaultMaxWait)
		}
		l.MaxWait = 2 * time.Second
		if _ = l.Wait(t.Context()); s.maxWait != 2*time.Second {
			t.Errorf("a place is booked up to %s away, want 2s", s.maxWait)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.maxWait = 0
		if err := l.Wait(ctx); !errors.Is(err, context.Canceled) || s.maxWait != 0 {
			t.Errorf("a caller that has gone: %v, and the store was asked: %t", err, s.maxWait != 0)
		}
		fixed := func() time.Time { return noon }
		if got := clock(fixed); !got.Equal(noon) {
			t.Errorf("the clock says %s", got)
		}
	})
}

func TestUnsettledPlacesAreErrors(t *testing.T) {
	s := &slow{}
	q := &Daily{Store: s, Quota: "q", Limit: 1}
	r := &Reservation{daily: q, day: "2026-11-30", id: "a"}
	s.err = errors.New("store down")
	for name, do := range map[string]func(context.Context) error{"commit": r.Commit, "release": r.Release} {
		if err := do(t.Context()); !errors.Is(err, s.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
