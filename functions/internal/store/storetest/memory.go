package storetest

import (
	"context"
	"sync"
	"time"

	"sekisho/functions/internal/ratelimit"
)

// Memory is a ratelimit.BucketStore and a ratelimit.DailyStore in memory, for tests within
// testing/synctest: a database would keep its clock from advancing. The zero value is empty
// and ready.
type Memory struct {
	mu      sync.Mutex
	buckets map[string]int64
	days    map[[2]string]ratelimit.Day
}

// Take implements ratelimit.BucketStore.
func (m *Memory) Take(ctx context.Context, bucket string, l ratelimit.Limit, now time.Time, maxWait time.Duration) (ratelimit.Slot, error) {
	if err := ctx.Err(); err != nil {
		return ratelimit.Slot{}, err
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

// Update implements ratelimit.DailyStore.
func (m *Memory) Update(ctx context.Context, quota, day string, change func(ratelimit.Day) (ratelimit.Day, bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.days == nil {
		m.days = map[[2]string]ratelimit.Day{}
	}
	key := [2]string{quota, day}
	if next, ok := change(m.days[key]); ok {
		m.days[key] = next
	}
	return nil
}
