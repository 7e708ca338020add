package ratelimit

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// DefaultLease outlives the longest run of a Lambda function, which is 15 minutes.
const DefaultLease = 16 * time.Minute

// Daily is one upstream's quota per UTC day.
type Daily struct {
	Store DailyStore
	Quota string // name of the quota
	Limit int    // slots a day; 0 allows nothing
	// Lease is how long a reservation holds whose process died. It must be longer
	// than any call can run. Default 16 min.
	Lease time.Duration
	Now   func() time.Time // default time.Now
}

// Reservation is a slot that is taken until it is committed, released, or lapses. It
// belongs to the day on which it was made, whenever the call ends.
type Reservation struct {
	daily   *Daily
	day, id string
}

// Reserve takes a slot of today, or returns a *[QuotaError].
func (q *Daily) Reserve(ctx context.Context) (*Reservation, error) {
	now := clock(q.Now)
	lease := q.Lease
	if lease <= 0 {
		lease = DefaultLease
	}
	r := &Reservation{daily: q, day: dayOf(now), id: rand.Text()}
	var full Day
	granted := false
	err := q.Store.Update(ctx, q.Quota, r.day, func(d Day) (Day, bool) {
		next, ok := d.Reserve(r.id, q.Limit, now, now.Add(lease))
		full, granted = d, ok
		return next, ok
	})
	if err != nil {
		return nil, fmt.Errorf("reserve a slot of daily quota %s: %w", q.Quota, err)
	}
	if !granted {
		return nil, q.refusal(full, now)
	}
	return r, nil
}

func (q *Daily) refusal(d Day, now time.Time) *QuotaError {
	e := &QuotaError{Quota: q.Quota, Limit: q.Limit, Used: d.Used(), ResetAt: nextDay(now)}
	e.wait = e.ResetAt.Sub(now)
	if lapse := d.firstLapse(); q.Limit > 0 && !lapse.IsZero() {
		e.wait = min(e.wait, lapse.Sub(now))
	}
	return e
}

// Commit uses the slot up: the call succeeded. It may be repeated.
func (r *Reservation) Commit(ctx context.Context) error {
	return r.update(ctx, "commit", Day.Commit)
}

// Release gives the slot back: the call failed. After Commit it does nothing, so it can
// be deferred. If it is unclear whether the call took effect, do neither: the slot stays
// taken for the lease, which is time to find out.
func (r *Reservation) Release(ctx context.Context) error {
	return r.update(ctx, "release", Day.Release)
}

func (r *Reservation) update(ctx context.Context, what string, change func(Day, string) Day) error {
	err := r.daily.Store.Update(ctx, r.daily.Quota, r.day, func(d Day) (Day, bool) {
		return change(d, r.id), true
	})
	if err != nil {
		return fmt.Errorf("%s a slot of daily quota %s: %w", what, r.daily.Quota, err)
	}
	return nil
}
