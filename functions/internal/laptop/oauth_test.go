package laptop_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/issuer"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
)

// startOAuth is start with an OAuth door, where tokens are sent; keys calls the REST API. env is
// added to that of the functions.
func startOAuth(t *testing.T, plans account.Plans, env map[string]string, change func(*laptop.Config)) (door, keys *service) {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	keys = dispatched(t, boot.Direct, plans, func(c *laptop.Config) {
		own := c.Functions[laptop.Authorizer].Env // it is the environment of all
		maps.Copy(own, env)
		laptop.AddOAuth(c.Functions, api, own)
		c.OAuthDoor = &laptop.OAuthDoor{Domain: listener.Addr().String(), External: env[boot.OAuthIssuer] != ""}
		if change != nil {
			change(c)
		}
	})
	server := &http.Server{Handler: keys.OAuth()}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	copied := *keys
	copied.base = "http://" + listener.Addr().String()
	return &copied, keys
}

// with calls a tool with an access token.
func (s *service) with(token, tool, arguments string) answer {
	s.t.Helper()
	return s.call("POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`,
		"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25", "Authorization", "Bearer "+token)
}

const aPostalCode = `{"postal_code":"1000001"}`

// signIn is what the authorization server does when a holder of a key has agreed.
func (s *service) signIn(key account.Key, now time.Time) (grant.Grant, string) {
	s.t.Helper()
	g, pair, err := storetest.SignIn(s.t.Context(), s.stores.Grants(), grant.Request{
		KeyID: key.ID, Client: grant.Client{ID: "https://app.example/client", Name: "App", Host: "app.example"},
		Resource: s.base + "/mcp", Lasts: 24 * time.Hour,
	}, now)
	if err != nil {
		s.t.Fatal(err)
	}
	return g, pair.Access.Reveal()
}

// TestSameCallsAtTheOAuthDoor: who signed in with a key is answered, counted and refused as who sends
// it; the units are the key's.
func TestSameCallsAtTheOAuthDoor(t *testing.T) {
	c := newClock("2026-11-30T12:00:00.500Z")
	door, keys := startOAuth(t, account.Plans{"demo": usage.PerMonth(2)}, nil, func(config *laptop.Config) { config.Now = c.now })
	var bodies [2]string
	for i, signedIn := range []bool{false, true} {
		secret, key := keys.newKey("demo")
		send := func(tool, arguments string) answer { return keys.mcpCall(secret.Reveal(), tool, arguments) }
		if signedIn {
			_, token := door.signIn(key, c.now())
			send = func(tool, arguments string) answer { return door.with(token, tool, arguments) }
		}
		for _, call := range [][2]string{
			{"postal_lookup", aPostalCode}, {"postal_lookup", `{"postal_code":"1"}`}, {"postal_lookup", `{"postal_code":"0000000"}`},
			{"postal_lookup", aPostalCode}, {"postal_lookup", aPostalCode}, {"utility_get_usage", `{}`}, {"account_get_tool_settings", `{}`},
		} {
			a := send(call[0], call[1])
			bodies[i] += a.header.Get("Ratelimit") + a.header.Get("Retry-After") + string(a.body) + "\n"
			if a.status != 200 {
				t.Errorf("%s %s: HTTP %d: quota is never a reason to sign in again", call[0], call[1], a.status)
			}
		}
		if counts := keys.used(key, thisMonthOf(c)); counts.Used != 2 || counts.Denied != 1 {
			t.Errorf("signed in %v: %+v", signedIn, counts)
		}
	}
	if bodies[0] != bodies[1] || !strings.Contains(bodies[0], "limit_exceeded") {
		t.Errorf("with a key:\n%s\nsigned in:\n%s", bodies[0], bodies[1])
	}
}

// TestSessionsEnd: revoking the key, rotating it, or ending the grant ends a session within the time
// that keys are cached, and not later; a token that is too old at once.
func TestSessionsEnd(t *testing.T) {
	c := newClock("2026-11-30T12:00:00Z")
	door, keys := startOAuth(t, account.Plans{"demo": usage.PerMonth(1000)}, map[string]string{boot.KeyCacheSeconds: "30"}, func(config *laptop.Config) { config.Now = c.now })
	for name, test := range map[string]struct {
		end  func(account.Key, grant.Grant) error
		says string
	}{
		"revoked": {func(k account.Key, _ grant.Grant) error { return keys.ring.RevokeKey(t.Context(), k.ID) }, "key_inactive"},
		"rotated": {func(k account.Key, _ grant.Grant) error {
			_, _, err := keys.ring.RotateKey(t.Context(), k.ID, 0)
			return err
		}, "key_inactive"},
		"ended": {func(_ account.Key, g grant.Grant) error {
			_, err := grant.End(t.Context(), keys.stores.Grants(), g.ID, c.now())
			return err
		}, "token_refused"},
	} {
		_, key := keys.newKey("demo")
		g, token := door.signIn(key, c.now())
		if a := door.with(token, "postal_lookup", aPostalCode); !passed(a) {
			t.Fatalf("%s, before: %d %s", name, a.status, a.body)
		}
		if err := test.end(key, g); err != nil {
			t.Fatal(err)
		}
		at := c.now()
		set := func(after time.Duration) { c.set(at.Add(after).Format(time.RFC3339Nano)) }
		set(account.DefaultKeyCache - time.Second)
		if a := door.with(token, "postal_lookup", aPostalCode); !passed(a) {
			t.Errorf("%s, cached: %d %s", name, a.status, a.body)
		}
		set(account.DefaultKeyCache)
		a := door.with(token, "postal_lookup", aPostalCode)
		if a.status != 401 || !strings.Contains(string(a.body), test.says) || !strings.Contains(a.header.Get("Www-Authenticate"), `error="invalid_token"`) {
			t.Errorf("%s, after: %d %s %s", name, a.status, a.header, a.body)
		}
	}
	_, key := keys.newKey("demo")
	_, token := door.signIn(key, c.now())
	door.with(token, "postal_lookup", aPostalCode)
	c.set(c.now().Add(time.Hour).Format(time.RFC3339Nano))
	if a := door.with(token, "postal_lookup", aPostalCode); a.status != 401 || !strings.Contains(string(a.body), "has expired") {
		t.Errorf("expired: %d %s", a.status, a.body)
	}
	if strings.Contains(keys.log.String(), token) {
		t.Error("a token is in the log")
	}
	if !strings.Contains(keys.log.String(), `"grant_id":"grant_`) {
		t.Error("no line of the log names a grant")
	}
}

// TestTwoDoors: neither takes what is the other's, and only one leads to an authorization server.
func TestTwoDoors(t *testing.T) {
	door, keys := startOAuth(t, account.Plans{"demo": usage.PerMonth(10)}, nil, nil)
	secret, key := keys.newKey("demo")
	_, token := door.signIn(key, time.Now())
	if a := door.mcpCall(secret.Reveal(), "postal_lookup", aPostalCode); a.status != 401 || !strings.Contains(string(a.body), "takes no API keys") ||
		a.header.Get("Www-Authenticate") != `Bearer resource_metadata="`+door.base+`/.well-known/oauth-protected-resource/mcp"` {
		t.Errorf("a key at the OAuth door: %d %v %s", a.status, a.header, a.body)
	}
	if a := keys.with(token, "postal_lookup", aPostalCode); a.status != 401 || strings.Contains(strings.Join(a.header.Values("X-Amzn-Remapped-Www-Authenticate"), ""), "resource_metadata") || !strings.Contains(string(a.body), "key_not_found") {
		t.Errorf("a token at the door of keys: %d %v %s", a.status, a.header, a.body)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/authorize", "/token"} {
		if a := keys.call("GET", path, "", ""); a.status != 404 {
			t.Errorf("%s at the door of keys: %d", path, a.status)
		}
	}
	if a := door.call("GET", "/v1/health", "", ""); a.status != 404 {
		t.Errorf("the REST API at the OAuth door: %d", a.status)
	}
	if a := door.call("POST", "/mcp/", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer "+token); a.status != 200 {
		t.Errorf("with a final slash: %d %s", a.status, a.body)
	}
}

// company is an authorization server that is not ours.
type company struct {
	url string
	key *ecdsa.PrivateKey
	now func() time.Time
}

func startCompany(t *testing.T, now func() time.Time) *company {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &company{key: key, now: now}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": c.url, "jwks_uri": c.url + "/keys"})
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Use: "sig"}}})
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *company) token(t *testing.T, subject string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: c.key, KeyID: "1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{"iss": c.url, "sub": subject, "client_id": "app-1", "token_use": "access", "exp": c.now().Add(time.Hour).Unix()}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestExternalIssuer: its users call with keys of their own, which are counted, seen and revoked like
// any other.
func TestExternalIssuer(t *testing.T) {
	c := newClock("2026-11-30T12:00:00Z")
	co := startCompany(t, c.now)
	plans := account.Plans{"demo": usage.PerMonth(2)}
	for name, plan := range map[string]string{"let in one by one": "", "made at first sight": "demo"} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{boot.OAuthIssuer: co.url, boot.OAuthAudience: "app-0,app-1", boot.OAuthNewUserPlan: plan, boot.KeyCacheSeconds: "30"}
			door, keys := startOAuth(t, plans, env, func(config *laptop.Config) {
				config.Now = c.now
			})
			if resource := door.call("GET", "/.well-known/oauth-protected-resource/mcp", "", "").json(t); fmt.Sprint(resource["authorization_servers"]) != "["+co.url+"]" {
				t.Errorf("clients are led to %v", resource)
			}
			token := co.token(t, "yuki")
			if plan == "" {
				a := door.with(token, "postal_lookup", aPostalCode)
				if a.status != 401 || !strings.Contains(string(a.body), "sekisho keys create --user NAME --issuer '"+co.url+"' --sub 'yuki'") {
					t.Fatalf("unknown: %d %s", a.status, a.body)
				}
				if _, err := keys.ring.CreateUser(t.Context(), "yuki", "demo"); err != nil {
					t.Fatal(err)
				}
				if _, err := keys.ring.AddKey(t.Context(), issuer.KeyHash(co.url, "yuki"), "yuki", "x"); err != nil {
					t.Fatal(err)
				}
				c.set(c.now().Add(account.DefaultKeyCache).Format(time.RFC3339Nano))
			}
			for i := range 3 {
				if a := door.with(token, "postal_lookup", aPostalCode); a.status != 200 || passed(a) != (i < 2) {
					t.Errorf("call %d: %d %s", i, a.status, a.body)
				}
			}
			if a := door.with(co.token(t, "somebody else"), "postal_lookup", aPostalCode); passed(a) != (plan != "") {
				t.Errorf("another subject: %d %s", a.status, a.body)
			}
			id := issuer.KeyHash(co.url, "yuki").ID()
			key, err := keys.stores.Accounts().Key(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if counts := keys.used(key, thisMonthOf(c)); counts.Used != 2 || counts.Denied != 1 {
				t.Errorf("%+v", counts)
			}
			if err := keys.ring.RevokeKey(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			c.set(c.now().Add(account.DefaultKeyCache).Format(time.RFC3339Nano))
			if a := door.with(token, "postal_lookup", aPostalCode); a.status != 401 || !strings.Contains(string(a.body), "key_inactive") {
				t.Errorf("revoked: %d %s", a.status, a.body)
			}
			if a := door.call("POST", "/token", "", "{}"); a.status != 404 {
				t.Errorf("our own authorization server goes on: %d %s", a.status, a.body)
			}
		})
	}
}

// TestOAuthDoorNeedsDirect: otherwise everybody who signs in would be refused.
func TestOAuthDoorNeedsDirect(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = laptop.New(laptop.Config{
		Stores: db, Functions: laptop.Defaults(map[string]string{boot.Plans: account.Plans{"demo": usage.PerMonth(1)}.String()}), OAuthDoor: &laptop.OAuthDoor{Domain: "127.0.0.1:1"},
	})
	if err == nil || !strings.Contains(err.Error(), "dispatch direct") {
		t.Error(err)
	}
}
