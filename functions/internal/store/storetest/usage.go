package storetest

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/usage"
)

const lookup = "postal.lookup"

// Usage checks what a usage.Store promises.
func Usage(t *testing.T, open func(t *testing.T) usage.Store) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, s usage.Store)
	}{
		{"an unknown meter has zero counts", unknownMeter},
		{"exactly the limit is granted from an absent item", grantsFromAbsent},
		{"limit 0 grants nothing", limitZero},
		{"no limit grants everything", unlimited},
		{"several units near the limit", unitsNearLimit},
		{"units above the limit on an absent item", unitsAboveLimit},
		{"a limit lowered below what was used", loweredLimit},
		{"a raised limit reopens", raisedLimit},
		{"meters and months do not touch each other", isolation},
		{"counts per operation", perOperation},
		{"units below 1 are refused", unitsBelowOne},
		{"200 at once with 50 left", racingAdmissions},
		{"many at once with 1 left", racingForTheLast},
		{"50 increments at once give 50 counts", distinctCounts},
		{"a refund gives the units back", refundReturns},
		{"a refund is applied once", refundOnce},
		{"a refund delivered many times at once is applied once", refundOnceConcurrently},
		{"a refund never goes below zero", refundNeverNegative},
		{"a refund stays in its month", refundStaysInMonth},
		{"the cap on refunds", refundCap},
		{"the cap on refunds of several units", refundCapUnits},
		{"the cap on refunds that race", refundCapRace},
		{"a cap below the units", refundCapBelowUnits},
		{"no cap on refunds", refundUncapped},
		{"a refund reopens a full meter", refundReopens},
		{"admissions and refunds at once conserve units", conservation},
		{"a day's limit", dailyLimit},
		{"a day's turn", dayTurns},
		{"a rate", rate},
		{"a rate over the month's turn", rateOverTheTurn},
		{"units do not count in a rate", rateCountsCalls},
		{"the limit that lasts longest is named", longestRefusal},
		{"a refused call takes nothing", refusalTakesNothing},
		{"100 at once against a day of 50 and a rate of 10", racingDayAndRate},
		{"a plan that changes while a key is used", planChanges},
		{"a refund gives back the day that was charged", refundGivesBackItsDay},
		{"many calls are refunded together", refundTogetherOnce},
		{"a call twice in one refund", refundSameTwice},
		{"many calls at the cap", refundManyAtTheCap},
		{"calls that never started are outside the cap", refundUnstarted},
		{"a refund of more than was charged", refundMoreThanCharged},
		{"calls without a code", withoutCode},
		{"something happens once in a period", once},
		{"many months at once", manyMonths},
		{"denied calls are counted apart", addDenied},
		{"a cancelled context is an error", cancelledUsage},
		{"any sequence agrees with the model", usageModel},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

// sharedCounters checks what two stores over one database promise together, such as those of
// two Lambda instances or two processes.
func sharedCounters(t *testing.T, open func(t *testing.T) (a, b usage.Store)) {
	t.Run("200 at once over two stores with 50 left", func(t *testing.T) {
		a, b := open(t)
		race(t, []usage.Store{a, b}, 200, 60, 50)
	})
	t.Run("a refund over two stores is applied once", func(t *testing.T) {
		a, b := open(t)
		m := meter()
		first := admit(t, a, m, 1, 10)
		admit(t, b, m, 1, 10)
		outcomes := refundTogether(t, []usage.Store{a, b}, 10, refundOf(first, usage.Unlimited))
		if outcomes[usage.Refunded] != 1 || outcomes[usage.AlreadyRefunded] != 9 {
			t.Errorf("outcomes %v, want refunded once", outcomes)
		}
		wantCounts(t, b, m, november, 1, 1)
	})
}

func admission(m string, units int64, limit usage.Limit) usage.Admission {
	return admissionAt(at, m, units, usage.Limits{Monthly: limit, Daily: usage.Unlimited})
}

func admissionAt(at time.Time, m string, units int64, limits usage.Limits) usage.Admission {
	return usage.Admission{ID: usage.NewAdmissionID(at), At: at, Meter: m, Operation: lookup, Units: units, Limits: limits}
}

func refundOf(a usage.Admission, limit usage.Limit) usage.Refund {
	return usage.Refund{Meter: a.Meter, Period: a.Period(), Cap: limit, Calls: []usage.FailedCall{failedCall(a)}}
}

func failedCall(a usage.Admission) usage.FailedCall {
	return usage.FailedCall{AdmissionID: a.ID, Operation: a.Operation, Units: a.Units}
}

// admit fails the test unless the admission succeeds.
func admit(t *testing.T, s usage.Store, m string, units int64, limit usage.Limit) usage.Admission {
	t.Helper()
	a := admission(m, units, limit)
	if d := must[usage.Decision](t)(s.Admit(t.Context(), a)); !d.Admitted {
		t.Fatalf("denied at %d of %s, want admitted", d.Used, limit)
	}
	return a
}

// granted and refused are decisions about the month alone.
func granted(used int64) usage.Decision {
	return usage.Decision{Admitted: true, State: usage.State{Used: used, Today: used}}
}

func refused(used int64) usage.Decision {
	return usage.Decision{Refused: usage.Monthly, Wait: november.Reset().Sub(at), State: usage.State{Used: used, Today: used}}
}

func wantDecision(t *testing.T, s usage.Store, a usage.Admission, want usage.Decision) {
	t.Helper()
	if got := must[usage.Decision](t)(s.Admit(t.Context(), a)); got != want {
		t.Errorf("decision %+v, want %+v", got, want)
	}
}

func refund(t *testing.T, s usage.Store, r usage.Refund) []usage.Outcome {
	t.Helper()
	outcomes := must[[]usage.Outcome](t)(s.Refund(t.Context(), r))
	if len(outcomes) != len(r.Calls) {
		t.Fatalf("%d outcomes of %d calls", len(outcomes), len(r.Calls))
	}
	return outcomes
}

func wantOutcome(t *testing.T, s usage.Store, r usage.Refund, want usage.Outcome) {
	t.Helper()
	if got := refund(t, s, r); got[0] != want {
		t.Errorf("outcome %s, want %s", got[0], want)
	}
}

func countsOf(t *testing.T, s usage.Store, m string, p usage.Period) usage.Counts {
	t.Helper()
	return must[[]usage.Counts](t)(s.Counts(t.Context(), m, p))[0]
}

func wantCounts(t *testing.T, s usage.Store, m string, p usage.Period, used, refunded int64) {
	t.Helper()
	c := countsOf(t, s, m, p)
	if c.Used != used || c.Refunded != refunded {
		t.Errorf("used %d, refunded %d; want %d and %d", c.Used, c.Refunded, used, refunded)
	}
	var net int64
	for _, o := range c.Operations {
		net += o.Charged - o.Refunded
	}
	var days int64
	for day, n := range c.Days {
		if n < 0 {
			t.Errorf("%s has %d units", day, n)
		}
		days += n
	}
	if net != used || days != used {
		t.Errorf("the operations' net sum is %d, the days' %d, used is %d", net, days, used)
	}
}

func unknownMeter(t *testing.T, s usage.Store) {
	c := countsOf(t, s, meter(), november)
	if c.Used != 0 || c.Refunded != 0 || c.Denied != 0 || len(c.Operations) != 0 {
		t.Errorf("counts %+v, want zeros", c)
	}
}

func grantsFromAbsent(t *testing.T, s usage.Store) {
	m := meter()
	for i := range int64(3) {
		wantDecision(t, s, admission(m, 1, 3), granted(i+1))
	}
	for range 2 {
		wantDecision(t, s, admission(m, 1, 3), refused(3))
	}
	wantCounts(t, s, m, november, 3, 0)
}

func limitZero(t *testing.T, s usage.Store) {
	m := meter()
	wantDecision(t, s, admission(m, 1, 0), refused(0))
	wantCounts(t, s, m, november, 0, 0)
}

func unlimited(t *testing.T, s usage.Store) {
	m := meter()
	wantDecision(t, s, admission(m, 1_000_000_000_000, usage.Unlimited), granted(1_000_000_000_000))
	wantDecision(t, s, admission(m, 3, usage.Unlimited), granted(1_000_000_000_003))
}

func unitsNearLimit(t *testing.T, s usage.Store) {
	m := meter()
	wantDecision(t, s, admission(m, 4, 10), granted(4))
	wantDecision(t, s, admission(m, 4, 10), granted(8))
	wantDecision(t, s, admission(m, 3, 10), refused(8))
	wantDecision(t, s, admission(m, 2, 10), granted(10))
	wantDecision(t, s, admission(m, 1, 10), refused(10))
}

func unitsAboveLimit(t *testing.T, s usage.Store) {
	m := meter()
	wantDecision(t, s, admission(m, 5, 4), refused(0))
	wantDecision(t, s, admission(m, 4, 4), granted(4))
}

func loweredLimit(t *testing.T, s usage.Store) {
	m := meter()
	admit(t, s, m, 7, 10)
	wantDecision(t, s, admission(m, 1, 5), refused(7))
	wantDecision(t, s, admission(m, 1, 0), refused(7))
}

func raisedLimit(t *testing.T, s usage.Store) {
	m := meter()
	admit(t, s, m, 2, 2)
	wantDecision(t, s, admission(m, 1, 2), refused(2))
	wantDecision(t, s, admission(m, 1, 3), granted(3))
}

func isolation(t *testing.T, s usage.Store) {
	m, other := meter(), meter()
	december := usage.PeriodOf(at.Add(time.Millisecond))
	admit(t, s, m, 1, 1)
	wantDecision(t, s, admission(other, 1, 1), granted(1))
	next := admission(m, 1, 1)
	next = admissionAt(december.Start(), m, 1, next.Limits)
	wantDecision(t, s, next, granted(1))
	wantCounts(t, s, m, november, 1, 0)
	wantCounts(t, s, m, december, 1, 0)
	wantCounts(t, s, m, december.Before(2), 0, 0)
}

func perOperation(t *testing.T, s usage.Store) {
	m := meter()
	charge := func(operation string, units int64) usage.Admission {
		a := admission(m, units, 100)
		a.Operation = operation
		if d := must[usage.Decision](t)(s.Admit(t.Context(), a)); !d.Admitted {
			t.Fatalf("denied at %d", d.Used)
		}
		return a
	}
	charge("calendar.holidays", 1)
	charge("calendar.holidays", 2)
	failed := charge("convert.era", 4)
	denied := admission(m, 94, 100)
	wantDecision(t, s, denied, refused(7))
	wantOutcome(t, s, refundOf(failed, 100), usage.Refunded)
	want := map[string]usage.OperationCounts{
		"calendar.holidays": {Charged: 3},
		"convert.era":       {Charged: 4, Refunded: 4},
	}
	if c := countsOf(t, s, m, november); !maps.Equal(c.Operations, want) {
		t.Errorf("operations %v, want %v", c.Operations, want)
	}
}

func unitsBelowOne(t *testing.T, s usage.Store) {
	m := meter()
	for _, units := range []int64{0, -1} {
		if d, err := s.Admit(t.Context(), admission(m, units, 10)); err == nil {
			t.Errorf("admission of %d units: %+v, want an error", units, d)
		}
		if o, err := s.Refund(t.Context(), refundOf(admission(m, units, 10), 10)); err == nil {
			t.Errorf("refund of %d units: %v, want an error", units, o)
		}
	}
	wantCounts(t, s, m, november, 0, 0)
}

func racingAdmissions(t *testing.T, s usage.Store) { race(t, []usage.Store{s}, 200, 60, 50) }

func racingForTheLast(t *testing.T, s usage.Store) {
	for range 5 {
		race(t, []usage.Store{s}, 16, 3, 1)
	}
}

// race runs n concurrent admissions of one unit with left units remaining, and expects exactly
// left of them to be admitted.
func race(t *testing.T, stores []usage.Store, n int, limit usage.Limit, left int64) {
	t.Helper()
	m := meter()
	if before := int64(limit) - left; before > 0 {
		admit(t, stores[0], m, before, limit)
	}
	var admitted atomic.Int64
	together(n, func(i int) {
		d, err := stores[i%len(stores)].Admit(t.Context(), admission(m, 1, limit))
		switch {
		case err != nil:
			t.Errorf("admission %d: %v", i, err)
		case d.Admitted:
			admitted.Add(1)
		case d.Used != int64(limit):
			t.Errorf("denied at %d of %s", d.Used, limit)
		}
	})
	if admitted.Load() != left {
		t.Errorf("%d admitted, want %d", admitted.Load(), left)
	}
	wantCounts(t, stores[0], m, november, int64(limit), 0)
}

func distinctCounts(t *testing.T, s usage.Store) {
	m := meter()
	var mu sync.Mutex
	var counts []int64
	together(50, func(int) {
		d, err := s.Admit(t.Context(), admission(m, 1, 100))
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		counts = append(counts, d.Used)
	})
	slices.Sort(counts)
	for i, c := range counts {
		if c != int64(i+1) {
			t.Fatalf("counts %v, want 1 to 50 once each", counts)
		}
	}
}

func refundReturns(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 3, 10)
	admit(t, s, m, 1, 10)
	wantOutcome(t, s, refundOf(a, 10), usage.Refunded)
	wantCounts(t, s, m, november, 1, 3)
}

func refundOnce(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 1, 10)
	admit(t, s, m, 5, 10)
	wantOutcome(t, s, refundOf(a, 1), usage.Refunded)
	// At the cap too, AlreadyRefunded is the right answer for a repeated refund.
	for range 3 {
		wantOutcome(t, s, refundOf(a, 1), usage.AlreadyRefunded)
	}
	wantCounts(t, s, m, november, 5, 1)
}

func refundTogether(t *testing.T, stores []usage.Store, n int, r usage.Refund) map[usage.Outcome]int {
	t.Helper()
	var mu sync.Mutex
	outcomes := map[usage.Outcome]int{}
	together(n, func(i int) {
		o, err := stores[i%len(stores)].Refund(t.Context(), r)
		if err != nil {
			t.Errorf("refund %d: %v", i, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		outcomes[o[0]]++
	})
	return outcomes
}

func refundOnceConcurrently(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 2, 100)
	admit(t, s, m, 50, 100)
	outcomes := refundTogether(t, []usage.Store{s}, 20, refundOf(a, 100))
	if outcomes[usage.Refunded] != 1 || outcomes[usage.AlreadyRefunded] != 19 {
		t.Errorf("outcomes %v, want refunded once", outcomes)
	}
	wantCounts(t, s, m, november, 50, 2)
}

func refundNeverNegative(t *testing.T, s usage.Store) {
	m := meter()
	wantOutcome(t, s, refundOf(admission(m, 1, 10), 100), usage.NothingCharged)
	admit(t, s, m, 2, 10)
	wantOutcome(t, s, refundOf(admission(m, 3, 10), 100), usage.NothingCharged)
	wantCounts(t, s, m, november, 2, 0)
}

func refundStaysInMonth(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 1, 10)
	december := admission(m, 1, 10)
	december = admissionAt(at.Add(time.Millisecond), m, 1, december.Limits)
	wantDecision(t, s, december, granted(1))
	wantOutcome(t, s, refundOf(a, 100), usage.Refunded)
	wantCounts(t, s, m, november, 0, 1)
	wantCounts(t, s, m, december.Period(), 1, 0)
}

func refundCap(t *testing.T, s usage.Store) {
	m := meter()
	for i := range 5 {
		a := admit(t, s, m, 1, 100)
		want := usage.Refunded
		if i >= 3 {
			want = usage.CapReached
		}
		wantOutcome(t, s, refundOf(a, 3), want)
	}
	wantCounts(t, s, m, november, 2, 3)
}

func refundCapUnits(t *testing.T, s usage.Store) {
	m := meter()
	admit(t, s, m, 50, 100)
	five, four, one := admission(m, 5, 100), admission(m, 4, 100), admission(m, 1, 100)
	wantOutcome(t, s, refundOf(five, 9), usage.Refunded)
	wantOutcome(t, s, refundOf(admission(m, 5, 100), 9), usage.CapReached)
	wantOutcome(t, s, refundOf(four, 9), usage.Refunded)
	wantOutcome(t, s, refundOf(one, 9), usage.CapReached)
	// A refund that hits the cap leaves no marker: with a higher cap it goes through.
	wantOutcome(t, s, refundOf(one, 10), usage.Refunded)
	wantCountsIgnoringOperations(t, s, m, 40, 10)
}

func wantCountsIgnoringOperations(t *testing.T, s usage.Store, m string, used, refunded int64) {
	t.Helper()
	if c := countsOf(t, s, m, november); c.Used != used || c.Refunded != refunded {
		t.Errorf("used %d, refunded %d; want %d and %d", c.Used, c.Refunded, used, refunded)
	}
}

func refundCapRace(t *testing.T, s usage.Store) {
	m := meter()
	failed := make([]usage.Admission, 20)
	for i := range failed {
		failed[i] = admit(t, s, m, 1, 100)
	}
	var refunded atomic.Int64
	together(len(failed), func(i int) {
		switch o, err := s.Refund(t.Context(), refundOf(failed[i], 7)); {
		case err != nil:
			t.Error(err)
		case o[0] == usage.Refunded:
			refunded.Add(1)
		case o[0] != usage.CapReached:
			t.Errorf("outcome %s", o[0])
		}
	})
	if refunded.Load() != 7 {
		t.Errorf("%d refunded, the cap is 7", refunded.Load())
	}
	wantCounts(t, s, m, november, 13, 7)
}

func refundCapBelowUnits(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 3, 10)
	wantOutcome(t, s, refundOf(a, 2), usage.CapReached)
	wantOutcome(t, s, refundOf(a, 0), usage.CapReached)
	wantCounts(t, s, m, november, 3, 0)
}

func refundUncapped(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 1_000_000, usage.Unlimited)
	wantOutcome(t, s, refundOf(a, usage.Unlimited), usage.Refunded)
	wantCounts(t, s, m, november, 0, 1_000_000)
}

func refundReopens(t *testing.T, s usage.Store) {
	m := meter()
	a := admit(t, s, m, 1, 1)
	wantDecision(t, s, admission(m, 1, 1), refused(1))
	wantOutcome(t, s, refundOf(a, 1), usage.Refunded)
	wantDecision(t, s, admission(m, 1, 1), granted(1))
}

// conservation refunds every second call while others are admitted: whatever the order, what
// is used in the end is what was admitted and not refunded.
func conservation(t *testing.T, s usage.Store) {
	m := meter()
	var admitted, refunded atomic.Int64
	together(60, func(i int) {
		a := admission(m, 1+int64(i%3), 50)
		d, err := s.Admit(t.Context(), a)
		if err != nil {
			t.Errorf("admit: %v", err)
			return
		}
		if !d.Admitted {
			return
		}
		admitted.Add(a.Units)
		if i%2 == 0 {
			return
		}
		for range 2 {
			switch o, err := s.Refund(t.Context(), refundOf(a, 100)); {
			case err != nil:
				t.Errorf("refund: %v", err)
			case o[0] == usage.Refunded:
				refunded.Add(a.Units)
			}
		}
	})
	wantCounts(t, s, m, november, admitted.Load()-refunded.Load(), refunded.Load())
	if used := admitted.Load() - refunded.Load(); used > 50 {
		t.Errorf("%d used, the limit is 50", used)
	}
}

func addDenied(t *testing.T, s usage.Store) {
	m := meter()
	for _, n := range []int64{2, 3} {
		if err := s.AddDenied(t.Context(), m, november, n); err != nil {
			t.Fatal(err)
		}
	}
	wantDecision(t, s, admission(m, 1, 1), granted(1))
	c := countsOf(t, s, m, november)
	if c.Denied != 5 || c.Used != 1 {
		t.Errorf("denied %d, used %d; want 5 and 1", c.Denied, c.Used)
	}
}
