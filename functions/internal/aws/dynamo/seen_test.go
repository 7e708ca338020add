package dynamo

import (
	"strconv"
	"testing"
)

// TestSeenIsBounded: what is forgotten costs a second write, so buckets that are full again go first.
func TestSeenIsBounded(t *testing.T) {
	const now = 100
	fill := func(tat func(i int) int64) *seen {
		var s seen
		for i := range maxSeen {
			s.note(strconv.Itoa(i), tat(i), now)
		}
		if len(s.tats) != maxSeen {
			t.Fatalf("%d of %d are remembered", len(s.tats), maxSeen)
		}
		return &s
	}
	half := fill(func(i int) int64 { return now + int64(i%2) })
	half.note("another", now+1, now)
	if len(half.tats) != maxSeen/2+1 || half.tat("1") != now+1 || half.tat("0") != 0 || half.tat("another") != now+1 {
		t.Errorf("%d are remembered, of 1 and 0 %d and %d", len(half.tats), half.tat("1"), half.tat("0"))
	}
	none := fill(func(int) int64 { return now + 1 })
	none.note("another", now+1, now)
	if len(none.tats) != 1 || none.tat("another") != now+1 {
		t.Errorf("%d are remembered, want the last one", len(none.tats))
	}
	one := fill(func(i int) int64 { return now + int64(min(i, 1)) })
	one.note("another", now+1, now)
	if len(one.tats) != maxSeen {
		t.Errorf("%d are remembered, want all but the one that is full", len(one.tats))
	}
}
