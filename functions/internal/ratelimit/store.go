package ratelimit

import (
	"context"
	"time"
)

// BucketStore keeps the state of buckets.
type BucketStore interface {
	// Take applies Limit.Decide to the bucket's state in one atomic step and returns
	// the slot. An error means that nothing is known to be booked; a place that was
	// booked nevertheless is lost, which slows down and never speeds up. So an
	// unclear write may be retried.
	//
	// In SQL, with now, interval, tolerance and maxWait in nanoseconds, one statement:
	//
	//	INSERT INTO bucket (name, tat) VALUES (:name, :now + :interval)
	//	ON CONFLICT (name) DO UPDATE SET tat = max(tat, :now) + :interval
	//	WHERE tat <= :now + :tolerance + :maxWait
	//	RETURNING tat
	//
	// and Limit.Booked on the row, or, without a row, Decide on the state as it is read
	// then. DynamoDB has no max, so there are two updates whose conditions exclude one
	// another; the usual one, on an idle bucket, comes first:
	//
	//	SET tat = :now + :interval  IF attribute_not_exists(tat) OR tat <= :now
	//	SET tat = tat + :interval   IF tat > :now AND tat <= :now + :tolerance + :maxWait
	//
	// A failed condition returns the old item (ALL_OLD): if Decide refuses that state,
	// that is the answer, without a second write. If the item is missing from the
	// failure, try the second update. Since tat never decreases, a failure of the second
	// after the first is a refusal.
	//
	// State may be forgotten Limit.Retention after it was written, and no sooner.
	Take(ctx context.Context, bucket string, l Limit, now time.Time, maxWait time.Duration) (Slot, error)
}

// DailyStore keeps the state of daily quotas.
type DailyStore interface {
	// Update replaces the quota's state on that day (YYYY-MM-DD, UTC) by change of it,
	// in one atomic step; an absent state is nil. If change returns false, nothing is
	// written. Change has no side effects and may be called repeatedly: a store
	// without transactions reads the state with a version, and writes on condition
	// that the version is the same. Expired days may be deleted, by a TTL of two days
	// or more.
	Update(ctx context.Context, quota, day string, change func(Day) (Day, bool)) error
}
