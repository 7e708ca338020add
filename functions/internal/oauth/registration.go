package oauth

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"sekisho/functions/internal/ratelimit"
)

// A client that registers itself (RFC 7591) is kept nowhere: its ID is the registration. A public
// client has no secret to check, so there is nothing that a stranger could gain by making up an ID,
// and nothing that strangers could fill. All that a registration says is checked when it is used.
const (
	registrationPrefix = "dyn."
	// registrationLasts is how long one may be used to sign in. Most hosts register for each sign-in.
	registrationLasts = 30 * 24 * time.Hour
	// clockSkew is how far ahead of us a registration's time may lie: instances differ a little.
	clockSkew        = 5 * time.Minute
	mostRegistration = 16 << 10
)

// registrationsPerSource is how often one source may register at one instance.
var registrationsPerSource = ratelimit.Limit{Burst: 20, PerSecond: 0.5}

// registration is what an ID holds.
type registration struct {
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
	// IssuedAt is in Unix seconds.
	IssuedAt int64 `json:"t"`
}

func (r registration) id() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic("a registration has no JSON")
	}
	return registrationPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// selfRegistered reads an ID and checks all that it says. The error is a *fault.
func (c *clients) selfRegistered(id string) (client, error) {
	if !c.registration {
		return client{}, refuse(invalidClient, "registration.off")
	}
	r, ok := decodeRegistration(id)
	if !ok {
		return client{}, refuse(invalidClient, "client.unknown")
	}
	if err := c.checkRedirects(r.Redirects); err != nil {
		err.code = invalidClient
		return client{}, err
	}
	return client{id: registrationPrefix + short(id), kind: dynamic, name: shown(r.Name), redirects: r.Redirects}, nil
}

func decodeRegistration(id string) (r registration, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(id, registrationPrefix))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	return r, r.id() == id // one registration has one ID
}

// current reports whether an ID may start a sign-in: what it was used for before goes on.
func (c *clients) current(id string) error {
	if !strings.HasPrefix(id, registrationPrefix) {
		return nil
	}
	r, _ := decodeRegistration(id)
	issued, now := time.Unix(r.IssuedAt, 0), c.now()
	if issued.After(now.Add(clockSkew)) || now.After(issued.Add(registrationLasts)) {
		return refuse(invalidClient, "registration.expired")
	}
	return nil
}

func (c *clients) checkRedirects(redirects []string) *fault {
	if len(redirects) == 0 || len(redirects) > mostRedirects {
		return refuse(invalidRedirect, "registration.redirects", mostRedirects)
	}
	for _, redirect := range redirects {
		u, ok := parseRedirect(redirect)
		if !ok {
			return refuse(invalidRedirect, "redirect.kind")
		}
		if !hostsAllow(c.redirectHosts, u) {
			return refuse(invalidRedirect, "redirect.host", place(u))
		}
	}
	return nil
}

// wanted is what this server reads of a registration request. Methods of authentication, scopes and
// the rest are answered with what there is (RFC 7591, section 3.2.1).
type wanted struct {
	Name       string   `json:"client_name"`
	Redirects  []string `json:"redirect_uris"`
	GrantTypes []string `json:"grant_types"`
	AppType    string   `json:"application_type"`
}

// registrationAnswer is that of RFC 7591, section 3.2.1.
type registrationAnswer struct {
	ID            string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"`
	Name          string   `json:"client_name,omitempty"`
	Redirects     []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	Method        string   `json:"token_endpoint_auth_method"`
	Scope         string   `json:"scope"`
	AppType       string   `json:"application_type,omitempty"`
}

// register serves /register.
func (s *Server) register(w http.ResponseWriter, r *http.Request, c *call) error {
	if !s.clients.registration {
		return refuse(invalidRequest, "registration.off")
	}
	if wait, ok := s.registrations.Allow(c.source, s.now()); !ok {
		return tooMany("wait.registration", wait)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostRegistration+1))
	if err != nil {
		return broken(err)
	}
	var asked wanted
	if len(body) > mostRegistration || json.Unmarshal(body, &asked) != nil {
		return refuse(invalidMetadata, "registration.json", mostRegistration)
	}
	if len(asked.GrantTypes) > 0 && !slices.Contains(asked.GrantTypes, "authorization_code") {
		return refuse(invalidMetadata, "registration.flow")
	}
	if err := s.clients.checkRedirects(asked.Redirects); err != nil {
		return err
	}
	made := registration{Name: shown(asked.Name), Redirects: asked.Redirects, IssuedAt: s.now().Unix()}
	id := made.id()
	if len(id) > mostID {
		return refuse(invalidMetadata, "registration.long")
	}
	c.client = client{id: registrationPrefix + short(id), kind: dynamic}
	writeJSON(w, http.StatusCreated, registrationAnswer{
		ID: id, IssuedAt: made.IssuedAt, Name: made.Name, Redirects: made.Redirects,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Method: "none", Scope: scope, AppType: asked.AppType,
	})
	return nil
}
