package usage

import "fmt"

// Refund gives the units of failed calls back to the meter and month that they were taken
// from.
type Refund struct {
	Meter  string
	Period Period
	// Cap is the most units of failures that are free in the period; see FreeFailureCap.
	Cap   Limit
	Calls []FailedCall
}

// FailedCall is one call to be refunded.
type FailedCall struct {
	AdmissionID string
	// Operation is its code, as in the Admission.
	Operation string
	Units     int64
	// Unstarted calls never reached a function: nobody can fail so on purpose, and the cap
	// does not count them.
	Unstarted bool
}

// Outcome is what became of one call's refund.
type Outcome string

// The outcomes of a refund.
const (
	// Refunded: the units were given back now.
	Refunded Outcome = "refunded"
	// AlreadyRefunded: they were given back before; nothing changed.
	AlreadyRefunded Outcome = "already_refunded"
	// CapReached: the period's free failures are used up; the call stays charged.
	CapReached Outcome = "cap_reached"
	// NothingCharged: the meter holds fewer units than were to be given back.
	NothingCharged Outcome = "nothing_charged"
)

// Day is the day that a call was charged to: that of its admission.
func (c FailedCall) Day() (Day, error) {
	at, ok := AdmissionTime(c.AdmissionID)
	if !ok {
		return Day{}, fmt.Errorf("admission ID %q is malformed", c.AdmissionID)
	}
	return DayOf(at), nil
}

// Check refuses what no admission can have charged.
func (r Refund) Check() error {
	for _, c := range r.Calls {
		day, err := c.Day()
		switch {
		case err != nil:
			return err
		case c.Units < 1:
			return fmt.Errorf("refund %s: units must be at least 1, not %d", c.AdmissionID, c.Units)
		case day.Period() != r.Period:
			return fmt.Errorf("refund %s: it was admitted on %s, not in %s", c.AdmissionID, day, r.Period)
		}
	}
	return nil
}

// Balance is what a refund depends on.
type Balance struct {
	Used int64
	Days map[Day]int64
	// Free is what was given back so far that the cap counts.
	Free int64
	// Done holds the admissions that were refunded before.
	Done map[string]bool
}

// OverCap says that the cap holds a call back, once so much was given back that it counts.
func (r Refund) OverCap(free int64, c FailedCall) bool {
	return !c.Unstarted && !r.Cap.admits(free, c.Units)
}

// Decide is the rule of refunds, call by call in their order: what it answers Refunded is to
// be given back. Check must have passed.
func (r Refund) Decide(b Balance) []Outcome {
	outcomes := make([]Outcome, len(r.Calls))
	days, done := map[Day]int64{}, map[string]bool{}
	for i, c := range r.Calls {
		day, _ := c.Day()
		switch {
		case b.Done[c.AdmissionID] || done[c.AdmissionID]:
			outcomes[i] = AlreadyRefunded
		case b.Used < c.Units || b.Days[day]-days[day] < c.Units:
			outcomes[i] = NothingCharged
		case r.OverCap(b.Free, c):
			outcomes[i] = CapReached
		default:
			outcomes[i] = Refunded
			b.Used -= c.Units
			days[day] += c.Units
			done[c.AdmissionID] = true
			if !c.Unstarted {
				b.Free += c.Units
			}
		}
	}
	return outcomes
}
