package apigateway

import (
	"maps"
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

// throttles are the buckets of a stage, by method such as GET /v1/postal.
type throttles struct {
	mu sync.Mutex
	// stage holds for methods without a limit of their own; nil lets everything pass.
	stage   *Throttle
	own     map[string]Throttle
	buckets map[string]*bucket
}

func newThrottles(stage *Throttle) *throttles {
	return &throttles{stage: stage, own: map[string]Throttle{}, buckets: map[string]*bucket{}}
}

// take removes one token of a method; false when there is none. Routes bound how many buckets
// there are.
func (t *throttles) take(method string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit, ok := t.own[method]
	if !ok {
		if t.stage == nil {
			return true
		}
		limit = *t.stage
	}
	b := t.buckets[method]
	if b == nil {
		b = &bucket{limit: limit, tokens: float64(limit.Burst), at: now}
		t.buckets[method] = b
	}
	return b.take(now)
}

// set gives a method a limit of its own, and a full bucket; nil takes it away.
func (t *throttles) set(method string, limit *Throttle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.buckets, method)
	if delete(t.own, method); limit != nil {
		t.own[method] = *limit
	}
}

func (t *throttles) all() map[string]Throttle {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.own)
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
