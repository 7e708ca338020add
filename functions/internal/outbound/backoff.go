package outbound

import "time"

// Backoff before the second attempt, its bound, and the most that jitter adds.
const (
	backoffFirst  = 500 * time.Millisecond
	backoffMax    = 20 * time.Second
	backoffJitter = 0.3
)

// backoff is the wait after attempt n (from 1): 500 ms doubled each time, at most
// 20 s, times a factor in [1, 1.3) that u, in [0, 1), chooses. Jitter only adds:
// callers spread out, and none comes back sooner than the base.
func backoff(n int, u float64) time.Duration {
	base := backoffMax
	if n < 7 { // 500 ms << 6 is 32 s
		base = min(backoffFirst<<(n-1), backoffMax)
	}
	return base + time.Duration(u*backoffJitter*float64(base))
}
