// Package authorizer is the gate ahead of all business code: it finds the key, takes the
// call's units, and answers allow, 401 or 429.
//
// API Gateway gives a REQUEST authorizer three ways out, and each has its meaning here:
// the error "Unauthorized" becomes 401, a Deny policy 429, any other error 503.
package authorizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// ErrUnauthorized is the one error that API Gateway answers with 401: its text must be
// exactly this (https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html).
var ErrUnauthorized = errors.New("Unauthorized") //nolint:staticcheck // the text is API Gateway's

// errUndecided goes to API Gateway when no decision could be made. It answers 503 whatever
// the text; what happened is in the log.
var errUndecided = errors.New("the call could not be checked")

// Keys finds the key with a given text; see account.Authenticator.
type Keys interface {
	Authenticate(ctx context.Context, text, source string) (account.Key, error)
}

// Admitter takes the units of a call.
type Admitter interface {
	Admit(ctx context.Context, meter, operation string, units int64, limits usage.Limits) (usage.Grant, error)
}

// Handler is the Lambda authorizer.
type Handler struct {
	API   *contract.API
	Keys  Keys
	Gate  Admitter
	Plans account.Plans
	// Free bounds how often a key may call what takes no units; nil: not at all.
	Free *ratelimit.Budget
	// UpgradeURL is for callers over their limit; it may be empty. It must hold nothing that
	// needs escaping in JSON.
	UpgradeURL string
	// TellAt are the percentages of the monthly limit whose crossing is noted in the access log.
	TellAt []int
	Log    *zap.Logger
	Now    func() time.Time
}

type (
	request  = events.APIGatewayCustomAuthorizerRequestTypeRequest
	response = events.APIGatewayCustomAuthorizerResponse
)

// Handle decides about one call.
func (h *Handler) Handle(ctx context.Context, event request) (response, error) {
	start := h.Now()
	d, err := h.decide(ctx, event)
	fields := []zap.Field{
		zap.String("request_id", requestID(event)),
		zap.String("verdict", d.verdict),
		zap.String("operation", d.context.Operation),
		zap.String("key_id", d.context.KeyID),
		zap.Int64("ms", h.Now().Sub(start).Milliseconds()),
	}
	switch {
	case err != nil && !errors.Is(err, ErrUnauthorized):
		h.Log.Error("authorize", append(fields, zap.Error(err))...)
		return response{}, errUndecided
	case err != nil:
		h.Log.Info("authorize", fields...)
		return response{}, ErrUnauthorized
	}
	h.Log.Info("authorize", fields...)
	return d.policy(event.MethodArn), nil
}

// requestID is for the log. A client can choose the ID, so it is taken only if it has the form
// of those that API Gateway makes, which no key has.
func requestID(event request) string {
	if id := event.RequestContext.RequestID; uuid.MatchString(id) {
		return id
	}
	return ""
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// decision about one call.
type decision struct {
	// verdict is the word for the log.
	verdict string
	context gateway.AuthorizerContext
}

// The verdicts of the log line.
const (
	allowed   = "allowed"
	exempt    = "exempt"
	noRoute   = "no_route"
	noKey     = "no_key"
	notFound  = "not_found"
	inactive  = "inactive"
	undecided = "undecided"
)

func (h *Handler) decide(ctx context.Context, event request) (decision, error) {
	d := decision{verdict: undecided}
	op, _ := h.API.Resolve(event.HTTPMethod, event.Resource, event.PathParameters)
	if op == nil && h.API.Shares(event.Resource) {
		// No answer of an authorizer can be a 404. The function gives it, without an upstream call:
		// nobody is charged, and nobody needs a key to hear that there is nothing.
		d.verdict = noRoute
		return d, nil
	}
	if op == nil {
		return d, fmt.Errorf("the contract has no operation for this method at %s", event.Resource)
	}
	key, verdict, err := h.authenticate(ctx, event)
	d.context.Admission = gateway.Admission{
		Operation: op.ID, KeyID: key.ID, Meter: key.Meter, UserID: key.UserID, Plan: key.Plan,
	}
	if busy := new(account.ThrottledError); errors.As(err, &busy) {
		d.deny(problem.Denial(problem.Throttled, nil, busy.Wait))
		return d, nil
	}
	if err != nil {
		d.verdict = verdict
		return d, err
	}
	limits, err := h.Plans.Limits(key.Plan)
	if err != nil {
		return d, fmt.Errorf("key %s: %w", key.ID, err)
	}
	if op.Units == 0 {
		d.verdict = exempt
		if wait, ok := h.Free.Allow(key.Meter, h.Now()); !ok {
			d.deny(problem.Denial(problem.Throttled, nil, wait))
		}
		return d, nil
	}
	grant, err := h.Gate.Admit(ctx, key.Meter, op.Code, op.Units, limits)
	if err != nil {
		return d, err
	}
	h.add(&d, grant)
	return d, nil
}

// add puts what the gate decided into the decision.
func (h *Handler) add(d *decision, g usage.Grant) {
	d.context.Period = g.Period().String()
	d.context.Quota = gateway.RenderQuotas(g.Quotas())
	if !g.Admitted {
		d.deny(h.refusal(g))
		return
	}
	d.verdict = allowed
	d.context.AdmissionID, d.context.Units = g.AdmissionID, gateway.Number(g.Units)
	d.context.RefundCap = gateway.Number(int64(g.Limits.Monthly.FreeFailureCap()))
	if percent := g.Crossed(h.TellAt); percent > 0 {
		d.context.Crossed = gateway.Crossing{Percent: percent, Used: g.Used, Limit: int64(g.Limits.Monthly)}.String()
	}
}

// deny refuses the call. Only what the gate denied has a period: settle counts nothing else.
func (d *decision) deny(p *problem.Problem) {
	d.verdict, d.context.Denial = string(p.Code), string(p.Code)
	d.context.Refusal = gateway.RefusalOf(p)
}

// refusal says which limit denied the call, and when to come back.
func (h *Handler) refusal(g usage.Grant) *problem.Problem {
	quota, ok := g.Quota()
	if !ok { // the store is busy with this key
		return problem.Denial(problem.Throttled, nil, g.Wait)
	}
	code := problem.LimitExceeded
	if g.Refused == usage.PerSecond {
		code = problem.RateLimited
	}
	return problem.Denial(code, &problem.Quota{
		Limit: quota.Limit, Used: quota.Used(), Period: string(g.Refused), ResetAt: usage.FormatReset(g.Resets()), UpgradeURL: h.UpgradeURL,
	}, g.Wait)
}

func (h *Handler) authenticate(ctx context.Context, event request) (account.Key, string, error) {
	sent, err := apikey.FromHeaders(gateway.Headers(event.MultiValueHeaders, event.Headers).Values)
	if err != nil {
		return account.Key{}, noKey, ErrUnauthorized
	}
	key, err := h.Keys.Authenticate(ctx, sent, gateway.Source(event.RequestContext.Identity.SourceIP))
	switch {
	case errors.Is(err, account.ErrInactive):
		return key, inactive, ErrUnauthorized
	case errors.Is(err, account.ErrNotFound):
		return key, notFound, ErrUnauthorized
	case err != nil:
		return key, undecided, err
	}
	return key, "", nil
}

// policy is the decision as API Gateway takes it.
func (d decision) policy(methodARN string) response {
	effect := "Allow"
	if d.context.Denial != "" {
		effect = "Deny"
	}
	return response{
		PrincipalID: cmp.Or(d.context.KeyID, "unknown"), // API Gateway takes no empty one
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{{
				Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{methodARN},
			}},
		},
		Context: d.context.Values(),
	}
}

// FromEnv builds the authorizer of a deployment.
func FromEnv(open store.Open) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load(rt.Env)
		if err != nil {
			return nil, err
		}
		s, err := open(rt.Env, boot.AccountsTable, boot.UsageTable)
		if err != nil {
			return nil, err
		}
		plans, err := boot.Parse(rt.Env, boot.Plans, account.PlanParser(api.Limits.Plan))
		if err != nil {
			return nil, err
		}
		tellAt, err := rt.Env.Percentages(boot.UsagePercent)
		if err != nil {
			return nil, err
		}
		upgrade, err := rt.Env.URL(boot.UpgradeURL)
		if err != nil {
			return nil, err
		}
		cache, err := rt.Env.Seconds(boot.KeyCacheSeconds, account.DefaultKeyCache)
		if err != nil {
			return nil, err
		}
		memory, err := rt.Env.Seconds(boot.DenialMemorySeconds, usage.DefaultDenialMemory)
		if err != nil {
			return nil, err
		}
		h := &Handler{
			API:  api,
			Keys: account.NewAuthenticator(s.Accounts(), rt.Now, cache), Gate: usage.NewGate(s.Usage(), rt.Now, memory),
			Plans: plans, Free: ratelimit.NewBudget(usage.FreeRate), TellAt: tellAt, UpgradeURL: upgrade, Log: rt.Log, Now: rt.Now,
		}
		return boot.Handle(h.Handle), nil
	}
}
