// Package relay serves the operations of a backend: a service that somebody else wrote. For a
// call it asks the backend as the contract describes, within the backend's limits and the
// function's own deadline, and passes on what comes back.
package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
)

// Handler serves the operations of one backend.
type Handler struct {
	// Name is the backend's in the contract.
	Name string
	API  *contract.API
	// Backend is asked; nil if none is configured, and then every call is answered so.
	Backend asker
	// Gate is passed before every request to the backend; nil is open.
	Gate func(context.Context) error
	// Signing holds the keys with which the caller's identity is signed; nil sends none.
	Signing *Secret
	// PerDay limits the successes of an operation per UTC day.
	PerDay map[string]*ratelimit.Daily
	Log    *zap.Logger
	Now    func() time.Time
}

// An asker asks the backend for one call. A nil error is a 2xx. Other answers, and none, are an
// *outbound.Error, or a problem if nothing was sent.
type asker interface {
	ask(context.Context, rest.Call, request) (outbound.Response, error)
}

// request is what a backend is asked, and what of it the answer depends on.
type request struct {
	message
	operation *contract.Operation
	// sign returns the headers that say who calls, for a target as it is sent; nil if nobody
	// is to know.
	sign func(target string) map[string]string
	gate func(context.Context) error
}

// Operations lists what the function serves.
func (h *Handler) Operations() map[string]rest.Operation {
	operations := map[string]rest.Operation{}
	for _, op := range h.API.ByFunction(h.Name) {
		operations[op.ID] = rest.Raw(func(ctx context.Context, call rest.Call, args map[string]any) (rest.Answer, error) {
			return h.serve(ctx, call, op, args)
		})
	}
	return operations
}

// serve takes a place in the day before it waits for one in the bucket: callers that come when
// the day is used up must not slow the backend's other callers down.
func (h *Handler) serve(ctx context.Context, call rest.Call, op *contract.Operation, args map[string]any) (rest.Answer, error) {
	if h.Backend == nil {
		return rest.Answer{}, problem.New(problem.UpstreamNotConfigured, "")
	}
	described, err := op.Call()
	if err != nil {
		return rest.Answer{}, err
	}
	m, err := compose(described, args)
	if err != nil {
		return rest.Answer{}, err
	}
	r := request{message: m, operation: op, gate: h.Gate}
	if r.sign, err = h.signer(ctx, call, m); err != nil {
		return rest.Answer{}, err
	}
	place, err := h.reserve(ctx, op)
	if err != nil {
		return rest.Answer{}, asProblem(err)
	}
	came, err := h.Backend.ask(ctx, call, r)
	h.settle(ctx, place, err)
	return h.answer(op, came, err)
}

// signer returns what makes the headers of the caller's identity.
func (h *Handler) signer(ctx context.Context, call rest.Call, m message) (func(string) map[string]string, error) {
	if h.Signing == nil {
		return nil, nil
	}
	text, err := h.Signing.Get(ctx)
	if err != nil {
		return nil, err
	}
	key, err := backend.SigningKey(text)
	if err != nil {
		return nil, &failure{problem.New(problem.UpstreamTokenUnavailable, ""), err}
	}
	id := identityOf(call.Caller)
	return func(target string) map[string]string { return id.Headers(key, m.method, target, m.body, h.Now()) }, nil
}

func identityOf(c gateway.AuthorizerContext) backend.Identity {
	return backend.Identity{User: c.UserID, Key: c.KeyID, Plan: c.Plan, Admission: c.AdmissionID}
}

// answer passes on what the backend answered, or says why there is nothing to pass on.
func (h *Handler) answer(op *contract.Operation, came outbound.Response, err error) (rest.Answer, error) {
	if err == nil {
		a, err := passOn(op, came)
		if err == nil && !h.API.Limits.Fits(backend.Shown(op, a.Status, a.Header["Location"], a.Body)) {
			return rest.Answer{}, rest.TooLarge(op, fmt.Sprintf("The backend's answer has %d bytes, which is more than this server sends.", len(a.Body)))
		}
		return h.marked(a), err
	}
	if a, ok := h.refusal(err); ok {
		return h.marked(a), nil
	}
	return rest.Answer{}, asProblem(err)
}

// refusal passes on a 4xx of the backend's own. One that refuses this server's credentials
// never has an answer kept, see keepsRefusal.
func (h *Handler) refusal(err error) (rest.Answer, bool) {
	var refused *outbound.StatusError
	if !errors.As(err, &refused) || refused.Answer == nil {
		return rest.Answer{}, false
	}
	text, err := refused.Answer.Text()
	if err != nil || !h.API.Limits.Fits([]byte(text)) {
		return rest.Answer{}, false
	}
	return rest.Answer{Status: refused.Status, Header: passed(*refused.Answer, text), Body: []byte(text)}, true
}

// marked tells the backend's answers from the relay's.
func (h *Handler) marked(a rest.Answer) rest.Answer {
	if a.Header != nil {
		a.Header[backend.AnsweredBy] = h.Name
	}
	return a
}

// blamesUs reports whether a status refuses this server, and not the call: passed on, a caller
// would blame its own API key.
func blamesUs(status int, withCredential bool) bool {
	switch status {
	case http.StatusProxyAuthRequired:
		return true
	case http.StatusUnauthorized, http.StatusForbidden:
		return withCredential
	}
	return false
}
