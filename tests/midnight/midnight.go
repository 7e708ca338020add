// Package midnight keeps tests that use the real clock away from the turn of the day, which is
// also that of the month: counters start again there.
package midnight

import (
	"testing"
	"time"
)

// Avoid makes sure that no UTC midnight comes within the time that a test takes: if one would, it
// waits until it is over.
func Avoid(t testing.TB, takes time.Duration) {
	t.Helper()
	if wait := untilOver(time.Now(), takes); wait > 0 {
		t.Logf("waiting %s for midnight UTC to be over", wait)
		time.Sleep(wait)
	}
}

func untilOver(now time.Time, takes time.Duration) time.Duration {
	next := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	if left := next.Sub(now); left <= takes {
		return left
	}
	return 0
}
