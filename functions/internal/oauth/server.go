package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
)

// scope is the only one. Others that a client asks for are left out of what it gets.
const scope = "mcp"

// Paths of the endpoints, below the door's address.
const (
	authorizePath = "/authorize"
	tokenPath     = "/token"
	registerPath  = "/register"
	revokePath    = "/revoke"
	serverPath    = "/.well-known/oauth-authorization-server"
	openIDPath    = "/.well-known/openid-configuration"
	mcpPath       = "/mcp"
)

// wrongKeys is how often wrong keys may be sent to one instance, by everybody together. Each address
// has its own, smaller budget: account.Unknown.
var wrongKeys = ratelimit.Limit{Burst: 60, PerSecond: 5}

// Server serves the OAuth door's addresses, all but MCP itself.
type Server struct {
	grants        grant.Store
	keys          account.Store
	signIn        *account.Authenticator
	clients       *clients
	external      *external // nil for our own sign-in
	lifetime      lifetime
	registrations *ratelimit.Budget
	wrongKeys     *ratelimit.Budget
	log           *zap.Logger
	now           func() time.Time
}

// call is what the log says of a request.
type call struct {
	address, source string
	client          client
	grantID, keyID  string
	// outcome is one word: what was done, or the code of the refusal.
	outcome string
}

// endpoint serves one address. What it returns is answered to a client or shown to a person.
type endpoint struct {
	methods []string
	// crossOrigin: pages of other sites may call it and read the answer. No cookie is ever involved.
	crossOrigin bool
	// own: it belongs to our own authorization server.
	own   bool
	serve func(s *Server, w http.ResponseWriter, r *http.Request, c *call) error
}

var endpoints = map[string]endpoint{
	gateway.ResourceMetadata:                 {[]string{http.MethodGet}, true, false, (*Server).resourceMetadata},
	gateway.ResourceMetadata + mcpPath:       {[]string{http.MethodGet}, true, false, (*Server).resourceMetadata},
	gateway.ResourceMetadata + mcpPath + "/": {[]string{http.MethodGet}, true, false, (*Server).resourceMetadata},
	serverPath:                               {[]string{http.MethodGet}, true, false, (*Server).serverMetadata},
	openIDPath:                               {[]string{http.MethodGet}, true, false, (*Server).serverMetadata},
	authorizePath:                            {[]string{http.MethodGet, http.MethodPost}, false, true, (*Server).authorize},
	tokenPath:                                {[]string{http.MethodPost}, true, true, (*Server).token},
	registerPath:                             {[]string{http.MethodPost}, true, true, (*Server).register},
	revokePath:                               {[]string{http.MethodPost}, true, true, (*Server).revoke},
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := s.now()
	event, ok := gateway.Event(r.Context())
	if !ok {
		panic("there is no event")
	}
	c := &call{address: event.StageVariables[gateway.OAuthAddress], source: gateway.Source(event.RequestContext.Identity.SourceIP), outcome: "ok"}
	err := s.serve(w, r, event, c)
	level := zap.InfoLevel
	if f := (*fault)(nil); errors.As(err, &f) {
		c.outcome = f.code
		if f.httpStatus() >= http.StatusInternalServerError {
			level = zap.ErrorLevel
		}
	}
	s.log.Log(level, "call",
		zap.String("request_id", event.RequestContext.ExtendedRequestID), zap.String("method", r.Method), zap.String("endpoint", known(r.URL.Path)),
		zap.String("outcome", c.outcome), zap.String("client", c.client.id), zap.String("client_host", c.client.host),
		zap.String("grant_id", c.grantID), zap.String("key_id", c.keyID), zap.String("source", c.source),
		zap.Int64("ms", s.now().Sub(started).Milliseconds()), zap.NamedError("cause", cause(err)))
}

// known keeps what a stranger typed out of the log.
func known(path string) string {
	if _, ok := endpoints[path]; ok {
		return path
	}
	return "unknown"
}

// cause is what is known of a refusal beside its code; neither has anything secret in it.
func cause(err error) error {
	if f := (*fault)(nil); errors.As(err, &f) {
		return f.cause
	}
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, event *events.APIGatewayProxyRequest, c *call) error {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	e, ok := endpoints[r.URL.Path]
	if !ok {
		return s.answer(w, &fault{code: invalidRequest, status: http.StatusNotFound, word: "path"})
	}
	if e.crossOrigin {
		h.Set("Access-Control-Allow-Origin", gateway.AnyOrigin)
		h.Set("Access-Control-Expose-Headers", gateway.ExposedHeaders)
	}
	if e.own && s.external != nil {
		return s.answer(w, &fault{code: invalidRequest, status: http.StatusNotFound, word: "issuer.elsewhere"})
	}
	if c.address == "" {
		return s.answer(w, broken(fmt.Errorf("the stage variable %s is not set", gateway.OAuthAddress)))
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	switch {
	case method == http.MethodOptions && e.crossOrigin:
		preflight(w, e.methods)
		c.outcome = "preflight"
		return nil
	case !has(e.methods, method):
		h.Set("Allow", join(e.methods))
		return s.answer(w, &fault{code: invalidRequest, status: http.StatusMethodNotAllowed, word: "method", args: []any{join(e.methods)}})
	}
	err := e.serve(s, w, r, c)
	if err == nil || r.URL.Path == authorizePath {
		return err // that page has answered itself
	}
	return s.answer(w, err)
}

// answer is the JSON of an error, which is returned for the log.
func (s *Server) answer(w http.ResponseWriter, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		f = broken(err)
	}
	f.write(w)
	return f
}

func preflight(w http.ResponseWriter, methods []string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", join(methods))
	h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, MCP-Protocol-Version")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// Defaults of lifetimes.
const (
	defaultAccessMinutes = 60
	defaultGrantDays     = 90
)

// FromEnv builds the function of a deployment.
func FromEnv(open store.Open) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		s, err := newServer(rt, open, outbound.Config{})
		if err != nil {
			return nil, err
		}
		panicked := func(recovered any, stack []byte) {
			rt.Log.Error("panic", zap.String("value", boot.Panic(recovered)), zap.ByteString("stack", stack))
		}
		return gateway.Handler(s, panicked), nil
	}
}

// newServer takes the network as a parameter, for tests.
func newServer(rt boot.Runtime, open store.Open, network outbound.Config) (*Server, error) {
	s := &Server{
		log: rt.Log, now: rt.Now,
		registrations: ratelimit.NewBudget(registrationsPerSource), wrongKeys: ratelimit.NewBudget(wrongKeys),
	}
	var err error
	if s.external, err = externalFromEnv(rt, network); err != nil || s.external != nil {
		return s, err
	}
	if s.lifetime, err = lifetimeFromEnv(rt.Env); err != nil {
		return nil, err
	}
	p, err := policyFromEnv(rt.Env)
	if err != nil {
		return nil, err
	}
	documents, err := newDocuments(network, rt.Now)
	if err != nil {
		return nil, err
	}
	stores, err := open(rt.Env, boot.AccountsTable)
	if err != nil {
		return nil, err
	}
	s.clients = &clients{policy: p, documents: documents, now: rt.Now}
	s.grants, s.keys = stores.Grants(), stores.Accounts()
	// Nothing is cached: a key that was just revoked can't sign anybody in.
	s.signIn = account.NewAuthenticator(s.keys, rt.Now, 0)
	return s, nil
}

func lifetimeFromEnv(env boot.Env) (lifetime, error) {
	minutes, err := env.Int(boot.OAuthAccessMinutes, defaultAccessMinutes)
	if err != nil {
		return lifetime{}, err
	}
	days, err := env.Int(boot.OAuthGrantDays, defaultGrantDays)
	if err != nil {
		return lifetime{}, err
	}
	if minutes < 1 || minutes > 24*60 || days < 1 || days > 3650 {
		return lifetime{}, fmt.Errorf("%s takes 1 to 1440, and %s 1 to 3650", boot.OAuthAccessMinutes, boot.OAuthGrantDays)
	}
	return lifetime{time.Duration(minutes) * time.Minute, time.Duration(days) * 24 * time.Hour}, nil
}

func policyFromEnv(env boot.Env) (p policy, err error) {
	if p.registered, err = boot.Parse(env, boot.OAuthClients, parseClients); err != nil {
		return p, err
	}
	if p.documentHosts, err = parseHosts(env.List(boot.OAuthClientHosts)); err != nil {
		return p, fmt.Errorf("%s: %w", boot.OAuthClientHosts, err)
	}
	if p.redirectHosts, err = parseHosts(env.List(boot.OAuthRedirectHosts)); err != nil {
		return p, fmt.Errorf("%s: %w", boot.OAuthRedirectHosts, err)
	}
	p.registration, err = env.Switch(boot.OAuthRegistration, true)
	return p, err
}

// exchange makes fosite's storage for one request.
func (s *Server) exchange(c *call) *exchange {
	return &exchange{grants: s.grants, keys: s.keys, now: s.now(), lifetime: s.lifetime, client: c.client, resources: resources(c.address)}
}

// authenticate looks up a key that a person typed. The error is a *fault.
func (s *Server) authenticate(ctx context.Context, text, source string) (account.Key, error) {
	now := s.now()
	if wait, ok := s.wrongKeys.Left("", now); !ok {
		return account.Key{}, tooMany("wait.key", wait)
	}
	key, err := s.signIn.Authenticate(ctx, text, source)
	var throttled *account.ThrottledError
	switch {
	case err == nil:
		return key, nil
	case errors.As(err, &throttled):
		return key, tooMany("wait.key", throttled.Wait)
	case errors.Is(err, account.ErrInactive):
		return key, &fault{code: accessDenied, status: http.StatusForbidden, word: "key.revoked", cause: err}
	case errors.Is(err, account.ErrNotFound):
		s.wrongKeys.Allow("", now)
		return key, wrongKey(err)
	}
	return key, broken(err)
}
