// Package memo remembers what a store answered, for a while and up to a bound.
package memo

import (
	"sync"
	"time"
)

// Memo maps keys to answers. It is safe for concurrent use.
type Memo[V any] struct {
	ttl time.Duration

	mu      sync.Mutex
	answers map[string]answer[V]
}

type answer[V any] struct {
	value V
	until time.Time
}

// New makes a memo that remembers for ttl; with 0, nothing.
func New[V any](ttl time.Duration) *Memo[V] {
	return &Memo[V]{ttl: ttl, answers: map[string]answer[V]{}}
}

// At returns what is remembered of a key.
func (m *Memo[V]) At(key string, now time.Time) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.answers[key]
	return a.value, ok && now.Before(a.until)
}

// most bounds the answers, so that a flood of made-up keys can't fill the memory.
const most = 10_000

// Remember replaces what is remembered of a key.
func (m *Memo[V]) Remember(key string, value V, now time.Time) {
	if m.ttl <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.answers) >= most {
		clear(m.answers)
	}
	m.answers[key] = answer[V]{value, now.Add(m.ttl)}
}
