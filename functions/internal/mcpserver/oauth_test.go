package mcpserver_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/issuer"
	"sekisho/functions/internal/mcpserver"
)

const (
	doorAddress = "https://oauth.example"
	goodToken   = "SECRET-token"
)

// tokens are access tokens by what becomes of them.
type tokens struct{}

func (tokens) Authenticate(_ context.Context, token, _ string) (mcpserver.SignedIn, error) {
	in := mcpserver.SignedIn{Key: account.Key{ID: "key_good", Plan: "free"}, Grant: "grant_1", Client: "https://app.example/client", Resource: doorAddress + "/mcp"}
	switch strings.TrimPrefix(token, "SECRET-token") {
	case "":
		return in, nil
	case "-external":
		return mcpserver.SignedIn{Key: in.Key, Client: strings.Repeat("x", 300)}, nil
	case "-elsewhere":
		in.Resource = doorAddress + ".evil.example/mcp"
		return in, nil
	case "-revoked":
		return in, account.ErrInactive
	case "-expired":
		return mcpserver.SignedIn{}, grant.ErrExpired
	case "-ended":
		return mcpserver.SignedIn{}, grant.ErrEnded
	case "-invalid":
		return mcpserver.SignedIn{}, &issuer.InvalidError{Reason: "The token is not valid yet."}
	case "-unknown-user":
		return mcpserver.SignedIn{}, &issuer.UnknownSubjectError{Issuer: "https://login.example", Subject: "o'hara"}
	case "-scope":
		return mcpserver.SignedIn{}, &issuer.ScopeError{Scope: "tools"}
	case "-throttled":
		return mcpserver.SignedIn{}, &account.ThrottledError{Wait: 3 * time.Second}
	case "-issuer-down":
		return mcpserver.SignedIn{}, &issuer.UnavailableError{Wait: 7 * time.Second, Err: errors.New("connection refused")}
	case "-store-down":
		return mcpserver.SignedIn{}, errors.New("dial tcp: connection refused")
	}
	return mcpserver.SignedIn{}, grant.ErrNotFound
}

func bearer(token string) []string { return with("authorization", "Bearer "+token) }

func oauthExchanges(t *testing.T) []exchange {
	key, err := apikey.New()
	if err != nil {
		t.Fatal(err)
	}
	scoped := func(c *mcpserver.Config) { c.OAuth.Scope = "tools" }
	diagnosis := legacy("tools/call", `"name":"utility.diagnose_mcp"`)
	return []exchange{
		{name: "no_token", headers: plain, body: ping},
		{name: "no_token_final_slash", path: "/mcp/", headers: plain, body: ping},
		{name: "no_token_scope", headers: plain, body: ping, change: scoped},
		{name: "get", method: "GET"},
		{name: "key_header", headers: with("x-api-key", goodKey), body: ping},
		{name: "key_as_bearer", headers: bearer(key.Reveal()), body: ping},
		{name: "token_as_key", headers: with("x-api-key", goodToken), body: ping},
		{name: "basic", headers: with("authorization", "Basic U0VDUkVU"), body: ping},
		{name: "two_tokens", headers: with("authorization", "Bearer "+goodToken, "authorization", "Bearer "+goodToken+"-2"), body: ping},
		{name: "token", headers: bearer(goodToken), body: ping},
		{name: "token_beside_key", headers: with("authorization", "Bearer "+goodToken, "x-api-key", revokedKey), body: ping},
		{name: "call", headers: bearer(goodToken), body: legacy("tools/call", lookup)},
		{name: "diagnose", headers: bearer(goodToken), body: diagnosis},
		{name: "diagnose_external", headers: bearer(goodToken + "-external"), body: diagnosis},
		{name: "unknown", headers: bearer(goodToken + "-x"), body: ping},
		{name: "elsewhere", headers: bearer(goodToken + "-elsewhere"), body: ping},
		{name: "revoked", headers: bearer(goodToken + "-revoked"), body: ping},
		{name: "expired", headers: bearer(goodToken + "-expired"), body: ping},
		{name: "ended", headers: bearer(goodToken + "-ended"), body: ping},
		{name: "invalid", headers: bearer(goodToken + "-invalid"), body: ping},
		{name: "unknown_user", headers: bearer(goodToken + "-unknown-user"), body: ping},
		{name: "scope", headers: bearer(goodToken + "-scope"), body: ping, change: scoped},
		{name: "throttled", headers: bearer(goodToken + "-throttled"), body: ping},
		{name: "issuer_down", headers: bearer(goodToken + "-issuer-down"), body: ping},
		{name: "store_down", headers: bearer(goodToken + "-store-down"), body: ping},
	}
}

// TestOAuthExchanges holds every answer of the OAuth door to its golden file. The admission's own ID
// differs from run to run.
func TestOAuthExchanges(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range oauthExchanges(t) {
		seen[filepath.Join("testdata", "oauth", x.name+".txt")] = true
		t.Run(x.name, func(t *testing.T) {
			change := []func(*mcpserver.Config){func(c *mcpserver.Config) { c.OAuth = &mcpserver.OAuth{Tokens: tokens{}} }}
			if x.change != nil {
				change = append(change, x.change)
			}
			w, _ := directWorld(t, func(w *world) backend.Invoker { return byREST(w) }, change...)
			e := x.event()
			e.StageVariables = map[string]string{gateway.OAuthAddress: doorAddress}
			response := w.second(t.Context(), e)
			shown := x
			shown.headers = slices.Clone(x.headers)
			if x.name == "key_as_bearer" { // made anew for each run, so that no scanner finds one
				shown.headers = bearer("API-KEY")
			}
			compare(t, filepath.Join("testdata", "oauth", x.name+".txt"), shown.write(response, w.called(), changing.ReplaceAllString(w.log.String(), "$1=…")))
			noSecretIn(t, w, response)
		})
	}
	files, err := filepath.Glob("testdata/oauth/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f] {
			t.Errorf("%s belongs to no exchange", f)
		}
	}
}

// changing are members of log lines that are made anew for each call.
var changing = regexp.MustCompile(`\b(admission_id|period)=[^ "]+`)

// TestKeyDoorKnowsNoOAuth: with tokens configured, every answer of a door that takes keys is the one
// of its golden file: nothing there leads to an authorization server.
func TestKeyDoorKnowsNoOAuth(t *testing.T) {
	for _, x := range exchanges() {
		t.Run(x.name, func(t *testing.T) {
			change := []func(*mcpserver.Config){func(c *mcpserver.Config) { c.OAuth = &mcpserver.OAuth{Tokens: tokens{}, Scope: "tools"} }}
			if x.change != nil {
				change = append(change, x.change)
			}
			w := newWorld(t, change...)
			compare(t, filepath.Join("testdata", "exchanges", x.name+".txt"), x.write(w.event(t.Context(), x.event()), w.called(), w.log.String()))
		})
	}
	w := newWorld(t, func(c *mcpserver.Config) { c.OAuth = &mcpserver.OAuth{Tokens: tokens{}} })
	r := w.event(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: ping, Headers: map[string]string{"content-type": "application/json", "authorization": "Bearer " + goodToken}})
	if r.StatusCode != 401 || !strings.Contains(r.Body, "key_not_found") {
		t.Errorf("a token at the door of keys: %d %s", r.StatusCode, r.Body)
	}
}

// TestOAuthDoorWithoutTokens: a door that was opened before mcp can check tokens lets nobody in.
func TestOAuthDoorWithoutTokens(t *testing.T) {
	w := newWorld(t)
	r := w.second(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: ping,
		Headers: map[string]string{"content-type": "application/json", "x-api-key": goodKey}, StageVariables: map[string]string{gateway.OAuthAddress: doorAddress}})
	if r.StatusCode != 500 {
		t.Errorf("%d %v %s", r.StatusCode, slices.Sorted(maps.Keys(r.Headers)), r.Body)
	}
}
