package midnight

import (
	"testing"
	"time"
)

func TestUntilOver(t *testing.T) {
	midnight := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)
	for before, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, time.Nanosecond: time.Nanosecond, time.Minute + 1: 0, 0: 0, 12 * time.Hour: 0,
	} {
		now := midnight.Add(-before).In(time.FixedZone("Tokyo", 9*60*60))
		if got := untilOver(now, time.Minute); got != want {
			t.Errorf("%s before midnight: %s, want %s", before, got, want)
		}
	}
}
