package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/issuer"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/store"
)

// OAuth is what a server needs for requests by the OAuth door. A request comes by it if its event
// has the stage variable gateway.OAuthAddress. There, nothing but an access token counts.
type OAuth struct {
	Tokens Tokens
	// Scope that a client should ask for; "" leaves it to the metadata.
	Scope string
}

// oauthFromEnv takes the tokens of an external issuer if the environment names one, else those of
// our own authorization server.
func oauthFromEnv(rt boot.Runtime, s store.Store, plans account.Plans, keys *account.Authenticator) (*OAuth, error) {
	external, err := issuer.FromEnv(rt, keys, account.Keyring{Store: s.Accounts(), Plans: plans, Now: rt.Now})
	if err != nil {
		return nil, err
	}
	if external != nil {
		return &OAuth{Tokens: issued{external}, Scope: external.Scope}, nil
	}
	own, err := admission.GrantsFromEnv(rt, s, keys)
	if err != nil {
		return nil, err
	}
	return &OAuth{Tokens: grants{own}}, nil
}

// Tokens finds who an access token is of. The error is one of account.Authenticator, of package
// grant or of package issuer.
type Tokens interface {
	Authenticate(ctx context.Context, token, source string) (SignedIn, error)
}

// SignedIn is how a caller has its key: it was signed in with, once, and is not sent.
type SignedIn struct {
	Key account.Key
	// Grant is the ID of the grant, "" if the token is an external issuer's.
	Grant string
	// Client is the ID of the app that signed in.
	Client string
	// Resource is the address that the token is for; "" if that was checked before.
	Resource string
}

// mostClient is how much of a client's ID is logged and shown: a URL as a rule, but a registration
// that nobody stores is in its ID, whole.
const mostClient = 120

// allows: the token is for the door with this address, or for a path below it (RFC 8707).
func (s SignedIn) allows(door string) bool {
	return s.Resource == "" || s.Resource == door || strings.HasPrefix(s.Resource, door+"/")
}

// fields are none by the other doors.
func (s SignedIn) fields() []zap.Field {
	if s.Key.ID == "" {
		return nil
	}
	return []zap.Field{zap.String("grant_id", s.Grant), zap.String("client_id", reply.Cut(s.Client, mostClient))}
}

// detail says it to an agent.
func (s SignedIn) detail() string {
	switch client := reply.Cut(s.Client, mostClient); {
	case s.Key.ID == "":
		return ""
	case s.Grant == "":
		return " Signed in at another service, with the client " + client + "."
	default:
		return " Signed in with the client " + client + ", grant " + s.Grant + "."
	}
}

// oauthDoor is the address of the OAuth door that a request came by; "" if it came by another.
func oauthDoor(r *http.Request) string {
	if event, ok := gateway.Event(r.Context()); ok {
		return event.StageVariables[gateway.OAuthAddress]
	}
	return ""
}

// authenticateToken finds who is signed in, at the OAuth door with this address.
func (s *server) authenticateToken(x *exchange, door string) *refusal {
	c := s.challenge(x.request, door)
	if s.OAuth == nil {
		s.Log.Error("there is an OAuth door, and nothing to check tokens with: mcp must dispatch calls itself")
		return refuse(x.id, problem.New(problem.Internal, ""))
	}
	token, err := accessToken(x.request.Header)
	if err != nil {
		return c.refuse(x, problem.New(problem.SignInRequired, notToken(x.request.Header, err)), false)
	}
	if _, err := apikey.Parse(token); err == nil {
		return c.refuse(x, problem.New(problem.SignInRequired, keyAtOAuthDoor), true)
	}
	x.signedIn, err = s.OAuth.Tokens.Authenticate(x.context(), token, gateway.Source(x.request.RemoteAddr))
	x.key = x.signedIn.Key
	if err == nil && !x.signedIn.allows(door) {
		return c.refuse(x, problem.New(problem.TokenRefused, "The access token is for another address."), true)
	}
	if err == nil {
		return nil
	}
	if p := signInProblem(err); p != nil {
		return c.refuse(x, p, true)
	}
	unreachable := new(issuer.UnavailableError)
	if errors.As(err, &unreachable) {
		s.Log.Error("the token could not be checked", zap.Error(err))
		return refuse(x.id, problem.Denial(problem.IssuerUnreachable, nil, unreachable.Wait))
	}
	return s.unchecked(x.id, err)
}

// accessToken is what a request has in Authorization. The other headers that keys are taken from
// don't count here.
func accessToken(h http.Header) (string, error) {
	return apikey.FromHeaders(func(name string) []string {
		if strings.EqualFold(name, "x-api-key") {
			return nil
		}
		return h.Values(name)
	})
}

const keyAtOAuthDoor = "An API key was sent."

// notToken says to a caller that did send something why it was not taken.
func notToken(h http.Header, err error) string {
	switch {
	case h.Get("x-api-key") != "":
		return keyAtOAuthDoor
	case errors.Is(err, apikey.ErrMissing):
		return ""
	}
	return "No access token was found in the headers sent: Authorization needs the scheme Bearer."
}

// signInProblem is what a caller hears of a token that does not let it in; nil if the error is not
// about the token.
func signInProblem(err error) *problem.Problem {
	invalid, unknown, scope := new(issuer.InvalidError), new(issuer.UnknownSubjectError), new(issuer.ScopeError)
	switch {
	case errors.As(err, &invalid):
		return problem.New(problem.TokenRefused, invalid.Reason)
	case errors.As(err, &unknown):
		p := problem.New(problem.UserUnknown, "")
		p.Hint += " The owner lets them in with: " + unknown.Command()
		return p
	case errors.As(err, &scope):
		return problem.Newf(problem.ScopeMissing, "The access token lacks the scope %s.", scope.Scope)
	case errors.Is(err, grant.ErrExpired):
		return problem.New(problem.TokenRefused, "The access token has expired.")
	case errors.Is(err, grant.ErrEnded):
		return problem.New(problem.TokenRefused, "This sign-in was ended, or has reached its end.")
	case errors.Is(err, account.ErrInactive):
		p := problem.New(problem.KeyInactive, "The API key behind this sign-in was revoked or replaced.")
		p.Hint = "Do not retry. Tell your user to ask the owner of this server for access, and then to sign in again."
		return p
	case errors.Is(err, grant.ErrNotFound), errors.Is(err, account.ErrNotFound):
		return problem.New(problem.TokenRefused, "The access token is unknown.")
	}
	return nil
}

// oauthChallenge is what the OAuth door asks for, by which clients find out where to sign in
// (RFC 9728, section 5.1).
type oauthChallenge struct{ metadata, scope string }

// challenge names the metadata of the address that was called: with a final slash it is another
// resource, and clients compare it with what their user typed.
func (s *server) challenge(r *http.Request, door string) oauthChallenge {
	c := oauthChallenge{metadata: door + gateway.ResourceMetadata + "/mcp"}
	if strings.HasSuffix(r.URL.Path, "/") {
		c.metadata += "/"
	}
	if s.OAuth != nil {
		c.scope = s.OAuth.Scope
	}
	return c
}

// refuse answers a request whose token does not let it in; sent says that there was one. A client
// without a token hears of no error (RFC 6750, section 3.1), one with a token starts to renew it.
func (c oauthChallenge) refuse(x *exchange, p *problem.Problem, sent bool) *refusal {
	r := refuse(x.id, p)
	header := "Bearer "
	switch {
	case p.Code == problem.ScopeMissing:
		header += `error="insufficient_scope", error_description="` + p.Title + `", `
	case sent:
		header += `error="invalid_token", error_description="` + p.Title + `", `
	}
	header += `resource_metadata="` + c.metadata + `"`
	if c.scope != "" {
		header += `, scope="` + c.scope + `"`
	}
	r.header = http.Header{"Www-Authenticate": {header}}
	return r
}

// grants are the tokens of our own authorization server.
type grants struct{ *grant.Authenticator }

func (t grants) Authenticate(ctx context.Context, token, source string) (SignedIn, error) {
	key, g, err := t.Authenticator.Authenticate(ctx, token, source)
	return SignedIn{Key: key, Grant: g.ID, Client: g.Client.ID, Resource: g.Resource}, err
}

// issued are the tokens of an external issuer.
type issued struct{ *issuer.Authenticator }

func (t issued) Authenticate(ctx context.Context, token, source string) (SignedIn, error) {
	key, client, err := t.Authenticator.Authenticate(ctx, token, source)
	return SignedIn{Key: key, Client: client}, err
}
