// Package outbound makes one call to somebody else's HTTP API and never hangs,
// hammers or misleads: the caller gets a parsed value, or an [Error] that says
// what happened, how often it was tried and what may be done next.
//
// The rules (REQUIREMENTS C1–C4), each in a file of its own:
//
//   - classify.go: what a failure is, as one ordered list;
//   - retry.go: whether it is tried again, and after what wait;
//   - backoff.go, retryafter.go: how long a wait is;
//   - exchange.go, redirect.go, address.go: one attempt, the body included,
//     and where it may go;
//   - advice.go: what an agent is told (B5);
//   - scrub.go: what nobody is ever told.
//
// Two decisions follow C2 to the letter. HTTP 408 and 425 are permanent, as every
// 4xx but 429 is. A name that can't be resolved is a connection failure, hence
// transient; a certificate that doesn't verify is not, because the connection was
// made and the refusal is ours: the next attempt would refuse the same certificate.
//
// # Why no library retries here
//
// cenkalti/backoff (v5.0.3) was read for it. Its jitter is symmetric, so waits
// fall below the base; it sleeps without asking whether the wait fits the context's
// deadline, and doesn't return the wait that it gave up on; a Retry-After restarts
// its exponent; its notification has no reason. What would be left of it is
// doubling with a cap, which is three lines in backoff.go.
package outbound
