package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/ratelimit"
)

var epoch = time.Date(2026, 2, 28, 23, 59, 50, 0, time.UTC)

// CheckRate fails the test if any window of the times at which calls passed holds more
// than burst + rate × length.
func CheckRate(t *testing.T, passed []time.Time, l ratelimit.Limit) {
	t.Helper()
	slices.SortFunc(passed, time.Time.Compare)
	for i := range passed {
		for j := i; j < len(passed); j++ {
			n, length := j-i+1, passed[j].Sub(passed[i])
			// Counted in whole intervals: floating point would decide the equal case.
			most := l.Burst + int(int64(length)/l.Interval())
			if n > most {
				t.Fatalf("%d calls passed within %s; burst %d and %v per second allow %d", n, length, l.Burst, l.PerSecond, most)
			}
		}
	}
}

// buckets checks the promises of a ratelimit.BucketStore. Time is an argument, so that
// nothing waits.
func buckets(t *testing.T, newStore func(t *testing.T) ratelimit.BucketStore) {
	limit := ratelimit.Limit{Burst: 5, PerSecond: 1}

	t.Run("burst, then refusal with the wait", func(t *testing.T) {
		s := newStore(t)
		for i := range 5 {
			wantSlot(t, s, "b", limit, epoch, 0, ratelimit.Slot{OK: true}, fmt.Sprint("call ", i+1))
		}
		wantSlot(t, s, "b", limit, epoch, 0, ratelimit.Slot{Wait: time.Second}, "call 6")
		wantSlot(t, s, "b", limit, epoch, 0, ratelimit.Slot{Wait: time.Second}, "a refusal must book nothing")
		wantSlot(t, s, "b", limit, epoch.Add(400*time.Millisecond), 0, ratelimit.Slot{Wait: 600 * time.Millisecond}, "0.4 s later")
		wantSlot(t, s, "b", limit, epoch.Add(time.Second), 0, ratelimit.Slot{OK: true}, "1 s later")
	})

	t.Run("places in the future are booked in order, up to the longest wait", func(t *testing.T) {
		s := newStore(t)
		for range 5 {
			wantSlot(t, s, "b", limit, epoch, 0, ratelimit.Slot{OK: true}, "burst")
		}
		for i := 1; i <= 3; i++ {
			wantSlot(t, s, "b", limit, epoch, 3*time.Second, ratelimit.Slot{OK: true, Wait: time.Duration(i) * time.Second}, "queue")
		}
		wantSlot(t, s, "b", limit, epoch, 3*time.Second, ratelimit.Slot{Wait: 4 * time.Second}, "queue is full")
	})

	t.Run("idle time refills to the burst and no further", func(t *testing.T) {
		s := newStore(t)
		wantSlot(t, s, "b", limit, epoch, 0, ratelimit.Slot{OK: true}, "first")
		later := epoch.Add(time.Hour)
		for range 5 {
			wantSlot(t, s, "b", limit, later, 0, ratelimit.Slot{OK: true}, "burst")
		}
		wantSlot(t, s, "b", limit, later, 0, ratelimit.Slot{Wait: time.Second}, "after the burst")
	})

	t.Run("a clock that is behind takes nothing back", func(t *testing.T) {
		s := newStore(t)
		for range 5 {
			wantSlot(t, s, "b", limit, epoch, 0, ratelimit.Slot{OK: true}, "burst")
		}
		wantSlot(t, s, "b", limit, epoch.Add(-2*time.Second), 0, ratelimit.Slot{Wait: 3 * time.Second}, "2 s behind")
	})

	t.Run("buckets are apart", func(t *testing.T) {
		s := newStore(t)
		one := ratelimit.Limit{Burst: 1, PerSecond: 1}
		wantSlot(t, s, "a", one, epoch, 0, ratelimit.Slot{OK: true}, "a")
		wantSlot(t, s, "b", one, epoch, 0, ratelimit.Slot{OK: true}, "b")
		wantSlot(t, s, "a", one, epoch, 0, ratelimit.Slot{Wait: time.Second}, "a again")
	})

	t.Run("50 at once get the burst", func(t *testing.T) {
		s := newStore(t)
		var granted atomic.Int64
		together(50, func(int) {
			slot, err := s.Take(context.Background(), "b", limit, epoch, 0)
			if err != nil {
				t.Error(err)
			}
			if slot.OK {
				granted.Add(1)
			}
		})
		if granted.Load() != 5 {
			t.Fatalf("granted %d, want exactly 5", granted.Load())
		}
	})

	t.Run("racing clocks and waits stay within the rate", func(t *testing.T) {
		s := newStore(t)
		var mu sync.Mutex
		var passed []time.Time
		together(8, func(g int) {
			for i := range 10 {
				now := epoch.Add(time.Duration(i*300+g*7) * time.Millisecond)
				slot, err := s.Take(context.Background(), "b", limit, now, time.Duration(g%3)*time.Second)
				if err != nil {
					t.Error(err)
				}
				if slot.OK {
					mu.Lock()
					passed = append(passed, now.Add(slot.Wait))
					mu.Unlock()
				}
			}
		})
		CheckRate(t, passed, limit)
		if len(passed) < limit.Burst {
			t.Fatalf("only %d passed: the burst alone is %d", len(passed), limit.Burst)
		}
	})
}

func wantSlot(t *testing.T, s ratelimit.BucketStore, bucket string, l ratelimit.Limit, now time.Time, maxWait time.Duration, want ratelimit.Slot, what string) {
	t.Helper()
	got, err := s.Take(context.Background(), bucket, l, now, maxWait)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("%s: got %+v, want %+v", what, got, want)
	}
}

// dailies checks the promises of a ratelimit.DailyStore.
func dailies(t *testing.T, newStore func(t *testing.T) ratelimit.DailyStore) {
	ctx := context.Background()

	t.Run("state comes back as it was written", func(t *testing.T) {
		s := newStore(t)
		want := ratelimit.Day{"used": 0, "reserved": 1<<62 + 1} // beyond float64
		update(t, s, "q", "2026-03-01", func(d ratelimit.Day) (ratelimit.Day, bool) {
			if d != nil {
				t.Errorf("an absent day is %v, want nil", d)
			}
			return want, true
		})
		wantDay(t, s, "q", "2026-03-01", want)
		wantDay(t, s, "q", "2026-03-02", nil)
		wantDay(t, s, "other", "2026-03-01", nil)
	})

	t.Run("false writes nothing", func(t *testing.T) {
		s := newStore(t)
		update(t, s, "q", "2026-03-01", func(ratelimit.Day) (ratelimit.Day, bool) {
			return ratelimit.Day{"x": 0}, false
		})
		wantDay(t, s, "q", "2026-03-01", nil)
	})

	t.Run("an empty day can be written", func(t *testing.T) {
		s := newStore(t)
		q := daily(s, 1, epoch)
		r := reserve(t, q)
		do(t, r.Release(ctx))
		do(t, reserve(t, q).Commit(ctx))
	})

	t.Run("no update is lost", func(t *testing.T) {
		s := newStore(t)
		together(20, func(i int) {
			err := s.Update(ctx, "q", "2026-03-01", func(d ratelimit.Day) (ratelimit.Day, bool) {
				return d.Commit(fmt.Sprint("id-", i)), true
			})
			if err != nil {
				t.Error(err)
			}
		})
		update(t, s, "q", "2026-03-01", func(d ratelimit.Day) (ratelimit.Day, bool) {
			if d.Used() != 20 {
				t.Errorf("%d of 20 updates are left", d.Used())
			}
			return d, false
		})
	})

	t.Run("quota 1, 50 at once: exactly one", func(t *testing.T) {
		s := newStore(t)
		var granted atomic.Int64
		together(50, func(int) {
			// A limiter of its own each: they share nothing but the store.
			r, err := daily(s, 1, epoch).Reserve(ctx)
			if err != nil {
				return
			}
			granted.Add(1)
			if err := r.Commit(ctx); err != nil {
				t.Error(err)
			}
		})
		if granted.Load() != 1 {
			t.Fatalf("granted %d, want exactly 1", granted.Load())
		}
	})

	t.Run("a new day starts empty", func(t *testing.T) {
		s := newStore(t)
		do(t, reserve(t, daily(s, 1, epoch)).Commit(ctx))
		do(t, reserve(t, daily(s, 1, epoch.Add(10*time.Second))).Commit(ctx))
	})
}

func daily(s ratelimit.DailyStore, limit int, now time.Time) *ratelimit.Daily {
	return &ratelimit.Daily{Store: s, Quota: "q", Limit: limit, Now: func() time.Time { return now }}
}

func reserve(t *testing.T, q *ratelimit.Daily) *ratelimit.Reservation {
	t.Helper()
	r, err := q.Reserve(context.Background())
	do(t, err)
	return r
}

func update(t *testing.T, s ratelimit.DailyStore, quota, day string, change func(ratelimit.Day) (ratelimit.Day, bool)) {
	t.Helper()
	do(t, s.Update(context.Background(), quota, day, change))
}

func wantDay(t *testing.T, s ratelimit.DailyStore, quota, day string, want ratelimit.Day) {
	t.Helper()
	update(t, s, quota, day, func(d ratelimit.Day) (ratelimit.Day, bool) {
		if !maps.Equal(d, want) {
			t.Errorf("%s on %s is %v, want %v", quota, day, d, want)
		}
		return d, false
	})
}
