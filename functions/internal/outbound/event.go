package outbound

import "time"

// WaitReason is why the wait after an attempt is as long as it is.
type WaitReason string

const (
	WaitRetryAfter WaitReason = "Retry-After"
	WaitBackoff    WaitReason = "backoff"
)

// Attempt is one attempt that has ended, and what follows it.
type Attempt struct {
	Upstream string
	Number   int           // from 1
	Of       int           // at most
	Status   int           // last HTTP status, 0 if none came
	Err      error         // nil on success; holds no secret
	Class    Class         // "" on success
	Reason   Reason        // "" on success
	Queued   time.Duration // spent at the gate before it
	Duration time.Duration // of the exchange
	Requests int           // that it put on the wire: 0 without a connection, more with redirects
	// Wait is slept next, for WaitReason. Both are zero if this was the last attempt;
	// then Stop says why, or is "" on success.
	Wait       time.Duration
	WaitReason WaitReason
	Stop       Stop
}

// Tally adds up the attempts of one call, or of several one after the other: the
// figures of a log line. Its Observe fits Request.Observe.
type Tally struct {
	Attempts int
	Requests int           // on the wire: an attempt may follow redirects
	Retries  int           // attempts after a call's first
	Waited   time.Duration // between attempts and at the gate
}

// Observe counts a.
func (t *Tally) Observe(a Attempt) {
	t.Attempts++
	t.Requests += a.Requests
	if a.Number > 1 {
		t.Retries++
	}
	t.Waited += a.Wait + a.Queued
}

// Left is how many requests another call to the same end may still make.
func (t *Tally) Left() int { return max(0, MaxAttempts-max(t.Attempts, t.Requests)) }
