package faults

import (
	"context"
	"errors"
	"slices"
	"time"

	"sekisho/functions/internal/usage"
)

// check compares what the store holds, and what agents saw, with what must hold.
func (w *world) check() {
	w.wire.kinds, w.wire.strip = nil, nil
	extra := int64(0)
	for meter, limits := range w.plans {
		var own []*call
		periods := map[usage.Period]bool{}
		for _, c := range w.calls {
			if c.meter == meter {
				own = append(own, c)
				// Also what was not admitted may have been charged.
				for _, off := range []time.Duration{-skew, 0, skew} {
					periods[usage.PeriodOf(c.asked.Add(off))] = true
				}
			}
		}
		w.checkInFlight(limits, own)
		w.checkRate(limits, own)
		for p := range periods {
			extra += w.checkPeriod(meter, p, own)
		}
	}
	if most := w.doubtful(); extra > most {
		w.fail("%d units are charged for nothing, and only %d are in doubt", extra, most)
	}
}

// doubtful is the most that can be charged for nothing: admissions that were refused because
// nobody knew whether they were applied, and writes that came after their own repetition.
func (w *world) doubtful() (units int64) {
	const mostUnits = 2
	for _, c := range w.calls {
		if errors.Is(c.err, usage.ErrUnclear) {
			units += c.units
		}
	}
	return units + w.wire.twice.Load()*mostUnits
}

// checkInFlight walks over the instants at which calls were admitted: what succeeded or is
// in flight then must be within month and day.
func (w *world) checkInFlight(limits usage.Limits, calls []*call) {
	counts := func(c, other *call) bool {
		over := !other.ended.After(c.decided) && other.failed
		return other.admitted() && !other.decided.After(c.decided) && !over
	}
	for _, c := range calls {
		if !c.admitted() {
			continue
		}
		var month, day int64
		for _, other := range calls {
			if !counts(c, other) {
				continue
			}
			if other.grant.Period() == c.grant.Period() {
				month += other.units
			}
			if usage.DayOf(other.grant.At) == usage.DayOf(c.grant.At) {
				day += other.units
			}
		}
		if limits.Monthly != usage.Unlimited && month > int64(limits.Monthly) {
			w.fail("%s: %d units succeeded or in flight in the month, the limit is %d", c.meter, month, limits.Monthly)
		}
		if limits.Daily != usage.Unlimited && day > int64(limits.Daily) {
			w.fail("%s: %d units succeeded or in flight in the day, the limit is %d", c.meter, day, limits.Daily)
		}
	}
}

// checkRate: in no interval are more admitted than the burst and what the rate adds in it,
// with the difference of the clocks.
func (w *world) checkRate(limits usage.Limits, calls []*call) {
	if !limits.Rated() {
		return
	}
	var at []time.Time
	for _, c := range calls {
		if c.admitted() {
			at = append(at, c.grant.At)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		for j := i; j < len(at); j++ {
			most := float64(limits.Rate.Burst) + (at[j].Sub(at[i])+skew).Seconds()*limits.Rate.PerSecond
			if usage.PeriodOf(at[i]) != usage.PeriodOf(at[j]) {
				most += float64(limits.Rate.Burst) // see package dynamo, admit.go
			}
			if n := j - i + 1; float64(n) > most+1e-6 {
				w.fail("%d calls within %s, the rate allows %.1f", n, at[j].Sub(at[i]), most)
				return
			}
		}
	}
}

// checkPeriod returns the units that are charged and belong to no call.
func (w *world) checkPeriod(meter string, p usage.Period, calls []*call) int64 {
	months, err := w.settle.Counts(context.Background(), meter, p)
	if err != nil {
		w.fail("counts: %v", err)
		return 0
	}
	c := months[0]
	var due, succeeded, refunded, attempted int64
	days := map[usage.Day]int64{}
	for _, one := range calls {
		if one.grant.Period() != p {
			continue
		}
		attempted += one.units
		if !one.admitted() {
			continue
		}
		back := one.outcome == usage.Refunded || one.outcome == usage.AlreadyRefunded
		switch {
		case back && !one.failed:
			w.fail("%s: a call that succeeded was refunded", meter)
		case back:
			refunded += one.units
			continue
		case one.failed && one.outcome == usage.NothingCharged:
			w.fail("%s: an admitted call had not been charged", meter)
		case !one.failed:
			succeeded += one.units
		}
		due += one.units
		days[usage.DayOf(one.grant.At)] += one.units
	}
	if c.Refunded != refunded {
		w.fail("%s: %d units refunded, want %d", meter, c.Refunded, refunded)
	}
	if c.Used < due || c.Used < succeeded || c.Used > attempted+w.doubtful() {
		w.fail("%s in %s: %d used; %d are due, %d succeeded, %d attempted", meter, p, c.Used, due, succeeded, attempted)
	}
	w.checkSums(meter, c, days)
	return c.Used - due
}

// checkSums: days and operations add up to the month, and nothing is negative.
func (w *world) checkSums(meter string, c usage.Counts, due map[usage.Day]int64) {
	var days, net int64
	for day, n := range c.Days {
		if n < due[day] {
			w.fail("%s on %s: %d used, %d are due", meter, day, n, due[day])
		}
		days += n
	}
	for _, o := range c.Operations {
		if o.Charged < 0 || o.Refunded < 0 || o.Charged < o.Refunded {
			w.fail("%s: operation %+v", meter, o)
		}
		net += o.Charged - o.Refunded
	}
	if free := c.Refunded - c.Unstarted; free > freeFailures {
		w.fail("%s: %d units of failures were free, the cap is %d", meter, free, freeFailures)
	}
	if days != c.Used || net != c.Used || c.Used < 0 || c.Refunded < c.Unstarted {
		w.fail("%s: %d used, the days have %d, the operations %d", meter, c.Used, days, net)
	}
}
