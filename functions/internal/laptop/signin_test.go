package laptop_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/usage"
)

// callback is where the host of these tests hears of the code; nobody listens there.
const callback = "http://127.0.0.1:33333/callback"

// host is an app that signs in, by nothing but HTTP.
type host struct {
	*service
	id       string
	verifier string
}

// newHost registers an app.
func newHost(s *service) host {
	s.t.Helper()
	registered := s.call("POST", "/register", "", `{"client_name":"Host","redirect_uris":["`+callback+`"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`)
	id, _ := registered.json(s.t)["client_id"].(string)
	if registered.status != 201 || id == "" {
		s.t.Fatalf("register: %d %s", registered.status, registered.body)
	}
	return host{s, id, rand.Text() + rand.Text()}
}

// authorizeURL is what the host opens a browser with.
func (h host) authorizeURL() string {
	challenge := sha256.Sum256([]byte(h.verifier))
	return h.base + "/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {h.id}, "redirect_uri": {callback}, "state": {"state-of-the-host-1"}, "scope": {"mcp offline_access"},
		"resource": {h.base + "/mcp"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

var (
	formField  = regexp.MustCompile(`<input\b[^>]*>`)
	formButton = regexp.MustCompile(`<button\b[^>]*>`)
	attribute  = regexp.MustCompile(`([a-z]+)="([^"]*)"`)
)

func attributes(tag string) map[string]string {
	all := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(tag, -1) {
		all[m[1]] = html.UnescapeString(m[2])
	}
	return all
}

// consent is what a person does at the page: looks at it, types a key and agrees. It returns where
// the browser goes then; the status is that of the page if it goes nowhere.
func (s *service) consent(at, key string) (status int, back url.Values) {
	s.t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	page, err := browser.Get(at)
	if err != nil {
		s.t.Fatal(err)
	}
	shown, err := io.ReadAll(page.Body)
	page.Body.Close()
	if err != nil || page.StatusCode != 200 {
		s.t.Fatalf("the page: %d %s %v", page.StatusCode, shown, err)
	}
	form := url.Values{}
	for _, tag := range formField.FindAllString(string(shown), -1) {
		a := attributes(tag)
		if a["type"] == "hidden" {
			form.Add(a["name"], a["value"])
		} else {
			form.Set(a["name"], key)
		}
	}
	for _, tag := range formButton.FindAllString(string(shown), -1) {
		if a := attributes(tag); a["name"] != "" && !form.Has(a["name"]) { // the first agrees
			form.Set(a["name"], a["value"])
		}
	}
	request, err := http.NewRequestWithContext(s.t.Context(), "POST", s.base+"/authorize", strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {s.base}, "Sec-Fetch-Site": {"same-origin"}}
	answer, err := browser.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		return answer.StatusCode, nil
	}
	return answer.StatusCode, to.Query()
}

// token asks for tokens.
func (h host) token(form url.Values) answer {
	h.t.Helper()
	form.Set("client_id", h.id)
	return h.call("POST", "/token", "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Type    string `json:"token_type"`
	Scope   string `json:"scope"`
	Seconds int    `json:"expires_in"`
}

func (h host) tokens(form url.Values) tokens {
	h.t.Helper()
	a := h.token(form)
	var got tokens
	if err := json.Unmarshal(a.body, &got); err != nil || a.status != 200 || got.Access == "" || got.Refresh == "" {
		h.t.Fatalf("tokens: %d %s", a.status, a.body)
	}
	return got
}

// redeem signs in with a key and redeems the code.
func (h host) redeem(key string) tokens {
	h.t.Helper()
	status, back := h.consent(h.authorizeURL(), key)
	if back.Get("code") == "" || back.Get("state") != "state-of-the-host-1" || back.Get("iss") != h.base {
		h.t.Fatalf("consent: %d %v", status, back)
	}
	return h.tokens(url.Values{"grant_type": {"authorization_code"}, "code": {back.Get("code")}, "redirect_uri": {callback}, "code_verifier": {h.verifier}, "resource": {h.base + "/mcp"}})
}

// TestSigningIn goes the whole way of a host by HTTP: from the refusal at /mcp to a token, calls until
// the quota is used up, renewed tokens, and signing out.
func TestSigningIn(t *testing.T) {
	c := newClock("2026-11-30T12:00:00Z")
	door, keys := startOAuth(t, account.Plans{"demo": usage.PerMonth(2)}, map[string]string{boot.KeyCacheSeconds: "30"}, func(config *laptop.Config) { config.Now = c.now })
	later := func(d time.Duration) { c.set(c.now().Add(d).Format(time.RFC3339Nano)) }
	secret, key := keys.newKey("demo")

	refused := door.call("POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	_, metadata, _ := strings.Cut(refused.header.Get("Www-Authenticate"), `resource_metadata="`+door.base)
	resource := door.call("GET", strings.TrimSuffix(metadata, `"`), "", "").json(t)
	if refused.status != 401 || resource["resource"] != door.base+"/mcp" || fmt.Sprint(resource["authorization_servers"]) != "["+door.base+"]" {
		t.Fatalf("%d %v leads to %v", refused.status, refused.header, resource)
	}
	server := door.call("GET", "/.well-known/oauth-authorization-server", "", "").json(t)
	if server["issuer"] != door.base || server["authorization_endpoint"] != door.base+"/authorize" || server["token_endpoint"] != door.base+"/token" {
		t.Fatalf("%v", server)
	}

	h := newHost(door)
	if status, back := h.consent(h.authorizeURL(), secret.Reveal()[:43]+"!"); back != nil {
		t.Errorf("a mistyped key: %d %v", status, back)
	}
	first := h.redeem(secret.Reveal())
	if !strings.EqualFold(first.Type, "Bearer") || first.Scope != "mcp" || first.Seconds != 3600 {
		t.Errorf("%+v", first)
	}
	for i := range 3 {
		if a := door.with(first.Access, "postal_lookup", aPostalCode); a.status != 200 || passed(a) != (i < 2) || (i == 2) != strings.Contains(string(a.body), "limit_exceeded") {
			t.Errorf("call %d: %d %s", i, a.status, a.body)
		}
	}
	if counts := keys.used(key, thisMonthOf(c)); counts.Used != 2 || counts.Denied != 1 {
		t.Errorf("%+v", counts)
	}

	later(time.Hour)
	if a := door.with(first.Access, "utility_get_usage", `{}`); a.status != 401 {
		t.Errorf("after an hour: %d %s", a.status, a.body)
	}
	refresh := func(token string) url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
	}
	second := h.tokens(refresh(first.Refresh))
	if a := door.with(second.Access, "utility_get_usage", `{}`); !passed(a) || second.Refresh == first.Refresh {
		t.Errorf("renewed: %d %s", a.status, a.body)
	}
	later(time.Minute)
	if a := h.token(refresh(first.Refresh)); a.status != 400 || a.json(t)["error"] != "invalid_grant" {
		t.Errorf("an old refresh token: %d %s", a.status, a.body)
	}
	later(account.DefaultKeyCache)
	if a := door.with(second.Access, "utility_get_usage", `{}`); a.status != 401 {
		t.Errorf("somebody had stolen a token: %d %s", a.status, a.body)
	}

	third := h.redeem(secret.Reveal())
	if a := door.with(third.Access, "utility_get_usage", `{}`); !passed(a) {
		t.Errorf("signed in again: %d %s", a.status, a.body)
	}
	if a := door.call("POST", "/revoke", "", url.Values{"token": {third.Refresh}, "client_id": {h.id}}.Encode(), "Content-Type", "application/x-www-form-urlencoded"); a.status != 200 {
		t.Errorf("revoke: %d %s", a.status, a.body)
	}
	later(account.DefaultKeyCache)
	if a := door.with(third.Access, "utility_get_usage", `{}`); a.status != 401 || !strings.Contains(string(a.body), "token_refused") {
		t.Errorf("signed out: %d %s", a.status, a.body)
	}
	log := keys.log.String()
	for what, text := range map[string]string{"the key": secret.Reveal(), "an access token": first.Access, "a refresh token": second.Refresh, "a verifier": h.verifier} {
		if strings.Contains(log, text) {
			t.Errorf("%s is in the log", what)
		}
	}
}

// TestSDKSignsIn: the official SDK's client finds its way from the address alone.
func TestSDKSignsIn(t *testing.T) {
	door, keys := startOAuth(t, account.Plans{"demo": usage.PerMonth(2)}, nil, nil)
	secret, key := keys.newKey("demo")
	for _, path := range []string{"/mcp", "/mcp/"} {
		asked := 0
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "SDK", RedirectURIs: []string{callback}, GrantTypes: []string{"authorization_code", "refresh_token"},
			}},
			RequestRefreshToken: true,
			AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				asked++
				status, back := door.consent(args.URL, secret.Reveal())
				if back == nil {
					return nil, fmt.Errorf("the page answered %d", status)
				}
				return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: door.base + path, OAuthHandler: handler}, nil)
		if err != nil {
			t.Fatal(path, err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "postal_lookup", Arguments: map[string]any{"postal_code": "1000001"}})
		if err != nil || result.IsError || asked != 1 {
			t.Errorf("%s: %+v, %v, asked %d times", path, result, err, asked)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	if counts := keys.used(key, thisMonth()); counts.Used != 2 {
		t.Errorf("%+v", counts)
	}
}
