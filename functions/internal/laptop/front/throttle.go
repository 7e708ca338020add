package front

import (
	"sync"
	"time"
)

// Throttle is a token bucket's limit. API Gateway has a bucket for each method of a stage
// (AGW/api-gateway-request-throttling.html).
type Throttle struct {
	// Rate in requests per second.
	Rate float64
	// Burst is the size of the bucket, in requests.
	Burst int
}

// Throttles are the buckets of a stage, by method or route such as GET /v1/postal. They are safe for
// concurrent use.
type Throttles struct {
	mu      sync.Mutex
	stage   *Throttle
	buckets map[string]*bucket
}

// NewThrottles makes full buckets. The stage's limit holds for methods without one of their own;
// nil lets everything pass.
func NewThrottles(stage *Throttle) *Throttles {
	return &Throttles{stage: stage, buckets: map[string]*bucket{}}
}

// Take removes one token of a method, which may have a limit of its own; false when there is
// none. Another limit than before begins with a full bucket; one of 0 leaves the bucket alone.
// Routes bound how many buckets there are.
func (t *Throttles) Take(method string, own map[string]Throttle, now time.Time) bool {
	limit, ok := own[method]
	switch {
	case !ok && t.stage == nil:
		return true
	case !ok:
		limit = *t.stage
	}
	if limit.Burst == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[method]
	if b == nil || b.limit != limit {
		b = &bucket{limit: limit, tokens: float64(limit.Burst), at: now}
		t.buckets[method] = b
	}
	return b.take(now)
}

type bucket struct {
	limit  Throttle
	tokens float64
	at     time.Time
}

func (b *bucket) take(now time.Time) bool {
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
