package outbound

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBackoffBase(t *testing.T) {
	want := []time.Duration{500 * ms, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 20 * time.Second, 20 * time.Second}
	for i, w := range want {
		if got := backoff(i+1, 0); got != w {
			t.Errorf("after attempt %d: %s, want %s", i+1, got, w)
		}
	}
	if got := backoff(1000, 0); got != backoffMax {
		t.Errorf("after attempt 1000: %s", got)
	}
}

// 10,000 draws: all in [1, 1.3] × base, and spread evenly. For 30 equal parts (29 degrees
// of freedom) chi-square is above 58.3 once in a thousand times; the seed is fixed.
func TestJitterIsEven(t *testing.T) {
	const draws, parts = 10_000, 30
	for attempt := 1; attempt < MaxAttempts; attempt++ {
		random := rand.New(rand.NewPCG(7, uint64(attempt)))
		base := backoff(attempt, 0)
		var counts [parts]int
		for range draws {
			factor := float64(backoff(attempt, random.Float64())) / float64(base)
			if factor < 1 || factor > 1.3 {
				t.Fatalf("after attempt %d: %v × base", attempt, factor)
			}
			counts[min(int((factor-1)/0.3*parts), parts-1)]++
		}
		chi := 0.0
		const expected = float64(draws) / parts
		for _, n := range counts {
			chi += (float64(n) - expected) * (float64(n) - expected) / expected
		}
		if chi > 58.3 {
			t.Errorf("after attempt %d: chi-square is %.1f, the draws are not even: %v", attempt, chi, counts)
		}
		t.Logf("after attempt %d: chi-square %.1f of 58.3", attempt, chi)
	}
}

func TestDefaultJitterVaries(t *testing.T) {
	c := newClient(t, Config{})
	seen := map[float64]bool{}
	for range 100 {
		u := c.cfg.Jitter()
		if u < 0 || u >= 1 {
			t.Fatalf("%v is not in [0, 1)", u)
		}
		seen[u] = true
	}
	if len(seen) < 90 {
		t.Errorf("only %d different draws of 100", len(seen))
	}
}
