package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// challenge goes with every 401 (RFC 9110, section 11.6.1). It names no authorization
// server, since there is none, and no error: with "invalid_token" OAuth clients start to
// refresh. API Gateway renames the header on the way out, so the body must do on its own.
const challenge = `Bearer realm="sekisho"`

// authenticate finds the key of a request, and its text for the calls to the REST API. source is
// the caller's address.
func (s *server) authenticate(ctx context.Context, h http.Header, source string, id json.RawMessage) (string, account.Key, *refusal) {
	secret, err := apikey.FromHeaders(h.Values)
	if err != nil {
		return "", account.Key{}, unauthorized(id, problem.New(problem.Unauthorized, notTaken(err)))
	}
	key, err := s.Authenticator.Authenticate(ctx, secret, gateway.Source(source))
	switch {
	case err == nil:
		return secret, key, nil
	case errors.Is(err, account.ErrNotFound):
		return "", key, unauthorized(id, problem.New(problem.KeyNotFound, ""))
	case errors.Is(err, account.ErrInactive):
		return "", key, unauthorized(id, problem.New(problem.KeyInactive, ""))
	}
	if busy := new(account.ThrottledError); errors.As(err, &busy) {
		return "", key, refuse(id, problem.Denial(problem.Throttled, nil, busy.Wait))
	}
	s.Log.Error("the key could not be checked", zap.Error(err))
	return "", key, refuse(id, problem.New(problem.StoreUnavailable, ""))
}

// notTaken says to a caller that did send something why it was not taken.
func notTaken(err error) string {
	if errors.Is(err, apikey.ErrMissing) {
		return ""
	}
	return "No single key was found in the headers sent: Authorization needs the scheme Bearer, and several headers must hold the same key."
}

func unauthorized(id json.RawMessage, p *problem.Problem) *refusal {
	r := refuse(id, p)
	if p.Code != problem.Unauthorized {
		// A client that shows only the message must find in it where a key goes and where it
		// comes from.
		r.message += " " + problem.HowToSendKey
	}
	r.header = http.Header{"Www-Authenticate": {challenge}}
	return r
}
