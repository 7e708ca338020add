package ratelimit

import (
	"context"
	"fmt"
	"time"
)

// DefaultMaxWait is the longest that a Limiter waits without a nearer deadline.
const DefaultMaxWait = 10 * time.Second

// Limiter passes calls to one upstream through its bucket.
type Limiter struct {
	Store   BucketStore
	Bucket  string
	Limit   Limit
	MaxWait time.Duration    // longest wait; default 10 s
	Now     func() time.Time // default time.Now
}

// WaitError is a place in the bucket that is too far away. Nothing was booked.
type WaitError struct {
	Bucket string
	Wait   time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("rate limit %s: the next call may be made in %s, too late for this one", e.Bucket, e.Wait)
}

// RetryAfter is when a place is free, if nobody books it first.
func (e *WaitError) RetryAfter() time.Duration { return e.Wait }

// Wait books a place and waits for it. A place that lies behind the context's deadline
// is not booked: Wait returns a *[WaitError] at once. A call that is cancelled while it
// waits loses its place, which slows the bucket down and never speeds it up.
//
// The clock of each instance counts: one that is ahead by d gets places d earlier.
func (l *Limiter) Wait(ctx context.Context) error {
	if err := l.Limit.Validate(); err != nil {
		return fmt.Errorf("rate limit %s: %w", l.Bucket, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := clock(l.Now)
	slot, err := l.Store.Take(ctx, l.Bucket, l.Limit, now, l.longest(ctx, now))
	if err != nil {
		return fmt.Errorf("rate limit %s: %w", l.Bucket, err)
	}
	if !slot.OK {
		return &WaitError{Bucket: l.Bucket, Wait: slot.Wait}
	}
	// The store's answer took time, too.
	timer := time.NewTimer(slot.Wait - clock(l.Now).Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Limiter) longest(ctx context.Context, now time.Time) time.Duration {
	longest := l.MaxWait
	if longest <= 0 {
		longest = DefaultMaxWait
	}
	if deadline, ok := ctx.Deadline(); ok {
		longest = min(longest, deadline.Sub(now))
	}
	return longest
}

func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}
