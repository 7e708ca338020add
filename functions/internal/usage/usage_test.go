package usage

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestPeriodTurnsWithTheUTCMonth(t *testing.T) {
	for _, c := range []struct{ instant, period, reset string }{
		{"2026-11-30T23:59:59.999Z", "2026-11", "2026-12-01T00:00:00.000Z"},
		{"2026-12-01T00:00:00.000Z", "2026-12", "2027-01-01T00:00:00.000Z"},
		{"2026-12-31T23:59:59.999999999Z", "2026-12", "2027-01-01T00:00:00.000Z"},
		{"2027-01-01T00:00:00Z", "2027-01", "2027-02-01T00:00:00.000Z"},
		{"2027-02-28T23:59:59.999Z", "2027-02", "2027-03-01T00:00:00.000Z"},
		{"2028-02-29T23:59:59.999Z", "2028-02", "2028-03-01T00:00:00.000Z"},
		{"2028-03-01T00:00:00Z", "2028-03", "2028-04-01T00:00:00.000Z"},
		{"2026-07-31T12:00:00Z", "2026-07", "2026-08-01T00:00:00.000Z"},
		// UTC decides, whatever the clock's zone: in Tokyo it is already December.
		{"2026-12-01T08:59:59.999+09:00", "2026-11", "2026-12-01T00:00:00.000Z"},
		{"2026-11-30T19:00:00-05:00", "2026-12", "2027-01-01T00:00:00.000Z"},
	} {
		p := PeriodOf(at(t, c.instant))
		if p.String() != c.period || FormatReset(p.Reset()) != c.reset {
			t.Errorf("%s: period %s, reset %s; want %s, %s", c.instant, p, FormatReset(p.Reset()), c.period, c.reset)
		}
		back, err := ParsePeriod(p.String())
		if err != nil || back != p {
			t.Errorf("ParsePeriod(%s) = %v, %v", p, back, err)
		}
		if p.Before(1).Reset() != p.Start() {
			t.Errorf("%s: the month before does not end where it begins", p)
		}
	}
}

func TestParsePeriodRefuses(t *testing.T) {
	for _, text := range []string{"", "2026", "2026-13", "2026-1", "2026-11-30", "November", "2026-00"} {
		if p, err := ParsePeriod(text); err == nil {
			t.Errorf("ParsePeriod(%q) = %s, want an error", text, p)
		}
	}
}

func TestFreeFailureCap(t *testing.T) {
	for limit, want := range map[Limit]Limit{
		0: 100, 50: 100, 1000: 100, 1010: 101, 10_000: 1000, Unlimited: Unlimited,
	} {
		if got := limit.FreeFailureCap(); got != want {
			t.Errorf("cap of limit %s is %s, want %s", limit, got, want)
		}
	}
}

func TestRemaining(t *testing.T) {
	if left, ok := Limit(10).Remaining(12); left != 0 || !ok {
		t.Errorf("over the limit: %d, %v", left, ok)
	}
	if left, ok := Limit(10).Remaining(4); left != 6 || !ok {
		t.Errorf("within the limit: %d, %v", left, ok)
	}
	if _, ok := Unlimited.Remaining(4); ok {
		t.Error("no limit has something remaining")
	}
}

func TestAdmissionIDsOrderByTime(t *testing.T) {
	start := at(t, "2026-11-30T00:00:00Z")
	previous := ""
	for i := range 2000 {
		now := start.Add(time.Duration(i) * time.Millisecond)
		id := NewAdmissionID(now)
		if id <= previous {
			t.Fatalf("%s is not after %s", id, previous)
		}
		if got, ok := AdmissionTime(id); !ok || !got.Equal(now) {
			t.Fatalf("AdmissionTime(%s) = %s, %v", id, got, ok)
		}
		if id < AdmissionFloor(now) || id >= AdmissionFloor(now.Add(time.Millisecond)) {
			t.Fatalf("%s is not between the floors of its millisecond", id)
		}
		previous = id
	}
	if len(previous) != 24 {
		t.Errorf("an ID has %d characters, want 24", len(previous))
	}
}

func TestAdmissionIDsDiffer(t *testing.T) {
	now := at(t, "2026-11-30T00:00:00Z")
	seen := map[string]bool{}
	for range 10_000 {
		id := NewAdmissionID(now)
		if seen[id] {
			t.Fatalf("%s was made twice", id)
		}
		seen[id] = true
	}
}

func FuzzAdmissionTime(f *testing.F) {
	f.Add(NewAdmissionID(time.Unix(0, 0)))
	f.Add("adm_")
	f.Add("adm_zzzzzzzzzzzzzzzzzzzz")
	f.Fuzz(func(t *testing.T, id string) {
		if at, ok := AdmissionTime(id); ok && id < AdmissionFloor(at) {
			t.Fatalf("%q is below the floor of its own time", id)
		}
	})
}

// scripted is a store with answers given by the test.
type scripted struct {
	Store
	mu     sync.Mutex
	asked  []Admission
	answer func(Admission) (Decision, error)
}

func (s *scripted) Admit(_ context.Context, a Admission) (Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, a)
	return s.answer(a)
}

func denyAt(used int64) func(Admission) (Decision, error) {
	return func(Admission) (Decision, error) { return Decision{Used: used}, nil }
}

func TestGateRemembersADenialForSecondsOnly(t *testing.T) {
	now := at(t, "2026-11-15T00:00:00Z")
	store := &scripted{answer: denyAt(50)}
	gate := NewGate(store, func() time.Time { return now }, 3*time.Second)
	ask := func(units int64, limit Limit) Grant {
		t.Helper()
		g, err := gate.Admit(t.Context(), "key_a", "postal.lookup", units, limit)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	ask(1, 50)
	now = now.Add(2999 * time.Millisecond)
	if g := ask(1, 50); g.Admitted || g.Used != 50 || g.AdmissionID != "" {
		t.Errorf("from memory: %+v", g)
	}
	if len(store.asked) != 1 {
		t.Fatalf("the store was asked %d times, want 1", len(store.asked))
	}
	ask(1, 100) // an upgrade must be seen at once
	if len(store.asked) != 2 {
		t.Fatal("another limit was answered from memory")
	}
	now = now.Add(3 * time.Second)
	ask(1, 100)
	if len(store.asked) != 3 {
		t.Fatal("a denial was remembered for too long")
	}
}

func TestGateAsksAgainForFewerUnits(t *testing.T) {
	now := at(t, "2026-11-15T00:00:00Z")
	store := &scripted{answer: denyAt(49)}
	gate := NewGate(store, func() time.Time { return now }, time.Hour)
	for _, units := range []int64{5, 5, 6, 1} {
		if _, err := gate.Admit(t.Context(), "key_a", "op", units, 50); err != nil {
			t.Fatal(err)
		}
	}
	if len(store.asked) != 2 || store.asked[1].Units != 1 {
		t.Fatalf("asked %+v; want one question for 5 units and one for 1", store.asked)
	}
}

func TestGateForgetsAtTheTurnOfTheMonth(t *testing.T) {
	now := at(t, "2026-11-30T23:59:59.999Z")
	store := &scripted{answer: denyAt(50)}
	gate := NewGate(store, func() time.Time { return now }, time.Hour)
	first, err := gate.Admit(t.Context(), "key_a", "op", 1, 50)
	if err != nil || first.Admitted {
		t.Fatalf("%+v, %v", first, err)
	}
	if first.RetryAfter() != time.Second {
		t.Errorf("a millisecond before the reset: retry after %s, want 1s", first.RetryAfter())
	}
	now = now.Add(time.Millisecond)
	store.answer = func(Admission) (Decision, error) { return Decision{Admitted: true, Used: 1}, nil }
	second, err := gate.Admit(t.Context(), "key_a", "op", 1, 50)
	if err != nil || !second.Admitted || second.Period.String() != "2026-12" {
		t.Fatalf("in the new month: %+v, %v", second, err)
	}
}

func TestGateFailsClosed(t *testing.T) {
	now := at(t, "2026-11-15T00:00:00Z")
	down := errors.New("store down")
	store := &scripted{answer: func(Admission) (Decision, error) { return Decision{Admitted: true}, down }}
	gate := NewGate(store, func() time.Time { return now }, time.Hour)
	g, err := gate.Admit(t.Context(), "key_a", "op", 1, 50)
	if !errors.Is(err, down) || g.Admitted {
		t.Fatalf("the gate opened while the store was down: %+v, %v", g, err)
	}
	store.answer = func(Admission) (Decision, error) { return Decision{Admitted: true, Used: 1}, nil }
	if g, err := gate.Admit(t.Context(), "key_a", "op", 1, 50); err != nil || !g.Admitted {
		t.Fatalf("a failure was remembered as a denial: %+v, %v", g, err)
	}
}

func TestGateRefusesNonsense(t *testing.T) {
	store := &scripted{answer: denyAt(0)}
	gate := NewGate(store, time.Now, 0)
	for _, c := range []struct {
		units int64
		limit Limit
	}{{0, 10}, {-1, 10}, {1, -2}} {
		if _, err := gate.Admit(t.Context(), "key_a", "op", c.units, c.limit); err == nil {
			t.Errorf("units %d, limit %d: no error", c.units, c.limit)
		}
	}
	if len(store.asked) != 0 {
		t.Error("nonsense reached the store")
	}
}

func TestGateMemoryIsBounded(t *testing.T) {
	now := at(t, "2026-11-15T00:00:00Z")
	gate := NewGate(&scripted{answer: denyAt(1)}, func() time.Time { return now }, time.Hour)
	for i := range maxDenials + 100 {
		if _, err := gate.Admit(t.Context(), NewAdmissionID(now.Add(time.Duration(i)*time.Millisecond)), "op", 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(gate.denied); n > maxDenials {
		t.Fatalf("%d denials are remembered, at most %d may be", n, maxDenials)
	}
}

func BenchmarkGateDenialFromMemory(b *testing.B) {
	now := time.Now()
	gate := NewGate(&scripted{answer: denyAt(1)}, func() time.Time { return now }, time.Hour)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gate.Admit(ctx, "key_a", "op", 1, 1); err != nil {
			b.Fatal(err)
		}
	}
}
