// Package authorizer stands before the REST API: it finds the key, has the gate decide about the
// call (package admission), and answers allow, 401 or 429.
//
// API Gateway gives a REQUEST authorizer three ways out, and each has its meaning here:
// the error "Unauthorized" becomes 401, a Deny policy 429, any other error 503.
package authorizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/store"
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

// Handler is the Lambda authorizer.
type Handler struct {
	API  *contract.API
	Keys Keys
	Gate *admission.Gate
	Log  *zap.Logger
	Now  func() time.Time
}

type (
	request  = events.APIGatewayCustomAuthorizerRequestTypeRequest
	response = events.APIGatewayCustomAuthorizerResponse
)

// Handle decides about one call. What the access log says of it is logged for debugging only.
func (h *Handler) Handle(ctx context.Context, event request) (response, error) {
	start := h.Now()
	d, verdict, err := h.decide(ctx, event)
	log, level, answer := h.Log, zap.InfoLevel, error(ErrUnauthorized)
	switch {
	case err == nil:
		level, answer = zap.DebugLevel, nil
	case !errors.Is(err, ErrUnauthorized):
		log, level, answer = log.With(zap.Error(err)), zap.ErrorLevel, errUndecided
	}
	log.Log(level, "authorize",
		zap.String("request_id", requestID(event)),
		zap.String("verdict", verdict),
		zap.String("operation", d.Context.Operation),
		zap.String("key_id", d.Context.KeyID),
		zap.Int64("ms", h.Now().Sub(start).Milliseconds()),
	)
	if err != nil {
		return response{}, answer
	}
	return policy(d, event.MethodArn), nil
}

// requestID is for the log. A client can choose the ID, so it is taken only if it has the form
// of those that API Gateway makes, which no key has.
func requestID(event request) string {
	if id := event.RequestContext.RequestID; isUUID(id) {
		return id
	}
	return ""
}

func isUUID(text string) bool {
	const form = "00000000-0000-0000-0000-000000000000"
	for i := range text {
		if len(text) != len(form) || (form[i] == '-') != (text[i] == '-') || !strings.Contains("-0123456789abcdef", text[i:i+1]) {
			return false
		}
	}
	return text != ""
}

// The verdicts of the log line, beside the codes of denials.
const (
	allowed   = "allowed"
	noRoute   = "no_route"
	noKey     = "no_key"
	notFound  = "not_found"
	inactive  = "inactive"
	undecided = "undecided"
)

func (h *Handler) decide(ctx context.Context, event request) (d admission.Decision, verdict string, err error) {
	op, _ := h.API.Resolve(event.HTTPMethod, event.Resource, event.PathParameters)
	if op == nil && h.API.Shares(event.Resource) {
		// No answer of an authorizer can be a 404. The function gives it, without an upstream call:
		// nobody is charged, and nobody needs a key to hear that there is nothing.
		return d, noRoute, nil
	}
	if op == nil {
		return d, undecided, fmt.Errorf("the contract has no operation for this method at %s", event.Resource)
	}
	key, verdict, err := h.authenticate(ctx, event)
	if denied, ok := admission.Busy(op, err); ok {
		return denied, denied.Context.Denial, nil
	}
	if err == nil {
		d, err = h.Gate.Admit(ctx, key, op)
	}
	d.Context.Operation, d.Context.KeyID = op.ID, key.ID
	return d, cmp.Or(verdict, d.Context.Denial, allowed), err
}

func (h *Handler) authenticate(ctx context.Context, event request) (account.Key, string, error) {
	sent, err := apikey.FromHeaders(func(header string) []string { return gateway.Values(event.MultiValueHeaders, event.Headers, header) })
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

// policy is a decision as API Gateway takes it.
func policy(d admission.Decision, methodARN string) response {
	effect := "Allow"
	if d.Refusal != nil {
		effect = "Deny"
	}
	return response{
		PrincipalID: cmp.Or(d.Context.KeyID, "unknown"), // API Gateway takes no empty one
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{{
				Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{methodARN},
			}},
		},
		Context: d.Context.Values(),
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
		gate, err := admission.FromEnv(rt, s)
		if err != nil {
			return nil, err
		}
		keys, err := admission.KeysFromEnv(rt, s)
		if err != nil {
			return nil, err
		}
		h := &Handler{API: api, Keys: keys, Gate: gate, Log: rt.Log, Now: rt.Now}
		return boot.Handle(h.Handle), nil
	}
}
