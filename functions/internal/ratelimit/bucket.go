package ratelimit

import (
	"fmt"
	"math"
	"time"
)

// Limit is a token bucket: Burst calls at once, PerSecond in the long run.
type Limit struct {
	Burst     int     // at least 1
	PerSecond float64 // 1e-6 to 1e6
}

// longestRefill keeps the arithmetic on Unix nanoseconds within 64 bits.
const longestRefill = 10 * 365 * 24 * time.Hour

// Validate names the value out of range.
func (l Limit) Validate() error {
	if l.Burst < 1 {
		return fmt.Errorf("burst is %d: give 1 or more", l.Burst)
	}
	if !(l.PerSecond >= 1e-6 && l.PerSecond <= 1e6) {
		return fmt.Errorf("rate is %v per second: give 0.000001 to 1000000", l.PerSecond)
	}
	if float64(l.Burst)/l.PerSecond > longestRefill.Seconds() {
		return fmt.Errorf("a burst of %d at %v per second takes more than 10 years to come back: give a smaller burst or a higher rate", l.Burst, l.PerSecond)
	}
	return nil
}

// Interval is the time that one call takes up, in nanoseconds, rounded up so that the
// rate is never exceeded.
func (l Limit) Interval() int64 { return int64(math.Ceil(1e9 / l.PerSecond)) }

// Tolerance is how far the bucket may run ahead of the clock, in nanoseconds.
func (l Limit) Tolerance() int64 { return int64(l.Burst-1) * l.Interval() }

// Retention is how long after a booking the state must be kept: until the bucket is full
// again, whatever it held. From then on the state means no more than an absent one.
func (l Limit) Retention(maxWait time.Duration) time.Duration {
	return time.Duration(l.Tolerance()+l.Interval()) + max(0, maxWait)
}

// A bucket's whole state is one integer, GCRA's theoretical arrival time (ITU-T I.371):
// when the bucket will be full again, in Unix nanoseconds. An absent one is 0. It
// never decreases.

// Slot is the answer to a call that wants to pass.
type Slot struct {
	// OK: a place is booked, Wait from now. Not OK: nothing was booked, and the next
	// place is Wait from now.
	OK   bool
	Wait time.Duration
}

// Decide books the next place of a bucket with state tat, if it is at most maxWait from
// now, and returns the new state. Booking the future makes a wait cost one write like
// any other call: nobody polls, and callers pass in the order in which they booked.
func (l Limit) Decide(tat, now int64, maxWait time.Duration) (newTAT int64, s Slot) {
	wait := time.Duration(max(0, tat-l.Tolerance()-now))
	if wait > maxWait {
		return tat, Slot{Wait: wait}
	}
	return max(tat, now) + l.Interval(), Slot{OK: true, Wait: wait}
}

// Booked is the slot of the write that produced newTAT: for stores that get the new
// state back.
func (l Limit) Booked(newTAT, now int64) Slot {
	wait := newTAT - l.Interval() - l.Tolerance() - now
	return Slot{OK: true, Wait: time.Duration(max(0, wait))}
}
