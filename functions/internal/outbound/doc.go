// Package outbound makes one call to somebody else's HTTP API and never hangs,
// hammers or misleads: the caller gets a parsed value, or an [Error] that says
// what happened, how often it was tried and what may be done next.
//
// Each rule has a file of its own:
//
//   - status.go, classify.go: what a status and any other failure mean;
//   - retry.go: whether a call is tried again, and after what wait;
//   - backoff.go, retryafter.go: how long a wait is;
//   - exchange.go, redirect.go, address.go: one attempt, the body included,
//     and where it may go;
//   - pool.go: why a request is sent once and no more;
//   - response.go, charset.go: how an answer is read;
//   - advice.go: what an agent reads of a failure;
//   - scrub.go, escaped.go: what nobody ever reads.
//
// A call makes at most four attempts, and puts at most four requests on the wire. What
// passes by itself is tried again after an exponential backoff, or after the wait that the
// upstream asks for; an answer that can't be read, and a 500, once; nothing else. What may
// have happened is not sent again unless it is idempotent or has an idempotency key, and
// after a 2xx no write ever is.
//
// A name that can't be resolved is a failed connection, hence transient. A certificate
// that doesn't verify is not, because the connection was made and the refusal is ours: the
// next attempt would refuse the same certificate.
//
// # Why no library retries here
//
// cenkalti/backoff (v5.0.3) was considered. Its jitter is symmetric, so waits fall below
// the base; it sleeps without asking whether the wait fits the context's deadline, and
// doesn't return the wait that it gave up on; a Retry-After restarts its exponent; its
// notification has no reason. Only doubling with a cap would be left of it, which is three
// lines in backoff.go.
package outbound
