package storetest

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

func perDay(limit usage.Limit) usage.Limits {
	return usage.Limits{Monthly: usage.Unlimited, Daily: limit}
}

func rated(perSecond float64, burst int) usage.Limits {
	l := usage.NoLimits
	l.Rate = ratelimit.Limit{PerSecond: perSecond, Burst: burst}
	return l
}

// decide makes an admission and returns the decision.
func decide(t *testing.T, s usage.Store, a usage.Admission) usage.Decision {
	t.Helper()
	return must[usage.Decision](t)(s.Admit(t.Context(), a))
}

func wantRefused(t *testing.T, s usage.Store, a usage.Admission, by usage.Window, wait time.Duration) {
	t.Helper()
	if d := decide(t, s, a); d.Admitted || d.Refused != by || d.Wait != wait {
		t.Errorf("%+v; want it refused by the %s limit for %s", d, by, wait)
	}
}

func wantAdmitted(t *testing.T, s usage.Store, a usage.Admission) {
	t.Helper()
	if d := decide(t, s, a); !d.Admitted {
		t.Errorf("%+v; want it admitted", d)
	}
}

func dailyLimit(t *testing.T, s usage.Store) {
	m := meter()
	wantDecision(t, s, admissionAt(at, m, 2, perDay(3)), granted(2))
	wantRefused(t, s, admissionAt(at, m, 2, perDay(3)), usage.Daily, time.Millisecond)
	wantDecision(t, s, admissionAt(at, m, 1, perDay(3)), granted(3))
	wantRefused(t, s, admissionAt(at, m, 1, perDay(3)), usage.Daily, time.Millisecond)
	wantRefused(t, s, admissionAt(at, meter(), 4, perDay(3)), usage.Daily, time.Millisecond)
}

// dayTurns: a new day starts at zero within the month, and a new month does.
func dayTurns(t *testing.T, s usage.Store) {
	m, noon := meter(), time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	limits := usage.Limits{Monthly: 4, Daily: 2}
	for _, c := range []struct {
		at    time.Time
		state usage.State
	}{
		{noon, usage.State{Used: 1, Today: 1}},
		{noon.Add(12*time.Hour - time.Nanosecond), usage.State{Used: 2, Today: 2}},
		{noon.Add(12 * time.Hour), usage.State{Used: 3, Today: 1}},
		{at, usage.State{Used: 4, Today: 2}},
		{at.Add(time.Millisecond), usage.State{Used: 1, Today: 1}},
	} {
		wantDecision(t, s, admissionAt(c.at, m, 1, limits), usage.Decision{Admitted: true, State: c.state})
	}
	days := countsOf(t, s, m, november).Days
	if want := (map[usage.Day]int64{usage.DayOf(noon): 2, usage.DayOf(at): 2}); !maps.Equal(days, want) {
		t.Errorf("days %v, want %v", days, want)
	}
}

func rate(t *testing.T, s usage.Store) {
	m, limits := meter(), rated(2, 3)
	now := time.Date(2026, time.November, 10, 0, 0, 0, 0, time.UTC)
	for range 3 {
		wantAdmitted(t, s, admissionAt(now, m, 1, limits))
	}
	wantRefused(t, s, admissionAt(now, m, 1, limits), usage.PerSecond, 500*time.Millisecond)
	wantRefused(t, s, admissionAt(now.Add(400*time.Millisecond), m, 1, limits), usage.PerSecond, 100*time.Millisecond)
	wantAdmitted(t, s, admissionAt(now.Add(500*time.Millisecond), m, 1, limits))
	wantRefused(t, s, admissionAt(now.Add(500*time.Millisecond), m, 1, limits), usage.PerSecond, 500*time.Millisecond)
	// Full again after a rest, and no fuller.
	now = now.Add(time.Hour)
	for range 3 {
		wantAdmitted(t, s, admissionAt(now, m, 1, limits))
	}
	wantRefused(t, s, admissionAt(now, m, 1, limits), usage.PerSecond, 500*time.Millisecond)
	// An instance whose clock is a second behind gains nothing.
	wantRefused(t, s, admissionAt(now.Add(-time.Second), m, 1, limits), usage.PerSecond, 1500*time.Millisecond)
}

// rateOverTheTurn: the bucket does not fill at the turn of the month.
func rateOverTheTurn(t *testing.T, s usage.Store) {
	m, limits := meter(), rated(1, 2)
	turn := november.Reset()
	wantAdmitted(t, s, admissionAt(turn.Add(-time.Millisecond), m, 1, limits))
	wantAdmitted(t, s, admissionAt(turn.Add(-time.Millisecond), m, 1, limits))
	wantRefused(t, s, admissionAt(turn, m, 1, limits), usage.PerSecond, 999*time.Millisecond)
	wantAdmitted(t, s, admissionAt(turn.Add(999*time.Millisecond), m, 1, limits))
	wantRefused(t, s, admissionAt(turn.Add(999*time.Millisecond), m, 1, limits), usage.PerSecond, time.Second)
	wantAdmitted(t, s, admissionAt(turn.Add(time.Hour), m, 1, limits))
	if c := countsOf(t, s, m, november); c.TAT != turn.Add(-time.Millisecond+2*time.Second).UnixNano() {
		t.Errorf("the rate of the month before stands at %d", c.TAT)
	}
	if c := countsOf(t, s, m, usage.PeriodOf(turn)); c.TAT != turn.Add(time.Hour+time.Second).UnixNano() {
		t.Errorf("the rate of the month stands at %d", c.TAT)
	}
}

func rateCountsCalls(t *testing.T, s usage.Store) {
	m, limits := meter(), rated(1, 2)
	wantAdmitted(t, s, admissionAt(at, m, 50, limits))
	wantAdmitted(t, s, admissionAt(at, m, 50, limits))
	wantRefused(t, s, admissionAt(at, m, 1, limits), usage.PerSecond, time.Second)
}

func longestRefusal(t *testing.T, s usage.Store) {
	noon := time.Date(2026, time.November, 10, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		limits usage.Limits
		by     usage.Window
		wait   time.Duration
	}{
		{usage.Limits{Monthly: 1, Daily: 1, Rate: ratelimit.Limit{PerSecond: 1, Burst: 1}}, usage.Monthly, november.Reset().Sub(noon)},
		{usage.Limits{Monthly: 5, Daily: 1, Rate: ratelimit.Limit{PerSecond: 1, Burst: 1}}, usage.Daily, 12 * time.Hour},
		{usage.Limits{Monthly: 5, Daily: 5, Rate: ratelimit.Limit{PerSecond: 1, Burst: 1}}, usage.PerSecond, time.Second},
		{usage.Limits{Monthly: 5, Daily: 1, Rate: ratelimit.Limit{PerSecond: 1e-5, Burst: 1}}, usage.PerSecond, 100_000 * time.Second},
	} {
		m := meter()
		wantAdmitted(t, s, admissionAt(noon, m, 1, c.limits))
		wantRefused(t, s, admissionAt(noon, m, 1, c.limits), c.by, c.wait)
	}
}

func refusalTakesNothing(t *testing.T, s usage.Store) {
	m := meter()
	limits := usage.Limits{Monthly: 10, Daily: 1, Rate: ratelimit.Limit{PerSecond: 1, Burst: 2}}
	wantAdmitted(t, s, admissionAt(at, m, 1, limits))
	for range 3 {
		wantRefused(t, s, admissionAt(at, m, 1, limits), usage.Daily, time.Millisecond)
	}
	limits.Daily = usage.Unlimited
	wantDecision(t, s, admissionAt(at, m, 1, limits), usage.Decision{
		Admitted: true, State: usage.State{Used: 2, Today: 2, TAT: at.Add(2 * time.Second).UnixNano()},
	})
}

// racingDayAndRate: at no instant more pass than the bucket has, and never more than the day.
func racingDayAndRate(t *testing.T, s usage.Store) {
	m := meter()
	limits := usage.Limits{Monthly: 1000, Daily: 50, Rate: ratelimit.Limit{PerSecond: 10, Burst: 10}}
	now := time.Date(2026, time.November, 10, 0, 0, 0, 0, time.UTC)
	var total int64
	for second, want := range []int64{10, 10, 10, 10, 10, 0} {
		var admitted atomic.Int64
		together(17, func(int) {
			d, err := s.Admit(t.Context(), admissionAt(now.Add(time.Duration(second)*time.Second), m, 1, limits))
			if err != nil {
				t.Error(err)
			}
			if d.Admitted {
				admitted.Add(1)
			}
		})
		if admitted.Load() != want {
			t.Errorf("second %d: %d admitted, want %d", second, admitted.Load(), want)
		}
		total += admitted.Load()
	}
	if total != 50 {
		t.Errorf("%d admitted in the day, want 50", total)
	}
	wantCounts(t, s, m, november, 50, 0)
}

func planChanges(t *testing.T, s usage.Store) {
	m := meter()
	wantAdmitted(t, s, admissionAt(at, m, 1, rated(1, 1)))
	wantAdmitted(t, s, admissionAt(at, m, 1, usage.NoLimits))
	wantAdmitted(t, s, admissionAt(at, m, 1, perDay(3)))
	wantRefused(t, s, admissionAt(at, m, 1, perDay(3)), usage.Daily, time.Millisecond)
	wantRefused(t, s, admissionAt(at, m, 1, rated(1, 1)), usage.PerSecond, time.Second)
	wantAdmitted(t, s, admissionAt(at, m, 1, rated(10, 20)))
	wantCounts(t, s, m, november, 4, 0)
}

func refundGivesBackItsDay(t *testing.T, s usage.Store) {
	m := meter()
	midnight := time.Date(2026, time.November, 11, 0, 0, 0, 0, time.UTC)
	before := admissionAt(midnight.Add(-time.Millisecond), m, 1, perDay(1))
	wantAdmitted(t, s, before)
	wantAdmitted(t, s, admissionAt(midnight, m, 1, perDay(1)))
	wantOutcome(t, s, refundOf(before, 100), usage.Refunded)
	wantAdmitted(t, s, admissionAt(midnight.Add(-time.Millisecond), m, 1, perDay(1)))
	wantRefused(t, s, admissionAt(midnight, m, 1, perDay(1)), usage.Daily, 24*time.Hour)
	forged := admissionAt(midnight.Add(24*time.Hour), m, 1, perDay(1))
	wantOutcome(t, s, refundOf(forged, 100), usage.NothingCharged)
	wantCounts(t, s, m, november, 2, 1)
	wrongMonth := refundOf(admissionAt(november.Reset(), m, 1, perDay(1)), 100)
	wrongMonth.Period = november
	if o, err := s.Refund(t.Context(), wrongMonth); err == nil {
		t.Errorf("a call of December refunded to November: %v", o)
	}
}

func refundTogetherOnce(t *testing.T, s usage.Store) {
	m := meter()
	const n = 130 // more than one transaction takes
	r := usage.Refund{Meter: m, Period: november, Cap: usage.Unlimited}
	first := admission(m, n+5, usage.Unlimited)
	wantAdmitted(t, s, first)
	for i := range n {
		c := failedCall(first)
		c.AdmissionID, c.Units = usage.NewAdmissionID(at), 1
		c.Operation = fmt.Sprintf("op%d", i%3)
		r.Calls = append(r.Calls, c)
	}
	// Two deliveries at once, in part the same.
	var mu sync.Mutex
	count := map[usage.Outcome]int{}
	parts := []usage.Refund{r, r}
	parts[0].Calls, parts[1].Calls = r.Calls[:100], r.Calls[60:]
	together(len(parts), func(i int) {
		outcomes, err := s.Refund(t.Context(), parts[i])
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, o := range outcomes {
			count[o]++
		}
	})
	if count[usage.Refunded] != n || count[usage.AlreadyRefunded] != 40 {
		t.Errorf("outcomes %v, want %d refunded and 40 already", count, n)
	}
	wantCountsIgnoringOperations(t, s, m, 5, n)
}

func refundSameTwice(t *testing.T, s usage.Store) {
	m := meter()
	a, b := admit(t, s, m, 1, 10), admit(t, s, m, 1, 10)
	r := refundOf(a, 100)
	r.Calls = append(r.Calls, failedCall(a), failedCall(b))
	if got := refund(t, s, r); got[0] != usage.Refunded || got[1] != usage.AlreadyRefunded || got[2] != usage.Refunded {
		t.Errorf("outcomes %v", got)
	}
	wantCounts(t, s, m, november, 0, 2)
}

func refundManyAtTheCap(t *testing.T, s usage.Store) {
	m := meter()
	r := usage.Refund{Meter: m, Period: november, Cap: 4}
	for i := range 6 {
		r.Calls = append(r.Calls, failedCall(admit(t, s, m, 1+int64(i%2), 100)))
	}
	// 1, 2 and 1 fit; 2 does not, 1 would pass the cap, 2 neither.
	got := refund(t, s, r)
	for i, want := range []usage.Outcome{usage.Refunded, usage.Refunded, usage.Refunded, usage.CapReached, usage.CapReached, usage.CapReached} {
		if got[i] != want {
			t.Errorf("call %d: %s, want %s", i, got[i], want)
		}
	}
	wantCounts(t, s, m, november, 5, 4)
}

func refundUnstarted(t *testing.T, s usage.Store) {
	m := meter()
	r := usage.Refund{Meter: m, Period: november, Cap: 1}
	for i := range 5 {
		c := failedCall(admit(t, s, m, 1, 100))
		c.Unstarted = i < 3
		r.Calls = append(r.Calls, c)
	}
	got := refund(t, s, r)
	if got[2] != usage.Refunded || got[3] != usage.Refunded || got[4] != usage.CapReached {
		t.Errorf("outcomes %v, want the first three outside the cap of 1", got)
	}
	c := countsOf(t, s, m, november)
	if c.Refunded != 4 || c.Unstarted != 3 {
		t.Errorf("%d refunded, %d of them unstarted; want 4 and 3", c.Refunded, c.Unstarted)
	}
	wantCounts(t, s, m, november, 1, 4)
	// Nor do those of earlier refunds count.
	started := refundOf(admit(t, s, m, 1, 100), 2)
	wantOutcome(t, s, started, usage.Refunded)
	wantCounts(t, s, m, november, 1, 5)
}

// refundMoreThanCharged: the calls of one refund may together be more than the month or their day holds.
func refundMoreThanCharged(t *testing.T, s usage.Store) {
	noon := time.Date(2026, time.November, 10, 12, 0, 0, 0, time.UTC)
	twice := func(m string) usage.Refund {
		r := refundOf(admissionAt(noon, m, 2, usage.NoLimits), usage.Unlimited)
		r.Calls = append(r.Calls, failedCall(admissionAt(noon, m, 2, usage.NoLimits)))
		return r
	}
	for _, other := range []int64{0, 7} { // charged on another day
		m := meter()
		wantAdmitted(t, s, admissionAt(noon, m, 3, usage.NoLimits))
		if other > 0 {
			wantAdmitted(t, s, admissionAt(noon.Add(24*time.Hour), m, other, usage.NoLimits))
		}
		if got := refund(t, s, twice(m)); got[0] != usage.Refunded || got[1] != usage.NothingCharged {
			t.Errorf("%d on another day: outcomes %v, want the first refunded", other, got)
		}
		wantCounts(t, s, m, november, other+1, 2)
	}
}

func withoutCode(t *testing.T, s usage.Store) {
	m := meter()
	a := admission(m, 2, 10)
	a.Operation = ""
	wantDecision(t, s, a, granted(2))
	wantOutcome(t, s, refundOf(a, 10), usage.Refunded)
	if c := countsOf(t, s, m, november); len(c.Operations) != 0 || c.Used != 0 {
		t.Errorf("counts %+v", c)
	}
}

func once(t *testing.T, s usage.Store) {
	n := name("crossing")
	var first atomic.Int64
	together(8, func(int) {
		if ok, err := s.Once(t.Context(), n, november); err != nil {
			t.Error(err)
		} else if ok {
			first.Add(1)
		}
	})
	if first.Load() != 1 {
		t.Errorf("%d were the first", first.Load())
	}
	if ok := must[bool](t)(s.Once(t.Context(), n, november.Before(1))); !ok {
		t.Error("another month is another time")
	}
	if err := s.Again(t.Context(), n, november); err != nil {
		t.Fatal(err)
	}
	if ok := must[bool](t)(s.Once(t.Context(), n, november)); !ok {
		t.Error("it was taken back, and is no first time again")
	}
}

// manyMonths come in the order in which they are asked for, those without an item as zeros.
func manyMonths(t *testing.T, s usage.Store) {
	m := meter()
	admit(t, s, m, 2, 10)
	september := november.Before(2)
	wantAdmitted(t, s, admissionAt(september.Start(), m, 3, usage.NoLimits))
	counts := must[[]usage.Counts](t)(s.Counts(t.Context(), m, november.Before(1), november, september))
	if len(counts) != 3 || counts[0].Used != 0 || counts[1].Used != 2 || counts[2].Used != 3 {
		t.Errorf("counts %+v, want 0, 2 and 3 used", counts)
	}
}
