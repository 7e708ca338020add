package ratelimit

import (
	"context"
	"sync"
	"time"
)

// Memory is both stores inside one process: for tests, and for whatever runs alone.
// The zero value is empty and ready.
type Memory struct {
	mu      sync.Mutex
	buckets map[string]int64
	days    map[[2]string]Day
}

// Take implements BucketStore.
func (m *Memory) Take(ctx context.Context, bucket string, l Limit, now time.Time, maxWait time.Duration) (Slot, error) {
	if err := ctx.Err(); err != nil {
		return Slot{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buckets == nil {
		m.buckets = map[string]int64{}
	}
	tat, slot := l.Decide(m.buckets[bucket], now.UnixNano(), maxWait)
	m.buckets[bucket] = tat
	return slot, nil
}

// Update implements DailyStore.
func (m *Memory) Update(ctx context.Context, quota, day string, change func(Day) (Day, bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.days == nil {
		m.days = map[[2]string]Day{}
	}
	key := [2]string{quota, day}
	if next, ok := change(m.days[key]); ok {
		m.days[key] = next
	}
	return nil
}
