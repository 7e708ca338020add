package ratelimit

import (
	"fmt"
	"time"
)

// Day is the state of one quota on one UTC day: every slot that is taken, by the id of
// its reservation. The value is 0 for a slot used for good, otherwise the Unix
// nanoseconds at which the reservation lapses.
//
// A slot is reserved before the call and kept only if the call succeeded. A reservation
// whose process died lapses by itself, so it never blocks a slot for good; it outlives the
// longest possible call, so no slot is given away under a call that is still running.
// Repeating one of the three operations changes nothing, so a store may retry an unclear
// write.
type Day map[string]int64

// Reserve returns d with a slot for id until expires, or false if none is free.
// Lapsed reservations are dropped.
func (d Day) Reserve(id string, limit int, now, expires time.Time) (Day, bool) {
	next := make(Day, len(d)+1)
	for other, until := range d {
		if until == 0 || until > now.UnixNano() {
			next[other] = until
		}
	}
	if _, taken := next[id]; taken {
		return next, true
	}
	if len(next) >= limit {
		return d, false
	}
	next[id] = expires.UnixNano()
	return next, true
}

// Commit returns d with id's slot used for good. That holds for a lapsed reservation
// too: what happened counts.
func (d Day) Commit(id string) Day {
	next := d.clone()
	next[id] = 0
	return next
}

// Release returns d without id's reservation. A committed slot stays.
func (d Day) Release(id string) Day {
	next := d.clone()
	if next[id] != 0 {
		delete(next, id)
	}
	return next
}

// Used counts the slots used for good.
func (d Day) Used() int {
	n := 0
	for _, until := range d {
		if until == 0 {
			n++
		}
	}
	return n
}

func (d Day) clone() Day {
	next := make(Day, len(d)+1)
	for id, until := range d {
		next[id] = until
	}
	return next
}

// firstLapse is when the first reservation of d ends, zero if there is none.
func (d Day) firstLapse() time.Time {
	var first int64
	for _, until := range d {
		if until != 0 && (first == 0 || until < first) {
			first = until
		}
	}
	if first == 0 {
		return time.Time{}
	}
	return time.Unix(0, first)
}

// dayOf is the key of t's UTC day, and nextDay the first instant of the next.
func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func nextDay(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}

// QuotaError is a day whose slots are all taken.
type QuotaError struct {
	Quota   string
	Limit   int
	Used    int       // for good
	ResetAt time.Time // the next UTC midnight
	wait    time.Duration
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("daily quota %s: %d of %d used, %d in progress; next reset at %s",
		e.Quota, e.Used, e.Limit, e.InProgress(), e.ResetAt.Format(time.RFC3339))
}

// InProgress counts the slots that are reserved. If it isn't 0, one may become free
// before the reset.
func (e *QuotaError) InProgress() int { return max(0, e.Limit-e.Used) }

// RetryAfter is the time until the reset, or, if a slot is only reserved, until that
// reservation lapses at the latest.
func (e *QuotaError) RetryAfter() time.Duration { return e.wait }
