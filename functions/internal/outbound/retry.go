package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/trace"
)

// minAttempt is the least time that an attempt is started with.
const minAttempt = 100 * time.Millisecond

// Do makes the call and returns what parse made of a 2xx answer, or an *[Error].
// Parse may be called once per attempt; its error means that the answer does not parse.
// A write is never sent again after a 2xx, so there parse should take any answer.
func Do[T any](ctx context.Context, c *Client, r Request, parse func(Response) (T, error)) (T, error) {
	var value, zero T
	err := c.run(ctx, r, func(resp Response) (err error) {
		value, err = parse(resp)
		return err
	})
	if err != nil {
		return zero, err
	}
	return value, nil
}

// call is the state of one call across its attempts.
type call struct {
	*Client
	*prepared
	request  Request
	parse    func(Response) error
	upstream string
	at       route
	most     int // attempts
	start    time.Time
	made     int // attempts
	unknowns int // outcomes of class Unknown
	waited   time.Duration
	last     outcome // of the last attempt
	unclear  bool    // an attempt may have taken effect
}

// run is the retry loop. What a failure is, is decided in classify.go; whether another
// attempt follows, in next.
func (c *Client) run(ctx context.Context, r Request, parse func(Response) error) error {
	p, err := r.prepare()
	if err != nil {
		v := classify(outcome{err: err})
		return &Error{Upstream: c.cfg.Upstream, Method: orDefault(r.Method, "GET"), Err: err,
			Class: v.class, Reason: v.reason, Stop: StopPermanent}
	}
	k := &call{Client: c, prepared: p, request: r, parse: parse,
		upstream: orDefault(c.cfg.Upstream, p.url.Hostname()), start: time.Now(),
		most: min(c.cfg.Attempts, orDefault(r.Attempts, MaxAttempts)),
		at:   route{url: p.url, left: orDefault(r.Attempts, MaxAttempts)}}
	for {
		queued, err := k.pass(ctx)
		if err != nil {
			return err
		}
		event, err := k.attempt(ctx)
		event.Queued = queued
		if r.Observe != nil {
			r.Observe(event)
		}
		if err != nil {
			return err
		}
		if event.Err == nil {
			return nil
		}
		k.waited += event.Wait
		if !sleep(ctx, event.Wait) {
			return k.stopped(ctx, ctx.Err())
		}
	}
}

// pass waits at the gate and makes sure that there is time for an attempt.
func (k *call) pass(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if gate := k.request.Gate; gate != nil && k.left(ctx) >= minAttempt {
		gateCtx, cancel := context.WithTimeout(ctx, k.left(ctx)-minAttempt)
		defer cancel()
		if err := gate(gateCtx); err != nil && ctx.Err() == nil {
			e := k.between(err, verdict{reason: ReasonGate, class: Transient}, StopGate)
			e.RetryAfter = waitOf(err)
			return 0, e
		}
	}
	queued := time.Since(start)
	k.waited += queued
	if ctx.Err() != nil || k.left(ctx) < minAttempt {
		return 0, k.stopped(ctx, errors.New("not enough time is left for an attempt"))
	}
	return queued, nil
}

// attempt makes one attempt and decides what follows. The error is the call's.
func (k *call) attempt(ctx context.Context) (Attempt, error) {
	k.made++
	event := Attempt{Upstream: k.upstream, Number: k.made, Of: k.most}
	start, left := time.Now(), k.at.left
	tryCtx, cancel := context.WithTimeout(ctx, min(k.cfg.Timeout, k.left(ctx)))
	tryCtx, span := trace.Start(tryCtx, trace.Client, k.method)
	o := k.exchange(tryCtx, k.prepared, &k.at, k.parse)
	cancel()
	event.Duration, event.Status, event.Requests = time.Since(start), o.status, left-k.at.left
	k.describe(span, o)
	if o.err == nil {
		span.End("")
		return event, nil
	}
	v := classify(o)
	span.End(string(v.reason))
	o.err = k.scrub.cleanError(o.err)
	k.last = o
	k.unclear = k.unclear || (v.ambiguous && o.sent)
	event.Err, event.Class, event.Reason = o.err, v.class, v.reason
	wait, why, stop := k.next(ctx, o, v)
	event.Stop = stop
	if stop == "" {
		event.Wait, event.WaitReason = wait, why
		return event, nil
	}
	e := k.fail(o, v, stop)
	e.RetryAfter = k.advisedWait(o, v, stop, wait)
	return event, e
}

func (k *call) describe(span trace.Span, o outcome) {
	span.Set("http.request.method", k.method)
	span.Set("server.address", k.upstream)
	if o.status != 0 {
		span.SetInt("http.response.status_code", o.status)
	}
	if k.made > 1 {
		span.SetInt("http.request.resend_count", k.made-1)
	}
}

// next decides, in this order, whether it may be sent again, should be, and whether the
// wait fits.
// The wait is returned even if it doesn't fit.
func (k *call) next(ctx context.Context, o outcome, v verdict) (time.Duration, WaitReason, Stop) {
	if v.class == Unknown {
		k.unknowns++
	}
	switch {
	case o.accepted:
		return 0, "", StopAccepted
	case v.reason == ReasonCancelled:
		return 0, "", StopCancelled
	case v.class == Permanent:
		return 0, "", StopPermanent
	case v.ambiguous && o.sent && !k.repeatable():
		return 0, "", StopAmbiguous
	case k.unknowns > 1:
		return 0, "", StopUnknown
	case k.made >= k.most || k.at.left <= 0:
		return 0, "", StopAttempts
	}
	wait, why := backoff(k.made, k.cfg.Jitter()), WaitBackoff
	// A Retry-After of 0 or in the past asks for no wait in particular. Obeying it to
	// the letter would send all attempts in one burst.
	if o.retryAfter > 0 {
		wait, why = o.retryAfter, WaitRetryAfter
	}
	if wait > k.cfg.MaxWait || wait > k.left(ctx)-minAttempt {
		return wait, why, StopDeadline
	}
	return wait, why, ""
}

// advisedWait is the RetryAfter of the final error: what the upstream asked for last, or
// the wait that didn't fit, or the longest backoff when a transient failure outlasted all
// attempts. Unless the upstream named it, it is no shorter than the call itself took: two
// timeouts of 15 s are not answered by "again in a second".
func (k *call) advisedWait(o outcome, v verdict, stop Stop, wait time.Duration) time.Duration {
	switch {
	case stop != StopDeadline && (stop != StopAttempts || v.class != Transient):
		return 0
	case o.retryAfter > 0:
		return o.retryAfter
	case stop == StopAttempts:
		wait = backoffMax
	}
	return max(wait, k.spent())
}

// spent is how long the call has taken, in whole seconds, rounded up.
func (k *call) spent() time.Duration {
	return (time.Since(k.start) + time.Second - 1).Truncate(time.Second)
}

func (k *call) fail(o outcome, v verdict, stop Stop) *Error {
	return &Error{
		Upstream: k.upstream, Method: k.method,
		Class: v.class, Reason: v.reason, Stop: stop,
		Status: o.status, Attempts: k.made, Waited: k.waited,
		MayHaveHappened: k.unclear && !k.idempotent, Err: o.err,
	}
}

// stopped is the error of a call whose context leaves no time for an attempt.
func (k *call) stopped(ctx context.Context, cause error) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return k.between(ctx.Err(), verdict{reason: ReasonCancelled, class: Permanent}, StopCancelled)
	}
	e := k.between(cause, verdict{reason: ReasonDeadline, class: Transient}, StopDeadline)
	e.RetryAfter = k.spent()
	return e
}

// between is the error of a call that ends before an attempt. It keeps what the last
// one came to.
func (k *call) between(err error, v verdict, stop Stop) *Error {
	if k.last.err != nil && !errors.Is(err, k.last.err) {
		err = fmt.Errorf("%w; last attempt: %w", err, k.last.err)
	}
	return k.fail(outcome{err: err, status: k.last.status}, v, stop)
}

// left is the time until the context's deadline, less the reserve.
func (k *call) left(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 1<<63 - 1
	}
	return time.Until(deadline) - k.cfg.Reserve
}

// sleep reports whether it slept d in full.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
