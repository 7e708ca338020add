package apigateway

import (
	"sync"
	"time"
)

// Throttle is the stage's token bucket.
type Throttle struct {
	// Rate in requests per second.
	Rate float64
	// Burst is the size of the bucket, in requests.
	Burst int
}

// bucket is a token bucket; nil lets everything pass.
type bucket struct {
	mu     sync.Mutex
	limit  Throttle
	tokens float64
	at     time.Time
}

func newBucket(t *Throttle, now time.Time) *bucket {
	if t == nil {
		return nil
	}
	return &bucket{limit: *t, tokens: float64(t.Burst), at: now}
}

// take removes one token; false when there is none.
func (b *bucket) take(now time.Time) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if gained := now.Sub(b.at); gained > 0 {
		b.tokens = min(float64(b.limit.Burst), b.tokens+gained.Seconds()*b.limit.Rate)
		b.at = now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
