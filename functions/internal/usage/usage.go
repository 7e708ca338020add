// Package usage counts calls against a monthly limit.
//
// A call is admitted before it runs: one conditional write takes its units, so no more than
// the limit is ever admitted, however many authorizers race. A failed call gets its units
// back afterwards, exactly once. At any time:
//
//	succeeded + in flight ≤ limit
//	succeeded ≤ charged ≤ attempted
//
// This package holds arithmetic and policy; a Store holds the counters.
package usage

import (
	"context"
	"strconv"
	"time"
)

// Limit is a number of units per month, or Unlimited. Negative values other than
// Unlimited are not valid.
type Limit int64

// Unlimited is the limit of a plan without one.
const Unlimited Limit = -1

// String writes the number, or "unlimited".
func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(int64(l), 10)
}

// Remaining is what is left of the limit after used units, never negative. ok is false if
// there is no limit.
func (l Limit) Remaining(used int64) (left int64, ok bool) {
	if l == Unlimited {
		return 0, false
	}
	return max(0, int64(l)-used), true
}

// FreeFailureCap is how many units are refunded per meter and period: the greater of 100
// and a tenth of the limit. Beyond that, failed calls stay charged, so that nobody can get
// around the plan by failing on purpose. A plan without a limit needs no cap.
func (l Limit) FreeFailureCap() Limit {
	if l == Unlimited {
		return Unlimited
	}
	return max(100, l/10)
}

// Admission asks for the units of one call.
type Admission struct {
	// ID identifies the call; see NewAdmissionID. The authorizer makes it; it is never
	// taken from the request.
	ID string
	// Meter is the counter to charge; see account.Key.
	Meter  string
	Period Period
	// Operation is counted in the same write, for figures per tool.
	Operation string
	// Units to take, at least 1.
	Units int64
	Limit Limit
}

// Decision is the answer to an Admission.
type Decision struct {
	Admitted bool
	// Used is the count after the decision, in units. If a denied call's count is not
	// known, it is the limit.
	Used int64
}

// Refund gives back the units of a failed call.
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
	// NothingCharged: the meter holds fewer units than the refund.
	NothingCharged Outcome = "nothing_charged"
)

// Counts of one meter in one period, in units. All are zero until something is counted.
type Counts struct {
	// Used is what counts against the limit: charged less refunded.
	Used int64
	// Refunded is what was given back.
	Refunded int64
	// Denied calls, over the limit. The figure lags by minutes and may miss or repeat a
	// few: it is for information only.
	Denied int64
	// Operations by ID.
	Operations map[string]OperationCounts
}

// OperationCounts of one operation, in units.
type OperationCounts struct {
	// Charged at admission, and what of that was Refunded.
	Charged, Refunded int64
}

// Store keeps the counters. Implementations are safe for concurrent use, by any number of
// processes.
type Store interface {
	// Admit takes the units if the meter stays within the limit. It applies an admission
	// at most once, even if it retries internally. After an error the call must not run,
	// but its units may have been taken.
	Admit(ctx context.Context, a Admission) (Decision, error)
	// Refund gives units back, once per admission ID. It is safe to repeat after an error.
	Refund(ctx context.Context, r Refund) (Outcome, error)
	// AddDenied adds to the count of denied calls.
	AddDenied(ctx context.Context, meter string, p Period, n int64) error
	// Counts reads one meter. An unknown meter has zero counts.
	Counts(ctx context.Context, meter string, p Period) (Counts, error)
}

// RetainCounters is how long counters are kept after their period ends. They may be removed
// later, never earlier.
const RetainCounters = 13 * 31 * 24 * time.Hour

// RetainRefunds is how long a refund's marker is kept after its period ends: longer than a
// log record can be redelivered.
const RetainRefunds = 31 * 24 * time.Hour
