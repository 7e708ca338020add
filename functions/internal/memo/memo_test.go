package memo

import (
	"fmt"
	"testing"
	"time"
)

func TestMemo(t *testing.T) {
	now := time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)
	m := New[int](time.Minute)
	if v, ok := m.At("a", now); ok {
		t.Errorf("an empty memo knows %d", v)
	}
	m.Remember("a", 1, now)
	m.Remember("a", 2, now)
	m.Remember("b", 3, now)
	if v, ok := m.At("a", now.Add(time.Minute-1)); !ok || v != 2 {
		t.Errorf("%d, %v; want the last answer", v, ok)
	}
	if v, ok := m.At("a", now.Add(time.Minute)); ok {
		t.Errorf("%d after the minute", v)
	}
	none := New[int](0)
	none.Remember("a", 1, now)
	if _, ok := none.At("a", now); ok || len(none.answers) != 0 {
		t.Error("something is remembered for no time")
	}
}

func TestAMemoIsBounded(t *testing.T) {
	m := New[int](time.Hour)
	for i := range most + 1 {
		m.Remember(fmt.Sprint(i), i, time.Time{})
	}
	if len(m.answers) > most {
		t.Errorf("%d answers are remembered, want at most %d", len(m.answers), most)
	}
}
