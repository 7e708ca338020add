package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store/storetest"
)

// 64 callers over two instances that share a store, for 10 virtual seconds.
func TestTwoInstancesNeverExceedTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := ratelimit.Limit{Burst: 5, PerSecond: 1}
		store := &storetest.Memory{}
		instances := []*ratelimit.Limiter{
			{Store: store, Bucket: "b", Limit: limit},
			{Store: store, Bucket: "b", Limit: limit},
		}
		start := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), start.Add(10*time.Second))
		defer cancel()
		var mu sync.Mutex
		var passed []time.Time
		var refused int
		var wg sync.WaitGroup
		for g := range 64 {
			wg.Go(func() {
				for time.Since(start) < 10*time.Second {
					err := instances[g%2].Wait(ctx)
					mu.Lock()
					var tooLate *ratelimit.WaitError
					switch {
					case err == nil:
						passed = append(passed, time.Now())
					case errors.As(err, &tooLate):
						refused++
					case !errors.Is(err, context.DeadlineExceeded):
						t.Error(err)
					}
					mu.Unlock()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		storetest.CheckRate(t, passed, limit)
		// Not below either: 5 at once and one at each full second, the tenth included
		// or not, as the deadline falls on it.
		if len(passed) < 14 || len(passed) > 15 {
			t.Errorf("%d passed in 10 s, want 14 or 15", len(passed))
		}
		if refused == 0 {
			t.Error("64 callers and none refused")
		}
		t.Logf("passed %d, refused %d", len(passed), refused)
	})
}

func TestWaitOnlyWithinTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ratelimit.Limiter{Store: &storetest.Memory{}, Bucket: "b", Limit: ratelimit.Limit{Burst: 1, PerSecond: 0.2}}
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var tooLate *ratelimit.WaitError
		if err := l.Wait(ctx); !errors.As(err, &tooLate) || tooLate.RetryAfter() != 5*time.Second {
			t.Fatalf("got %v, want a WaitError of 5s", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s before it refused", waited)
		}
		if err := l.Wait(t.Context()); err != nil { // fits the default of 10 s
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("waited %s, want 5s: the refused call must not have taken the place", waited)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ratelimit.Limiter{Store: &storetest.Memory{}, Limit: ratelimit.Limit{Burst: 1, PerSecond: 0.2}}
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if err := l.Wait(ctx); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

type brokenStore struct{ storetest.Memory }

var errStore = errors.New("store is down")

func (*brokenStore) Take(context.Context, string, ratelimit.Limit, time.Time, time.Duration) (ratelimit.Slot, error) {
	return ratelimit.Slot{OK: true}, errStore
}

func (*brokenStore) Update(context.Context, string, string, func(ratelimit.Day) (ratelimit.Day, bool)) error {
	return errStore
}

func TestStoreDownFailsClosed(t *testing.T) {
	l := &ratelimit.Limiter{Store: &brokenStore{}, Limit: ratelimit.Limit{Burst: 1, PerSecond: 1}}
	if err := l.Wait(t.Context()); !errors.Is(err, errStore) {
		t.Errorf("bucket: %v", err)
	}
	q := &ratelimit.Daily{Store: &brokenStore{}, Limit: 1}
	if r, err := q.Reserve(t.Context()); !errors.Is(err, errStore) || r != nil {
		t.Errorf("daily: %v, %v", r, err)
	}
}

func TestLimitValidate(t *testing.T) {
	slow := ratelimit.Limit{Burst: 2, PerSecond: 1e-6}
	if err := slow.Validate(); err != nil {
		t.Errorf("two calls in 23 days: %v", err)
	}
	for _, l := range []ratelimit.Limit{{}, {Burst: 1}, {PerSecond: 1}, {Burst: 10000, PerSecond: 1e-6}, {Burst: math.MaxInt, PerSecond: 1}, {Burst: 1, PerSecond: -1}, {Burst: 1, PerSecond: math.NaN()}, {Burst: 1, PerSecond: math.Inf(1)}} {
		if l.Validate() == nil {
			t.Errorf("%+v is accepted", l)
		}
		if err := (&ratelimit.Limiter{Store: &storetest.Memory{}, Limit: l}).Wait(t.Context()); err == nil {
			t.Errorf("%+v lets a call pass", l)
		}
	}
}

// Whatever the clocks, the waits and the limit: the places that are booked keep to the
// rate, a refusal names a wait after which the call passes, and no state that still counts
// may be forgotten.
func TestDecideKeepsTheRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := ratelimit.Limit{
			Burst:     rapid.IntRange(1, 5).Draw(rt, "burst"),
			PerSecond: rapid.SampledFrom([]float64{1e-6, 1e-5, 0.1, 1, 3, 7.5}).Draw(rt, "rate"),
		}
		now := time.Unix(1_700_000_000, 0)
		var tat int64
		var passed []time.Time
		for range rapid.IntRange(1, 40).Draw(rt, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(rt, "step")))
			maxWait := time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(rt, "longest"))
			next, slot := limit.Decide(tat, now.UnixNano(), maxWait)
			if !slot.OK {
				if next != tat {
					rt.Fatal("a refusal changed the state")
				}
				if _, again := limit.Decide(tat, now.Add(slot.Wait).UnixNano(), 0); !again.OK {
					rt.Fatalf("refused again after the wait of %s", slot.Wait)
				}
				continue
			}
			if kept := now.Add(limit.Retention(maxWait)).UnixNano(); next > kept {
				rt.Fatalf("full again %s after the state may be forgotten", time.Duration(next-kept))
			}
			if slot.Wait > maxWait || next <= tat {
				rt.Fatalf("slot %+v, longest wait %s, state %d → %d", slot, maxWait, tat, next)
			}
			if back := limit.Booked(next, now.UnixNano()); back != slot {
				rt.Fatalf("Booked says %+v, Decide said %+v", back, slot)
			}
			tat = next
			passed = append(passed, now.Add(slot.Wait))
		}
		storetest.CheckRate(t, passed, limit)
	})
}

func TestDailyReleaseFreesAndCommitKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which starts at a midnight UTC
		ctx := t.Context()
		q := &ratelimit.Daily{Store: &storetest.Memory{}, Quota: "q", Limit: 1}
		time.Sleep(18 * time.Hour)

		r := reserved(t, q)
		wantFull(t, q, 0, 1, 16*time.Minute)
		check(t, r.Release(ctx)) // the publication failed
		r = reserved(t, q)
		check(t, r.Commit(ctx))
		check(t, r.Commit(ctx))
		check(t, r.Release(ctx)) // deferred by the caller
		wantFull(t, q, 1, 0, 6*time.Hour)

		time.Sleep(6*time.Hour - time.Nanosecond)
		wantFull(t, q, 1, 0, 1)
		time.Sleep(time.Nanosecond)
		reserved(t, q)
	})
}

func TestDailyCrashBlocksNothingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &ratelimit.Daily{Store: &storetest.Memory{}, Quota: "q", Limit: 1, Lease: time.Minute}
		crashed := reserved(t, q)
		time.Sleep(time.Minute - time.Nanosecond)
		wantFull(t, q, 0, 1, 1) // not within the lease
		time.Sleep(time.Nanosecond)
		second := reserved(t, q)
		check(t, crashed.Release(t.Context())) // too late: must not free the second's slot
		wantFull(t, q, 0, 1, time.Minute)
		check(t, second.Commit(t.Context()))
		wantFull(t, q, 1, 0, 24*time.Hour-time.Minute)
	})
}

func TestDailyBelongsToTheDayItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &ratelimit.Daily{Store: &storetest.Memory{}, Quota: "q", Limit: 1}
		time.Sleep(24*time.Hour - time.Second)
		late := reserved(t, q)
		time.Sleep(2 * time.Second)
		check(t, late.Commit(t.Context()))
		check(t, reserved(t, q).Commit(t.Context()))
	})
}

// Of many that publish with failures in between, exactly the quota succeeds, and a
// slot is never held by more callers than there are slots.
func TestDailyUnderFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3
		store := &storetest.Memory{}
		var succeeded, inFlight atomic.Int64
		var wg sync.WaitGroup
		for g := range 50 {
			wg.Go(func() {
				q := &ratelimit.Daily{Store: store, Quota: "q", Limit: limit}
				for try := range 20 {
					r, err := q.Reserve(t.Context())
					if err == nil {
						if n := inFlight.Add(1) + succeeded.Load(); n > limit {
							t.Errorf("%d of %d slots taken", n, limit)
						}
						time.Sleep(time.Duration(g+1) * time.Millisecond)
						inFlight.Add(-1)
						if (g+try)%5 == 0 {
							succeeded.Add(1)
							check(t, r.Commit(t.Context()))
						} else {
							check(t, r.Release(t.Context()))
						}
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		if succeeded.Load() != limit {
			t.Errorf("%d succeeded, want exactly %d", succeeded.Load(), limit)
		}
	})
}

func TestQuotaZeroAllowsNothing(t *testing.T) {
	q := &ratelimit.Daily{Store: &storetest.Memory{}, Quota: "q"}
	var full *ratelimit.QuotaError
	if _, err := q.Reserve(t.Context()); !errors.As(err, &full) {
		t.Errorf("got %v", err)
	}
}

func reserved(t *testing.T, q *ratelimit.Daily) *ratelimit.Reservation {
	t.Helper()
	r, err := q.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantFull(t *testing.T, q *ratelimit.Daily, used, inProgress int, wait time.Duration) {
	t.Helper()
	_, err := q.Reserve(t.Context())
	var full *ratelimit.QuotaError
	if !errors.As(err, &full) {
		t.Fatalf("got %v, want a QuotaError", err)
	}
	if full.Used != used || full.InProgress() != inProgress || full.RetryAfter() != wait {
		t.Fatalf("used %d, in progress %d, retry after %s; want %d, %d, %s",
			full.Used, full.InProgress(), full.RetryAfter(), used, inProgress, wait)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkLimiter(b *testing.B) {
	l := &ratelimit.Limiter{Store: &storetest.Memory{}, Limit: ratelimit.Limit{Burst: 1 << 40, PerSecond: 1e6}}
	for b.Loop() {
		if err := l.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
