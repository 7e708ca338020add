package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"

	"sekisho/functions/internal/grant"
)

const (
	s256 = "S256"
	// mostForm bounds the form of a token request.
	mostForm = 16 << 10
	// mostConflicts is how often an exchange starts over because another request came first.
	mostConflicts = 5
)

// provider is fosite over one exchange.
func (x *exchange) provider() *fosite.Fosite {
	config := &fosite.Config{
		EnforcePKCE: true, EnablePKCEPlainChallengeMethod: false,
		AccessTokenLifespan: x.lifetime.access, RefreshTokenLifespan: x.lifetime.grant, AuthorizeCodeLifespan: grant.CodeLasts,
		RefreshTokenScopes: []string{}, ScopeStrategy: fosite.ExactScopeStrategy,
		OmitRedirectScopeParam: true,
		RedirectSecureChecker: func(_ context.Context, u *url.URL) bool {
			_, ok := parseRedirect(u.String())
			return ok
		},
		ClientAuthenticationStrategy: func(ctx context.Context, _ *http.Request, _ url.Values) (fosite.Client, error) {
			return x.GetClient(ctx, x.client.id)
		},
	}
	code := &oauth2.AuthorizeExplicitGrantHandler{
		AccessTokenStrategy: x, RefreshTokenStrategy: x, AuthorizeCodeStrategy: x, CoreStorage: x, TokenRevocationStorage: x, Config: config,
	}
	challenge := &pkce.Handler{AuthorizeCodeStrategy: x, Storage: x, Config: config}
	refresh := &oauth2.RefreshTokenGrantHandler{AccessTokenStrategy: x, RefreshTokenStrategy: x, TokenRevocationStorage: x, Config: config}
	config.AuthorizeEndpointHandlers = fosite.AuthorizeEndpointHandlers{code, challenge}
	config.TokenEndpointHandlers = fosite.TokenEndpointHandlers{code, challenge, refresh}
	config.RevocationHandlers = fosite.RevocationHandlers{&oauth2.TokenRevocationHandler{
		TokenRevocationStorage: revocation{x}, RefreshTokenStrategy: x, AccessTokenStrategy: x,
	}}
	return fosite.NewOAuth2Provider(x, config)
}

// tokens is the answer of RFC 6749, section 5.1.
type tokens struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
}

// token serves /token.
func (s *Server) token(w http.ResponseWriter, r *http.Request, c *call) error {
	form, err := s.clientForm(r, c)
	if err != nil {
		return err
	}
	presented := map[string]string{"authorization_code": "code", "refresh_token": "refresh_token"}[form.Get("grant_type")]
	if presented == "" {
		return refuse(unsupportedGrant, "grant.type")
	}
	if form.Get(presented) == "" {
		return refuse(invalidRequest, "token.missing", presented)
	}
	for range mostConflicts {
		x := s.exchange(c)
		x.form = form
		// What is no token of ours stays the zero one, which no grant has.
		x.presented, _ = grant.Parse(form.Get(presented))
		err = x.swap(r.Context())
		c.grantID, c.keyID = x.grant.ID, x.grant.KeyID
		if err == nil {
			c.outcome = "issued"
			writeJSON(w, http.StatusOK, tokens{
				Access: x.pair.Access.Reveal(), Refresh: x.pair.Refresh.Reveal(), Type: "Bearer", Scope: scope,
				ExpiresIn: int64(x.pair.ExpiresAt.Sub(x.now) / time.Second),
			})
			return nil
		}
		if !errors.Is(err, grant.ErrChanged) {
			return x.fault(err)
		}
	}
	return &fault{code: unavailable, status: http.StatusServiceUnavailable, word: "token.busy", wait: time.Second, cause: err}
}

// swap lets fosite exchange what was presented.
func (x *exchange) swap(ctx context.Context) error {
	p := x.provider()
	request, err := p.NewAccessRequest(ctx, x.httpRequest(ctx), &fosite.DefaultSession{})
	if err != nil {
		return err
	}
	_, err = p.NewAccessResponse(ctx, request)
	return err
}

// httpRequest is the form as fosite reads it: nothing else of the request is its business.
func (x *exchange) httpRequest(ctx context.Context) *http.Request {
	r := &http.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {formType}}, Body: http.NoBody, Form: x.form, PostForm: x.form}
	return r.WithContext(ctx)
}

// fault puts an error of fosite's into our words; its own are for whoever configures it.
func (x *exchange) fault(err error) *fault {
	if x.refused != nil {
		return x.refused
	}
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var e *fosite.RFC6749Error
	if !errors.As(err, &e) || e.CodeField >= http.StatusInternalServerError {
		return broken(err)
	}
	word, args := "protocol", []any{e.HintField}
	if e.ErrorField == invalidGrant {
		word, args = "token.client", nil
	}
	return &fault{code: e.ErrorField, word: word, args: args, cause: errors.New(e.HintField)}
}

const formType = "application/x-www-form-urlencoded"

// clientForm reads the form of a client, and who it says it is.
func (s *Server) clientForm(r *http.Request, c *call) (url.Values, error) {
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	id := form.Get("client_id")
	if user, _, ok := r.BasicAuth(); ok && id == "" {
		// A client that has no secret may still send its ID so (RFC 6749, section 2.3.1).
		if id, err = url.QueryUnescape(user); err != nil {
			return nil, unknownClient(err)
		}
	}
	c.client, err = s.clients.recognise(id)
	if err != nil {
		return nil, unknownClient(err)
	}
	form.Set("client_id", c.client.id)
	return form, nil
}

// unknownClient: a client that isn't recognised is answered with 401 (RFC 6749, section 5.2), unless it
// forgot to say who it is.
func unknownClient(err error) *fault {
	var f *fault
	if !errors.As(err, &f) {
		return broken(err)
	}
	if f.code == invalidClient {
		f.status = http.StatusUnauthorized
	}
	return f
}

// readForm reads a form in which every parameter comes once (RFC 6749, section 3.2). An empty
// parameter is one that was left out.
func readForm(r *http.Request) (url.Values, error) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	body, err := io.ReadAll(io.LimitReader(r.Body, mostForm+1))
	if err != nil {
		return nil, broken(err)
	}
	if !strings.EqualFold(strings.TrimSpace(kind), formType) || len(body) > mostForm {
		return nil, refuse(invalidRequest, "body", mostForm)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, refuse(invalidRequest, "body", mostForm)
	}
	return form, once(form)
}

// once refuses parameters that were sent twice, and drops empty ones.
func once(form url.Values) error {
	for name, values := range form {
		if len(values) > 1 && strings.TrimSpace(name) != "" {
			return refuse(invalidRequest, "twice", plainName(name))
		}
		if values[0] == "" {
			delete(form, name)
		}
	}
	return nil
}

// plainName is a parameter's name, as far as it may be repeated to whoever sent it.
func plainName(name string) string {
	if len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return "of that name"
	}
	return name
}

// revocation is the storage of /revoke: any token of a grant ends it, an old refresh token too.
type revocation struct{ *exchange }

func (x revocation) GetRefreshTokenSession(ctx context.Context, id string, _ fosite.Session) (fosite.Requester, error) {
	g, err := x.grants.Grant(ctx, id)
	switch {
	case id == "" || errors.Is(err, grant.ErrNotFound), err == nil && !g.Family.Equal(x.presented.Family()):
		return nil, fosite.ErrNotFound
	case err != nil:
		x.refused = broken(err)
		return nil, err
	}
	x.grant = g
	return x.requester(), nil
}

func (x revocation) GetAccessTokenSession(ctx context.Context, id string, session fosite.Session) (fosite.Requester, error) {
	return x.GetRefreshTokenSession(ctx, id, session)
}

// revoke serves /revoke (RFC 7009): 200 also for a token that is unknown.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request, c *call) error {
	form, err := s.clientForm(r, c)
	if err != nil {
		return err
	}
	if form.Get("token") == "" {
		return refuse(invalidRequest, "token.missing", "token")
	}
	x := s.exchange(c)
	x.form = form
	x.presented, err = grant.Parse(form.Get("token"))
	if err == nil {
		err = x.provider().NewRevocationRequest(r.Context(), x.httpRequest(r.Context()))
		c.grantID, c.keyID = x.grant.ID, x.grant.KeyID
		if x.refused != nil || err != nil {
			return x.fault(err)
		}
	}
	c.outcome = "revoked"
	w.WriteHeader(http.StatusOK)
	return nil
}
