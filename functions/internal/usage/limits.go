package usage

import (
	"strconv"
	"time"

	"sekisho/functions/internal/ratelimit"
)

// Limit is a number of units per period, or Unlimited. Negative values other than
// Unlimited are not valid.
type Limit int64

// Unlimited is the limit of a plan that has none.
const Unlimited Limit = -1

// String writes the number, or "unlimited".
func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(int64(l), 10)
}

// Remaining is what is left of the limit after used units, never negative. ok is false
// without a limit.
func (l Limit) Remaining(used int64) (left int64, ok bool) {
	if l == Unlimited {
		return 0, false
	}
	return max(0, int64(l)-used), true
}

// admits says whether units more fit after used.
func (l Limit) admits(used, units int64) bool { return l == Unlimited || used <= int64(l)-units }

// FreeFailureCap is how many units of failed calls are given back per key and month: the
// greater of 100 and a tenth of the monthly limit. Beyond it failures are charged, so that
// failing on purpose is not a way around the plan. Without a limit there is nothing to get around.
func (l Limit) FreeFailureCap() Limit {
	if l == Unlimited {
		return Unlimited
	}
	return max(100, l/10)
}

// Limits are what a plan allows each key. All of them are decided together: a call that one
// of them refuses takes nothing from the others.
type Limits struct {
	// Monthly and Daily are units per UTC calendar month and day.
	Monthly, Daily Limit
	// Rate is calls per second, with a burst; the zero value allows any rate. It counts
	// calls, whatever their units and whether they succeed: a failed call was a call.
	Rate ratelimit.Limit
}

// NoLimits admits every call.
var NoLimits = Limits{Monthly: Unlimited, Daily: Unlimited}

// PerMonth is a plan that limits the month alone.
func PerMonth(limit Limit) Limits { return Limits{Monthly: limit, Daily: Unlimited} }

// Rated says whether there is a limit on the rate.
func (l Limits) Rated() bool { return l.Rate != ratelimit.Limit{} }

// Window names one of the limits, as answers and headers do.
type Window string

// The windows.
const (
	Monthly   Window = "monthly"
	Daily     Window = "daily"
	PerSecond Window = "rate"
	// Busy is not a limit of the plan: the store takes no more writes to the meter; see ErrBusy.
	Busy Window = "busy"
)

// State is what an admission depends on: the counts of a meter before it.
type State struct {
	// Used units of the month, Today those of the admission's day.
	Used, Today int64
	// TAT is the theoretical arrival time of the rate; see ratelimit.Limit. It never decreases.
	TAT int64
}

// Decide is the rule of admission. A store applies it in one atomic step: it writes next
// if d is admitted, and nothing otherwise. Of several limits that refuse, the one that lasts
// longest is named.
func (a Admission) Decide(s State) (next State, d Decision) {
	next = State{Used: s.Used + a.Units, Today: s.Today + a.Units, TAT: s.TAT}
	d.State = s
	refuse := func(w Window, wait time.Duration) {
		if d.Refused == "" || wait > d.Wait {
			d.Refused, d.Wait = w, wait
		}
	}
	if !a.Limits.Monthly.admits(s.Used, a.Units) {
		refuse(Monthly, a.Period().Reset().Sub(a.At))
	}
	if !a.Limits.Daily.admits(s.Today, a.Units) {
		refuse(Daily, a.Day().Reset().Sub(a.At))
	}
	if a.Limits.Rated() {
		var slot ratelimit.Slot
		if next.TAT, slot = a.Limits.Rate.Decide(s.TAT, a.At.UnixNano(), 0); !slot.OK {
			refuse(PerSecond, slot.Wait)
		}
	}
	if d.Refused == "" {
		d.Admitted, d.State = true, next
	}
	return next, d
}

// Quota is where a caller stands with one limit.
type Quota struct {
	Window Window
	// Limit is the most units of the window, for the rate the burst; Remaining is what is
	// left of it.
	Limit, Remaining int64
	// Length of the window: for the rate, the time in which an empty bucket fills.
	Length time.Duration
	// Reset is the time until nothing of the window is used any more.
	Reset time.Duration
}

// Used is what is used of the limit.
func (q Quota) Used() int64 { return q.Limit - q.Remaining }

// Quotas lists the limits that there are, for a meter in a state.
func (l Limits) Quotas(s State, at time.Time) (quotas []Quota) {
	period, day := PeriodOf(at), DayOf(at)
	if left, ok := l.Monthly.Remaining(s.Used); ok {
		quotas = append(quotas, Quota{Monthly, int64(l.Monthly), left, period.Reset().Sub(period.Start()), period.Reset().Sub(at)})
	}
	if left, ok := l.Daily.Remaining(s.Today); ok {
		quotas = append(quotas, Quota{Daily, int64(l.Daily), left, 24 * time.Hour, day.Reset().Sub(at)})
	}
	if l.Rated() {
		now, interval, burst := at.UnixNano(), l.Rate.Interval(), int64(l.Rate.Burst)
		full := time.Duration(max(0, s.TAT-now))
		quotas = append(quotas, Quota{PerSecond, burst, max(0, (burst*interval-int64(full))/interval), time.Duration(burst * interval), full})
	}
	return quotas
}

// WholeSeconds rounds a wait up, as Retry-After needs it; it is at least one.
func WholeSeconds(wait time.Duration) time.Duration {
	return max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
}
