// Package usage counts calls against a monthly limit.
//
// A call is admitted before it runs: its units are taken in one conditional write, so that
// however many authorizers race, no more than the limit is ever admitted. A call that
// failed gets its units back afterwards, exactly once. Always:
//
//	succeeded + in flight ≤ limit
//	succeeded ≤ charged ≤ attempted
//
// The package is arithmetic and policy; the counters themselves are behind Store.
package usage

import (
	"context"
	"strconv"
	"time"
)

// Limit is a number of units per month, or Unlimited. Negative values other than
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

// FreeFailureCap is how many units of failed calls are given back per key and month: the
// greater of 100 and a tenth of the limit. Beyond it failures are charged, so that failing
// on purpose is no way around the plan. Without a limit there is nothing to get around.
func (l Limit) FreeFailureCap() Limit {
	if l == Unlimited {
		return Unlimited
	}
	return max(100, l/10)
}

// Admission asks for the units of one call.
type Admission struct {
	// ID names the call; see NewAdmissionID. It is made by the authorizer, never taken
	// from the request.
	ID string
	// Meter is the counter that is charged: the ID of a key, kept when the key is rotated.
	Meter  string
	Period Period
	// Operation is charged in the same write, for figures per tool.
	Operation string
	// Units to take, at least 1.
	Units int64
	Limit Limit
}

// Decision is the answer to an Admission.
type Decision struct {
	Admitted bool
	// Used is the count after the decision, in units. When the store could not tell the
	// count of a denial, it is the limit.
	Used int64
}

// Refund gives the units of a failed call back.
type Refund struct {
	AdmissionID string
	Meter       string
	Period      Period
	Operation   string
	Units       int64
	// Cap is the most units that may be given back in the period; see FreeFailureCap.
	Cap Limit
}

// Outcome is what became of a Refund.
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

// Counts of one meter in one period, in units. All are zero where nothing was counted yet.
type Counts struct {
	// Used is what counts against the limit: charged less refunded.
	Used int64
	// Refunded is what was given back.
	Refunded int64
	// Denied calls over the limit. It lags by minutes and may miss or repeat a few: it
	// informs, it decides nothing.
	Denied int64
	// Operations by their IDs.
	Operations map[string]OperationCounts
}

// OperationCounts of one operation, in units.
type OperationCounts struct {
	// Charged at admission; Refunded of that.
	Charged, Refunded int64
}

// Store keeps the counters. Implementations are safe for concurrent use, by any number of
// processes.
type Store interface {
	// Admit takes the units if the meter stays within the limit. It applies an admission
	// at most once, however it retries inside. An error means that the call must not run;
	// units may have been taken then, at most those of this admission.
	Admit(ctx context.Context, a Admission) (Decision, error)
	// Refund gives units back, once per admission ID. It may be called again after an error.
	Refund(ctx context.Context, r Refund) (Outcome, error)
	// AddDenied adds to the count of denied calls.
	AddDenied(ctx context.Context, meter string, p Period, n int64) error
	// Counts reads one meter. An unknown meter has zero counts.
	Counts(ctx context.Context, meter string, p Period) (Counts, error)
}

// RetainPeriods is how long counters and refund markers are kept after their period ends.
// They may be removed later, never earlier.
const RetainPeriods = 13 * 31 * 24 * time.Hour

// RetainRefunds is how long the marker of a refund is kept after its period ends: longer
// than any redelivery of a log record.
const RetainRefunds = 31 * 24 * time.Hour
