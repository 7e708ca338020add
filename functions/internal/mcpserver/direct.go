package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/trace"
	"sekisho/functions/internal/usage"
)

// Direct is what a server needs to dispatch calls itself.
type Direct struct {
	Gate Admitter
	// Functions that serve operations, by the contract's names.
	Functions map[string]backend.Invoker
	Refunds   Refunder
	// Braked says whether the owner's brake is on. It is asked only when a function could not be
	// started. Nil: it never is.
	Braked func(context.Context) (bool, error)
}

// Admitter decides about calls; see admission.Gate.
type Admitter interface {
	Admit(ctx context.Context, key account.Key, op *contract.Operation) (admission.Decision, error)
}

// Refunder gives back the units of calls that failed; see usage.Store.
type Refunder interface {
	Refund(ctx context.Context, r usage.Refund) ([]usage.Outcome, error)
}

// direct admits a call with the authorizer's own gate and invokes the function with the event that
// the REST API would hand it.
//
// The caller's answer decides whether a call is charged: what it is told has failed is given back
// before the answer goes out. If this function ends without an answer, settle gives back what its
// record says was admitted (see record). A refund is applied once, whoever asks for it.
type direct struct {
	*server
	Direct
	stops *stops
}

// newDirect fails if a tool's function is not among those that can be invoked.
func newDirect(s *server) (direct, error) {
	for _, t := range s.tools.all {
		if t.operation != nil && s.Direct.Functions[t.operation.Function] == nil {
			return direct{}, fmt.Errorf("mcpserver: %s is served by the function %s, which is not among those to invoke", t.name, t.operation.Function)
		}
	}
	return direct{s, *s.Direct, newStops(s.Direct.Braked, s.Now)}, nil
}

func (d direct) call(ctx context.Context, x *exchange, op *contract.Operation, args map[string]any) restAnswer {
	if d.stops.stopped(op.Function) {
		return d.refuse(problem.Braked)
	}
	began := d.Now()
	decision, err := d.Gate.Admit(ctx, x.key, op)
	if err != nil {
		d.Log.Error("admit", zap.String("operation", op.ID), zap.Error(err))
		return d.refuse(problem.StoreUnavailable)
	}
	said := decision.Context
	if decision.Refusal != nil {
		d.record("denied", x, said.Admission)
		return d.refused(decision.Refusal, said.Quota)
	}
	if said.AdmissionID != "" {
		d.record("admitted", x, said.Admission)
		if !x.admitted(op, said.Admission) {
			d.giveBack(x, said.Admission, false)
			return d.refuse(problem.Timeout)
		}
	}
	payload, err := d.event(ctx, x, op, args, said, d.Now().Sub(began))
	if err != nil {
		d.Log.Error("make the event", zap.String("operation", op.ID), zap.Error(err))
		x.setSent(nil)
		return d.refuse(problem.Internal)
	}
	return d.invoke(ctx, x, op, payload)
}

func (d direct) event(ctx context.Context, x *exchange, op *contract.Operation, args map[string]any, said gateway.AuthorizerContext, took time.Duration) ([]byte, error) {
	p, err := op.Parts(args)
	if err != nil {
		return nil, err
	}
	// The key stays here: no function needs it.
	headers := http.Header{"Accept": {"application/json"}, "User-Agent": {d.userAgent()}}
	if op.HasBody {
		headers.Set("Content-Type", "application/json")
	}
	trace.Inject(ctx, headers)
	values := said.Values()
	values["principalId"] = said.KeyID
	return gateway.Nested(x.context(), op.ID, gateway.Call{
		Method: op.Method, Resource: op.Resource, Path: p.Path, PathParameters: p.PathParameters,
		Headers: headers, Query: p.Query, Body: string(p.Body), At: d.Now(),
	}, gateway.Authorized(values, took))
}

// invoke calls the function, and explains what went wrong as the REST API would.
func (d direct) invoke(ctx context.Context, x *exchange, op *contract.Operation, payload []byte) restAnswer {
	raw, err := d.Functions[op.Function].Invoke(ctx, payload)
	misconfigured, failed := new(backend.NotInvokedError), new(backend.FailedError)
	switch {
	case errors.Is(err, backend.ErrBusy):
		return d.unstarted(x, d.stops.why(ctx, op.Function, d.Log))
	case errors.As(err, &misconfigured):
		d.Log.Error("invoke", zap.String("operation", op.ID), zap.Error(err))
		return d.unstarted(x, problem.Unavailable)
	case errors.As(err, &failed):
		d.Log.Error("invoke", zap.String("operation", op.ID), zap.String("error_type", failed.Type))
		x.setSent(nil)
		return d.refuse(problem.Internal)
	case err != nil:
		return restAnswer{problem: d.unanswered(ctx, x, op, err)}
	}
	answer, err := gateway.ParseProxyAnswer(raw)
	var body []byte
	if err == nil {
		body, err = answer.Bytes()
	}
	if err != nil {
		d.Log.Error("malformed Lambda proxy response", zap.String("operation", op.ID), zap.Error(err))
		x.setSent(nil)
		return d.refuse(problem.Internal)
	}
	return d.read(x, op, answer.Status, answer.Header, body)
}

// unstarted refuses a call that no function ran for. The gateway's answer has no Retry-After, because
// it serves for the brake too; the body has the wait.
func (d direct) unstarted(x *exchange, code problem.Code) restAnswer {
	x.setUnstarted()
	p := problem.New(code, "")
	return restAnswer{status: p.Status, problem: p}
}

// refuse is refused for a code that says all.
func (d direct) refuse(code problem.Code) restAnswer {
	return d.refused(problem.New(code, ""), gateway.Quota{})
}

// refused is a refusal as the REST API gives it: the wait in whole seconds, in the header too.
func (d direct) refused(p *problem.Problem, q gateway.Quota) restAnswer {
	a := restAnswer{status: p.Status, header: http.Header{}, problem: p}
	if seconds, ok := p.RetryAfterSeconds(); ok {
		p.RetryAfter = time.Duration(seconds) * time.Second
		a.header.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if q.RateLimit != "" {
		a.header.Set("RateLimit", q.RateLimit)
		a.header.Set("RateLimit-Policy", q.RateLimitPolicy)
	}
	return a
}

// refunding is the part of a caller's time in which a call that failed is given back.
const refunding = time.Second

// reserve leaves time to give a call back when its own time is up, and to write the answer.
func (direct) reserve() time.Duration { return writing + refunding }

// end gives back what the caller is told has failed.
func (d direct) end(x *exchange) {
	if a, unstarted, due := x.owed(); due {
		d.giveBack(x, a, unstarted)
	}
}

// giveBack writes the refund now. What can't be written is settle's: the record of it is what an
// access log would say of the call.
func (d direct) giveBack(x *exchange, a gateway.Admission, unstarted bool) {
	failed := gateway.AccessRecord{Admission: a}.Failed()
	if unstarted {
		failed.ResponseType = gateway.NotStartedType
	}
	until := time.Now().Add(refunding)
	if end, ok := x.context().Deadline(); ok {
		until = end.Add(-writing / 2)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(x.context()), until)
	defer cancel()
	refund, due, err := failed.Refund(d.API.CodeOf)
	var outcomes []usage.Outcome
	if err == nil && due {
		outcomes, err = d.Refunds.Refund(ctx, refund)
	}
	if err != nil {
		d.Log.Error("give back", zap.Error(err))
		d.record("owed", x, a, zap.String("status", failed.Status), zap.String("response_type", failed.ResponseType))
		return
	}
	admission.LogRefund(d.Log, d.API, refund, outcomes)
}

// endpoint: what a call needs is that functions can be invoked, and that they are not stopped.
func (d direct) endpoint(ctx context.Context, answers map[string]restAnswer) check {
	if d.stops.braked(ctx, d.Log) {
		return newCheck("endpoint", d.refuse(problem.Braked))
	}
	best := restAnswer{}
	for _, a := range answers {
		if a.status > best.status && a.status < http.StatusInternalServerError || best.status == 0 {
			best = a
		}
	}
	if best.status != 0 && best.status < http.StatusInternalServerError {
		k := newCheck("endpoint", restAnswer{status: best.status, body: []byte(`{}`)})
		k.Detail = "Functions answer."
		return k
	}
	k := newCheck("endpoint", best)
	k.advice = "No function answers. Wait a minute and diagnose once more; if it stays so, tell your user to ask the owner of this server."
	return k
}
