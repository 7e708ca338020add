package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/problem"
)

// remappedAuthorization is where API Gateway puts an Authorization header that it keeps
// from an integration.
const remappedAuthorization = "X-Amzn-Remapped-Authorization"

// challenge goes with every 401 (RFC 9110, section 11.6.1). It names no authorization
// server, since there is none, and no error: "invalid_token" makes OAuth clients refresh.
// API Gateway renames the header on the way out, so the body must suffice.
const challenge = `Bearer realm="sekisho"`

// authenticate finds the key of a request, and its text for the calls to the REST API. No
// key is read here that the authorizer would not read too.
func (s *server) authenticate(ctx context.Context, h http.Header, id json.RawMessage) (string, account.Key, *refusal) {
	secret, ok := apikey.FromHeaders(func(name string) []string {
		values := h.Values(name)
		if name == "authorization" {
			values = append(values[:len(values):len(values)], h.Values(remappedAuthorization)...)
		}
		return values
	})
	if !ok {
		return "", account.Key{}, unauthorized(id, problem.New(problem.Unauthorized, missing(h)))
	}
	key, err := s.Authenticator.Authenticate(ctx, secret)
	switch {
	case err == nil:
		return secret, key, nil
	case errors.Is(err, account.ErrNotFound):
		return "", key, unauthorized(id, problem.New(problem.KeyNotFound, ""))
	case errors.Is(err, account.ErrInactive):
		return "", key, unauthorized(id, problem.New(problem.KeyInactive, ""))
	}
	s.Log.Error("the key could not be checked", zap.Error(err))
	return "", key, refuse(id, problem.New(problem.StoreUnavailable, ""))
}

// missing says why a key that was sent was not taken.
func missing(h http.Header) string {
	if h.Get("x-api-key") == "" && h.Get("authorization") == "" && h.Get(remappedAuthorization) == "" {
		return ""
	}
	return "No single key was found in the headers sent: Authorization needs the scheme Bearer, and several headers must hold the same key."
}

// howToSend follows every refusal of a key: a client that shows the message only must find
// in it where a key goes and where it comes from.
const howToSend = " A key goes into the header x-api-key, or Authorization: Bearer KEY; the owner of this server creates keys with: sekisho keys create."

func unauthorized(id json.RawMessage, p *problem.Problem) *refusal {
	r := refuse(id, p)
	if p.Code != problem.Unauthorized {
		r.message += howToSend
	}
	r.header = http.Header{"Www-Authenticate": {challenge}}
	return r
}
