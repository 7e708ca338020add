package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/ory/fosite"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
)

// parameters of an authorization request that go on from the page to the consent. All others are
// left out.
var parameters = []string{
	"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method", "resource", "response_mode",
}

// Fields of the form beside them.
const (
	keyField      = "key"
	decisionField = "decision"
	allow         = "allow"
	deny          = "deny"
)

// mostQuery bounds an authorization request. API Gateway takes no more headers and query than 10 KB.
const mostQuery = 8 << 10

// challenge is a SHA-256 in base64url (RFC 7636, section 4.2).
var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// asked is an authorization request that was checked.
type asked struct {
	form     url.Values
	client   client
	redirect *url.URL
	resource string
}

// authorize serves /authorize: it shows the page, or does what the person decided on it. Nothing is
// remembered in between: the form carries the request, and all of it is checked anew.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, c *call) error {
	p := page{language: languageOf(r.Header), address: c.address}
	form, err := s.authorizeForm(r)
	if err != nil {
		return p.refuse(w, err)
	}
	a, err := s.trusted(r.Context(), form, c)
	if err != nil {
		return p.refuse(w, err)
	}
	p.asked, p.days = a, int(s.lifetime.grant.Hours()/24)
	if err := a.check(resources(c.address)); err != nil {
		return a.back(w, c, err)
	}
	if r.Method != http.MethodPost {
		c.outcome = "page"
		p.show(w, http.StatusOK, nil)
		return nil
	}
	if form.Get(decisionField) != allow {
		return a.back(w, c, refuse(accessDenied, "denied"))
	}
	return s.consent(w, r, c, p)
}

// authorizeForm reads the request: the query of the page, or the form on it.
func (s *Server) authorizeForm(r *http.Request) (url.Values, error) {
	if r.Method == http.MethodPost {
		if crossSite(r) {
			return nil, &fault{code: invalidRequest, status: http.StatusForbidden, word: "cross"}
		}
		return readForm(r)
	}
	if len(r.URL.RawQuery) > mostQuery {
		return nil, refuse(invalidRequest, "long", mostQuery)
	}
	form := r.URL.Query()
	return form, once(form)
}

// crossSite: the form was sent by a page that isn't this one. Browsers say so, in one way or both; what
// says nothing is no browser, so nobody was tricked into it.
func crossSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return true
	}
	origin := r.Header.Values("Origin")
	event, ok := gateway.Event(r.Context())
	if len(origin) == 0 || !ok {
		return false
	}
	return len(origin) > 1 || origin[0] != event.StageVariables[gateway.OAuthAddress] && !gateway.SameOrigin(event, origin[0])
}

// trusted finds the client and makes sure that the redirect URI is its own. Until then nothing is
// sent anywhere: errors are shown to the person.
func (s *Server) trusted(ctx context.Context, form url.Values, c *call) (*asked, error) {
	id := form.Get("client_id")
	known, err := s.clients.find(ctx, id, c.source)
	if err != nil {
		return nil, err
	}
	c.client = known
	if err := s.clients.current(id); err != nil {
		return nil, err
	}
	redirect := form.Get("redirect_uri")
	if redirect == "" {
		return nil, refuse(invalidRequest, "redirect.missing")
	}
	u, ok := parseRedirect(redirect)
	if !ok || !known.allows(redirect) {
		return nil, refuse(invalidRequest, "redirect.other")
	}
	return &asked{form: form, client: known, redirect: u}, nil
}

// check looks at the rest of the request. What is wrong with it, the client is told.
func (a *asked) check(r resources) error {
	switch {
	case a.form.Has("request") || a.form.Has("request_uri"):
		return refuse(requestUnsupported, "object")
	case a.form.Get("response_type") != "code":
		return refuse(unsupportedResponse, "response.type")
	case a.form.Has("response_mode") && a.form.Get("response_mode") != "query":
		return refuse(invalidRequest, "response.mode")
	case a.form.Get("code_challenge_method") != s256 || !challenge.MatchString(a.form.Get("code_challenge")):
		return refuse(invalidRequest, "pkce")
	case contains(strings.Fields(a.form.Get("prompt")), "none"):
		return refuse(loginRequired, "prompt")
	}
	resource, ok := r.canonical(a.form.Get("resource"))
	if !ok {
		return refuse(invalidTarget, "target", r.main())
	}
	a.resource = resource
	return nil
}

// consent makes the grant, if the key is right, and sends the code to the client.
func (s *Server) consent(w http.ResponseWriter, r *http.Request, c *call, p page) error {
	a := p.asked
	key, err := s.typedKey(r.Context(), a.form.Get(keyField), c.source)
	c.keyID = key.ID
	if err != nil {
		return p.again(w, err)
	}
	x := s.exchange(c)
	x.consent = grant.Request{
		KeyID: key.ID, Client: grant.Client{ID: a.client.id, Name: a.client.name, Host: a.vouches()}, Redirect: a.form.Get("redirect_uri"),
		Challenge: a.form.Get("code_challenge"), Resource: a.resource, Lasts: s.lifetime.grant,
	}
	code, err := x.code(r.Context(), a)
	c.grantID = x.grant.ID
	switch {
	case errors.Is(err, grant.ErrTooMany):
		return p.again(w, &fault{code: accessDenied, status: http.StatusForbidden, word: "key.full", cause: err})
	case err != nil:
		return a.back(w, c, x.fault(err))
	}
	c.outcome = "granted"
	a.send(w, c, url.Values{"code": {code}})
	return nil
}

func (s *Server) typedKey(ctx context.Context, text, source string) (account.Key, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return account.Key{}, refuse(accessDenied, "key.missing")
	}
	return s.authenticate(ctx, text, source)
}

// wrongKey says what is wrong with a key that isn't one of this server's.
func wrongKey(err error) *fault {
	f := &fault{code: accessDenied, status: http.StatusForbidden, word: "key.unknown", cause: err}
	if errors.Is(err, apikey.ErrMalformed) {
		f.word = "key.malformed"
	}
	return f
}

// vouches is the host that the grant is listed under.
func (a *asked) vouches() string {
	if a.client.host != "" {
		return a.client.host
	}
	return place(a.redirect)
}

// code lets fosite issue the code for a request that was checked.
func (x *exchange) code(ctx context.Context, a *asked) (string, error) {
	form := url.Values{}
	for _, name := range parameters {
		if name != "scope" && name != "resource" && a.form.Has(name) {
			form.Set(name, a.form.Get(name))
		}
	}
	form.Set("client_id", x.client.id)
	form.Set("scope", scope)
	form.Del("response_mode") // query is the only one
	// fosite refuses states that are short. Whether there is one is the client's affair, as PKCE protects
	// the code, and we send it back ourselves.
	form.Set("state", form.Get("code_challenge"))
	x.form = form
	p := x.provider()
	request, err := p.NewAuthorizeRequest(ctx, x.httpRequest(ctx))
	if err != nil {
		return "", err
	}
	request.GrantScope(scope)
	response, err := p.NewAuthorizeResponse(ctx, request, &fosite.DefaultSession{Subject: x.consent.KeyID})
	if err != nil {
		return "", err
	}
	return response.GetCode(), nil
}

// back tells the client what is wrong (RFC 6749, section 4.1.2.1), and returns it for the log.
func (a *asked) back(w http.ResponseWriter, c *call, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		f = broken(err)
	}
	a.send(w, c, url.Values{"error": {f.code}, "error_description": {f.in(english)}})
	return f
}

// send redirects to the client, with 303, so that no browser posts the key on. iss lets a client that
// talks to several servers see which one answered (RFC 9207).
func (a *asked) send(w http.ResponseWriter, c *call, answer url.Values) {
	answer.Set("iss", c.address)
	if state := a.form.Get("state"); state != "" {
		answer.Set("state", state)
	}
	to := *a.redirect
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += answer.Encode()
	secure(w, formTarget(a.redirect))
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
}
