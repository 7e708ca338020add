// Package usage counts calls against the limits of a plan: per month, per day, per second.
//
// A call is admitted before it runs: its units are taken in one conditional write, so that
// however many authorizers race, no more than the limits is ever admitted. A call that
// failed gets its units back afterwards, exactly once. Always:
//
//	succeeded + in flight ≤ limit
//	succeeded ≤ charged ≤ attempted
//
// The package is arithmetic and policy; the counters themselves are behind Store.
package usage

import (
	"context"
	"errors"
	"time"
)

// Admission asks for the units of one call.
type Admission struct {
	// ID names the call; see NewAdmissionID. The authorizer makes it, of At: it is never
	// taken from the request.
	ID string
	// At is the instant of the decision. The month and the day that are charged are its.
	At time.Time
	// Meter is the counter that is charged: the ID of a key, kept when the key is rotated.
	Meter string
	// Operation is the code by which the contract names it, charged in the same write for
	// figures per tool; "" charges none.
	Operation string
	// Units to take, at least 1.
	Units  int64
	Limits Limits
}

// Period is the month that is charged.
func (a Admission) Period() Period { return PeriodOf(a.At) }

// Day is the day that is charged.
func (a Admission) Day() Day { return DayOf(a.At) }

// Decision is the answer to an Admission.
type Decision struct {
	Admitted bool
	// Refused is the limit that did not admit the call, "" when it was admitted.
	Refused Window
	// Wait until that limit admits the next call, if nobody else comes first.
	Wait time.Duration
	// State after the decision. When the store could not tell the counts of a denial, it
	// is at the limits.
	State
	// Unseen says that the admission was found applied by an earlier write whose answer was
	// lost. State may then count admissions that came after it.
	Unseen bool
}

// Counts of one meter in one period, in units. All are zero where nothing was counted yet.
type Counts struct {
	// Used is what counts against the limit: charged less refunded.
	Used int64
	// Days is what each day of the month has of it; days without any are missing.
	Days map[Day]int64
	// Refunded is what was given back, Unstarted the part of it that the cap on free
	// failures does not count.
	Refunded, Unstarted int64
	// Denied calls over a limit. It lags by minutes and may miss or repeat a few: it
	// informs, it decides nothing.
	Denied int64
	// TAT is the state of the rate after the last call of the month, 0 if none was rated.
	TAT int64
	// Operations by their codes.
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
	// Admit takes the units if the meter stays within its limits; see Admission.Decide. It
	// applies an admission at most once, however it retries inside. An error means that the
	// call must not run; units may have been taken then, at most those of this admission.
	// The error is ErrBusy when the store turned the write away unapplied.
	Admit(ctx context.Context, a Admission) (Decision, error)
	// Refund gives the units of calls back, once per admission ID, and says of each what
	// became of it. It may be called again after an error.
	Refund(ctx context.Context, r Refund) ([]Outcome, error)
	// AddDenied adds to the count of denied calls.
	AddDenied(ctx context.Context, meter string, p Period, n int64) error
	// Counts reads a meter in some periods, as they are asked for. An unknown meter has zero
	// counts.
	Counts(ctx context.Context, meter string, periods ...Period) ([]Counts, error)
	// Once says whether this is the first call for a name in a period; Again takes that back.
	Once(ctx context.Context, name string, p Period) (bool, error)
	Again(ctx context.Context, name string, p Period) error
}

var (
	// ErrUnclear: the store could not find out whether an admission was applied.
	ErrUnclear = errors.New("the store did not say whether the admission was applied")
	// ErrBusy: the store turned the admission away, unapplied, because the meter is written
	// to more often than it can take. Try again after RetryBusy.
	ErrBusy = errors.New("the store takes no more writes to this meter just now")
)

// RetryBusy is how long a caller waits after ErrBusy. DynamoDB counts the writes to an item
// by the second.
const RetryBusy = time.Second

// HistoryMonths is how many months can be looked at, the current one included.
const HistoryMonths = 13

// RetainCounters is how long counters are kept after their period ends. They may be removed
// later, never earlier.
const RetainCounters = HistoryMonths * 31 * 24 * time.Hour

// History is the months that can be looked at, the current one first.
func History(now time.Time) []Period {
	periods := make([]Period, HistoryMonths)
	for i := range periods {
		periods[i] = PeriodOf(now).Before(i)
	}
	return periods
}

// RetainRefunds is how long the marker of a refund is kept after its period ends: longer
// than any redelivery of a log record.
const RetainRefunds = 31 * 24 * time.Hour
