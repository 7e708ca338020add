package mcpserver

import (
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// challenge goes with every 401 of a door that takes keys (RFC 9110, section 11.6.1). It names no
// authorization server, since there is none, and no error: with "invalid_token" OAuth clients start
// to refresh. API Gateway renames the header on the way out, so the body must do on its own.
const challenge = `Bearer realm="sekisho"`

// authenticate finds whose request it is.
func (s *server) authenticate(x *exchange) *refusal {
	if door := oauthDoor(x.request); door != "" {
		return s.authenticateToken(x, door)
	}
	text, err := apikey.FromHeaders(x.request.Header.Values)
	if err != nil {
		return unauthorized(x.id, problem.New(problem.Unauthorized, notTaken(err)))
	}
	x.key, err = s.Authenticator.Authenticate(x.context(), text, gateway.Source(x.request.RemoteAddr))
	switch {
	case err == nil:
		x.secret = text
		return nil
	case errors.Is(err, account.ErrNotFound):
		return unauthorized(x.id, problem.New(problem.KeyNotFound, ""))
	case errors.Is(err, account.ErrInactive):
		return unauthorized(x.id, problem.New(problem.KeyInactive, ""))
	}
	return s.unchecked(x.id, err)
}

// unchecked refuses a call when nobody could say whose it is.
func (s *server) unchecked(id json.RawMessage, err error) *refusal {
	if busy := new(account.ThrottledError); errors.As(err, &busy) {
		return refuse(id, problem.Denial(problem.Throttled, nil, busy.Wait))
	}
	s.Log.Error("the key could not be checked", zap.Error(err))
	return refuse(id, problem.New(problem.StoreUnavailable, ""))
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
