package ratelimit

import (
	"sync"
	"time"
)

// Budget bounds how often each source may do what is free. It lives in the memory of one
// instance: where nothing is charged, nothing is worth a write to a store. So a source gets the
// rate once per instance that serves it. A nil Budget has no bound. It is safe for concurrent
// use.
type Budget struct {
	limit Limit

	mu    sync.Mutex
	tat   map[string]int64 // see Limit.Decide
	swept int64            // when the sources with a full bucket were last dropped, in Unix nanoseconds
}

// NewBudget makes a budget of a valid limit.
func NewBudget(l Limit) *Budget { return &Budget{limit: l, tat: map[string]int64{}} }

// maxSources bounds the memory. Sources beyond it share one bucket.
const maxSources = 10_000

// shared is the bucket of the sources beyond maxSources.
const shared = ""

// Allow takes a place of the source's bucket. If there is none, nothing is taken, and the next
// one is wait from now.
func (b *Budget) Allow(source string, now time.Time) (wait time.Duration, ok bool) {
	return b.decide(source, now, true)
}

// Left is Allow without taking: for those who learn only afterwards whether it was free.
func (b *Budget) Left(source string, now time.Time) (wait time.Duration, ok bool) {
	return b.decide(source, now, false)
}

func (b *Budget) decide(source string, now time.Time, take bool) (time.Duration, bool) {
	if b == nil {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := now.UnixNano()
	tat, known := b.tat[source]
	if !known && !b.room(at) {
		source = shared
		tat = b.tat[source]
	}
	next, slot := b.limit.Decide(tat, at, 0)
	if take && slot.OK {
		b.tat[source] = next
	}
	return slot.Wait, slot.OK
}

// room reports whether one more source can have its own bucket. A full bucket means no more than
// an absent one, so those are dropped; not more often than one can fill, since it takes a walk
// through all of them.
func (b *Budget) room(now int64) bool {
	if len(b.tat) < maxSources {
		return true
	}
	if now-b.swept < int64(b.limit.Retention(0)) {
		return false
	}
	b.swept = now
	for source, tat := range b.tat {
		if tat <= now {
			delete(b.tat, source)
		}
	}
	return len(b.tat) < maxSources
}
