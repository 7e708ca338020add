// Package authorizer is the gate ahead of all business code: it finds the key, takes the
// call's units, and answers allow, 401 or 429.
//
// API Gateway gives a REQUEST authorizer three ways out, and each has its meaning here:
// the error "Unauthorized" becomes 401, a Deny policy 429, any other error 503.
package authorizer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// ErrUnauthorized is the one error that API Gateway answers with 401: its text must be
// exactly this (https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html).
var ErrUnauthorized = errors.New("Unauthorized") //nolint:staticcheck // the text is API Gateway's

// errUndecided is what API Gateway is told when no decision could be made. It answers 503
// whatever the text; what happened is in the log.
var errUndecided = errors.New("the call could not be checked")

// Keys finds the key that a text stands for.
type Keys interface {
	Authenticate(ctx context.Context, text string) (account.Key, error)
}

// Admitter takes the units of a call.
type Admitter interface {
	Admit(ctx context.Context, meter, operation string, units int64, limit usage.Limit) (usage.Grant, error)
}

// Handler is the Lambda authorizer.
type Handler struct {
	API   *contract.API
	Keys  Keys
	Gate  Admitter
	Plans account.Plans
	// UpgradeURL is told to callers over their limit; it may be empty. It must hold
	// nothing that needs escaping in JSON.
	UpgradeURL string
	Log        *zap.Logger
	Now        func() time.Time
}

type (
	request  = events.APIGatewayCustomAuthorizerRequestTypeRequest
	response = events.APIGatewayCustomAuthorizerResponse
)

// Handle decides about one call.
func (h *Handler) Handle(ctx context.Context, event request) (response, error) {
	start := h.Now()
	answer, verdict, err := h.decide(ctx, event)
	fields := []zap.Field{
		zap.String("request_id", event.RequestContext.RequestID),
		zap.String("verdict", verdict),
		zap.String("operation", text(answer.Context["operation"])),
		zap.String("key_id", answer.PrincipalID),
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
	return answer, nil
}

// The verdicts of the log line.
const (
	allowed       = "allowed"
	exempt        = "exempt"
	braked        = "braked"
	noKey         = "no_key"
	notFound      = "not_found"
	inactive      = "inactive"
	limitExceeded = "limit_exceeded"
	undecided     = "undecided"
)

func (h *Handler) decide(ctx context.Context, event request) (response, string, error) {
	op := h.API.Route(event.HTTPMethod, event.Resource)
	if op == nil {
		return response{}, undecided, fmt.Errorf("no operation of the contract is at %s %s", event.HTTPMethod, event.Resource)
	}
	key, verdict, err := h.authenticate(ctx, event)
	if err != nil {
		return response{PrincipalID: key.ID}, verdict, err
	}
	limit, err := h.Plans.Limit(key.Plan)
	if err != nil {
		return response{PrincipalID: key.ID}, undecided, fmt.Errorf("key %s: %w", key.ID, err)
	}
	values := map[string]any{
		rest.CtxKeyID: key.ID, rest.CtxMeter: key.Meter, rest.CtxUserID: key.UserID, rest.CtxPlan: key.Plan,
		"operation": op.ID,
	}
	if op.Units == 0 {
		return policy("Allow", event.MethodArn, key.ID, values), exempt, nil
	}
	// While the brake is on, business functions do not start: taking units would only use
	// up the key's free failures.
	if event.StageVariables["unavailable_error"] == string(problem.Braked) {
		return policy("Allow", event.MethodArn, key.ID, values), braked, nil
	}
	grant, err := h.Gate.Admit(ctx, key.Meter, op.ID, op.Units, limit)
	if err != nil {
		return response{PrincipalID: key.ID}, undecided, err
	}
	addQuota(values, grant)
	if !grant.Admitted {
		h.addRefusal(values, grant)
		return policy("Deny", event.MethodArn, key.ID, values), limitExceeded, nil
	}
	values["admission_id"] = grant.AdmissionID
	values["units"] = strconv.FormatInt(grant.Units, 10)
	values["refund_cap"] = number(limit.FreeFailureCap())
	return policy("Allow", event.MethodArn, key.ID, values), allowed, nil
}

func (h *Handler) authenticate(ctx context.Context, event request) (account.Key, string, error) {
	sent, ok := apikey.FromHeaders(headers(event))
	if !ok {
		return account.Key{}, noKey, ErrUnauthorized
	}
	key, err := h.Keys.Authenticate(ctx, sent)
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

// headers looks names up whatever their case: regional endpoints deliver what the client
// sent (aws-sdk-js#2719).
func headers(event request) func(string) []string {
	return func(name string) (values []string) {
		for n, v := range event.MultiValueHeaders {
			if strings.EqualFold(n, name) {
				values = append(values, v...)
			}
		}
		if values != nil {
			return values
		}
		for n, v := range event.Headers {
			if strings.EqualFold(n, name) {
				values = append(values, v)
			}
		}
		return values
	}
}

// addQuota puts the figures of the decision into the context, all as text: that is how
// API Gateway hands them on.
func addQuota(values map[string]any, g usage.Grant) {
	values["period"] = g.Period.String()
	values[rest.CtxLimit] = number(g.Limit)
	values[rest.CtxUsed] = strconv.FormatInt(g.Used, 10)
	values[rest.CtxReset] = strconv.FormatInt(int64(g.RetryAfter()/time.Second), 10)
	values[rest.CtxWindow] = strconv.FormatInt(int64(g.Period.Reset().Sub(g.Period.Start())/time.Second), 10)
}

// addRefusal adds what the 429 substitutes. The header and the body give the same wait.
func (h *Handler) addRefusal(values map[string]any, g usage.Grant) {
	wait := g.RetryAfter()
	values["denial"] = string(problem.LimitExceeded)
	values["retry_after"] = strconv.FormatInt(int64(wait/time.Second), 10)
	values["retry_after_ms"] = strconv.FormatInt(wait.Milliseconds(), 10)
	values["reset_at"] = usage.FormatReset(g.Period.Reset())
	values["upgrade_url"] = h.UpgradeURL
}

// number writes a limit; -1 stands for none.
func number(l usage.Limit) string { return strconv.FormatInt(int64(l), 10) }

func policy(effect, methodARN, principal string, values map[string]any) response {
	return response{
		PrincipalID: principal,
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{{
				Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{methodARN},
			}},
		},
		Context: values,
	}
}

func text(v any) string { s, _ := v.(string); return s }

// FromEnv builds the authorizer of a deployment.
func FromEnv(open store.Open) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load()
		if err != nil {
			return nil, err
		}
		s, err := open(rt.Env, boot.AccountsTable, boot.UsageTable)
		if err != nil {
			return nil, err
		}
		plans, err := boot.Parse(rt.Env, boot.Plans, account.ParsePlans)
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
			Plans: plans, UpgradeURL: upgrade, Log: rt.Log, Now: rt.Now,
		}
		return boot.Handle(h.Handle), nil
	}
}
