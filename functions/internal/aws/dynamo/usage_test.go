package dynamo

import (
	"testing"

	"sekisho/functions/internal/usage"
)

// TestDayOf: the code of an operation may be a number too.
func TestDayOf(t *testing.T) {
	november := usage.PeriodOf(start)
	for name, want := range map[string]int{"d01": 1, "d30": 30, "d31": 0, "d00": 0, "denied": 0, "tat": 0, "+05": 0, "-05": 0, "05": 0, "d": 0, "": 0} {
		if day, ok := dayOf(name, november); ok != (want != 0) || ok && (day.Number() != want || day.Period() != november) {
			t.Errorf("%q: %s, %v; want %d", name, day, ok, want)
		}
	}
}
