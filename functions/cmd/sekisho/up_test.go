package main

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestCollectLess: the collector's settings are those of the environment, if it has any.
func TestCollectLess(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct {
		gogc, limit string
		percent     int
		bounded     bool
	}{{"", "", 300, true}, {"70", "", 100, false}, {"", "1GiB", 100, false}} {
		t.Setenv("GOGC", c.gogc)
		t.Setenv("GOMEMLIMIT", c.limit)
		before := debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
		collectLess()
		if percent, bounded := debug.SetGCPercent(before), debug.SetMemoryLimit(-1) < math.MaxInt64; percent != c.percent || bounded != c.bounded {
			t.Errorf("GOGC=%s GOMEMLIMIT=%s: %d %%, bounded %v; want %d, %v", c.gogc, c.limit, percent, bounded, c.percent, c.bounded)
		}
	}
}
