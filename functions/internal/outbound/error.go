package outbound

import (
	"fmt"
	"time"
)

// Stop is why no further attempt was made.
type Stop string

const (
	StopPermanent Stop = "permanent" // repeating can't help
	StopUnknown   Stop = "unknown"   // failed again after the one retry
	StopAttempts  Stop = "attempts"  // none left
	StopDeadline  Stop = "deadline"  // the next wait, or an attempt, doesn't fit
	StopAmbiguous Stop = "ambiguous" // may have happened, and must not happen twice
	StopAccepted  Stop = "accepted"  // a 2xx came, so it has happened
	StopCancelled Stop = "cancelled" // the caller went away
	StopGate      Stop = "gate"      // Request.Gate refused
)

// Error is a call that failed for good. Neither its text nor that of any error
// beneath it holds a credential, user information or a query string.
type Error struct {
	Upstream string
	Method   string
	Class    Class
	Reason   Reason
	Stop     Stop
	Status   int           // last HTTP status of the last attempt, 0 if none came
	Attempts int           // made, 0 to 4
	Waited   time.Duration // slept between attempts and at the gate, in all
	// RetryAfter is when another call makes sense, counted from now. 0: not known,
	// or never.
	RetryAfter time.Duration
	// MayHaveHappened: after any of the attempts the upstream may have done what was
	// asked, and another call might do it twice. Also set if the attempts shared an
	// idempotency key, which the next call need not have.
	MayHaveHappened bool
	Err             error // of the last attempt
}

func (e *Error) Error() string {
	text := fmt.Sprintf("call %s with %s: %v (%s; attempts: %d; waited: %s; stopped: %s",
		e.Upstream, e.Method, e.Err, e.Class, e.Attempts, e.Waited.Round(time.Millisecond), e.Stop)
	if e.RetryAfter > 0 {
		text += fmt.Sprintf("; not before: %s", e.RetryAfter.Round(time.Millisecond))
	}
	return text + ")"
}

func (e *Error) Unwrap() error { return e.Err }
