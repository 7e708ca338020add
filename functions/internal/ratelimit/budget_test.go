package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func TestBudgetKeepsTheRateOfEachSource(t *testing.T) {
	b := NewBudget(Limit{Burst: 3, PerSecond: 2})
	passed := map[string]int{}
	for i := range 100 { // 10 s
		now := noon.Add(time.Duration(i) * 100 * time.Millisecond)
		for _, source := range []string{"a", "b"} {
			wait, ok := b.Allow(source, now)
			if ok {
				passed[source]++
				continue
			}
			if _, early := b.Left(source, now.Add(wait-1)); early {
				t.Fatalf("a place is free before the wait of %s is over", wait)
			}
			if _, late := b.Left(source, now.Add(wait)); !late {
				t.Fatalf("no place is free after the wait of %s", wait)
			}
		}
	}
	for _, source := range []string{"a", "b"} {
		if n := passed[source]; n != 3+19 {
			t.Errorf("%s: %d passed in 9.9 s, want the burst of 3 and 19", source, n)
		}
	}
}

func TestBudgetLeftTakesNothing(t *testing.T) {
	b := NewBudget(Limit{Burst: 1, PerSecond: 1})
	for range 3 {
		if _, ok := b.Left("a", noon); !ok {
			t.Fatal("asking took a place")
		}
	}
	b.Allow("a", noon)
	if wait, ok := b.Left("a", noon); ok || wait != time.Second {
		t.Errorf("%s, %t; want a wait of 1s", wait, ok)
	}
}

// TestBudgetIsBounded: however many sources there are, memory and rate have a bound, and whoever
// was there before keeps its own bucket.
func TestBudgetIsBounded(t *testing.T) {
	b := NewBudget(Limit{Burst: 1, PerSecond: 1})
	passed := 0
	for i := range 3 * maxSources {
		if _, ok := b.Allow(fmt.Sprint("source ", i), noon); ok {
			passed++
		}
	}
	if passed != maxSources+1 || len(b.tat) != maxSources+1 {
		t.Errorf("%d of %d passed and %d are remembered; want %d of both: each bucket, and the shared one", passed, 3*maxSources, len(b.tat), maxSources+1)
	}
	later := noon.Add(time.Second)
	for _, source := range []string{"source 0", "a new one"} {
		if _, ok := b.Allow(source, later); !ok {
			t.Errorf("a second later %s is refused", source)
		}
	}
	if len(b.tat) > 2 {
		t.Errorf("%d are remembered; want none whose bucket is full", len(b.tat))
	}
}

func TestNoBudgetAllowsAll(t *testing.T) {
	var b *Budget
	if _, ok := b.Allow("a", noon); !ok {
		t.Error("refused")
	}
}
