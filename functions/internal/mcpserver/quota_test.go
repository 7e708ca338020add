package mcpserver

import (
	"testing"
	"time"

	"sekisho/functions/internal/usage"
)

// TestResetOf: whenever the answer was made and read, a month ends at its midnight.
func TestResetOf(t *testing.T) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, left := range []time.Duration{300 * time.Millisecond, 1999 * time.Millisecond, time.Hour + time.Millisecond} {
		for _, late := range []time.Duration{0, 400 * time.Millisecond, 999 * time.Millisecond} {
			told := time.Duration((left+time.Second-1)/time.Second) * time.Second
			if got := resetOf(usage.Quota{Window: usage.Monthly, Reset: told}, midnight.Add(late-left)); !got.Equal(midnight) {
				t.Errorf("%s before, read %s later: %s", left, late, got)
			}
		}
	}
	now := midnight.Add(-1500 * time.Millisecond)
	if got := resetOf(usage.Quota{Window: usage.PerSecond, Reset: 2 * time.Second}, now); !got.Equal(midnight) {
		t.Errorf("a rate's: %s", got)
	}
}
