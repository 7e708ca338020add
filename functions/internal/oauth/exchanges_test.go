package oauth

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
)

var update = flag.Bool("update", false, "write the recorded exchanges anew")

// script is a host's requests, in the order in which it sends them. What is different each time is
// replaced in the record.
type script struct {
	w      *world
	record strings.Builder
}

var drawn = regexp.MustCompile(`sekisho_(ac|at|rt)_[0-9A-Za-z]{50}|dyn\.[0-9A-Za-z_-]+`)

func (s *script) write(method, path string, query, form url.Values, body string, a answer) {
	fmt.Fprintf(&s.record, "> %s %s\n", method, path)
	for _, values := range []url.Values{query, form} {
		for _, name := range sorted(values) {
			fmt.Fprintf(&s.record, ">   %s=%s\n", name, values.Get(name))
		}
	}
	if body != "" {
		fmt.Fprintf(&s.record, ">   %s\n", body)
	}
	fmt.Fprintf(&s.record, "< %d\n", a.StatusCode)
	for _, name := range []string{"Location", "Content-Type", "Cache-Control", "Access-Control-Allow-Origin"} {
		if a.Headers[name] != "" {
			fmt.Fprintf(&s.record, "< %s: %s\n", name, a.Headers[name])
		}
	}
	if strings.HasPrefix(a.Headers["Content-Type"], "application/json") {
		fmt.Fprintf(&s.record, "<   %s\n", a.Body)
	}
	s.record.WriteByte('\n')
}

func sorted(values url.Values) (names []string) {
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *script) get(path string, query url.Values) answer {
	a := s.w.get(path, query)
	s.write(http.MethodGet, path, query, nil, "", a)
	return a
}

func (s *script) post(path string, form url.Values) answer {
	a := s.w.post(path, form)
	if form.Has(keyField) {
		form = with(form, keyField, "KEY")
	}
	s.write(http.MethodPost, path, nil, form, "", a)
	return a
}

// signIn is a host's way from its authorization request to its first refresh.
func (s *script) signIn(query url.Values) {
	s.w.t.Helper()
	page := s.get(authorizePath, query)
	s.w.headers = map[string]string{"origin": door, "sec-fetch-site": "same-origin"}
	back := s.w.location(s.post(authorizePath, with(form(page), keyField, s.w.key, decisionField, allow)))
	s.w.headers = nil
	got := s.w.issued(s.post(tokenPath, url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": query["redirect_uri"],
		"client_id": query["client_id"], "code_verifier": {verifier}, "resource": query["resource"],
	}))
	s.w.issued(s.post(tokenPath, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}, "client_id": query["client_id"], "resource": query["resource"],
	}))
}

func (s *script) compare(t *testing.T, name string) {
	t.Helper()
	got := drawn.ReplaceAllStringFunc(s.record.String(), func(text string) string {
		if strings.HasPrefix(text, registrationPrefix) {
			return registrationPrefix + "…"
		}
		return text[:len("sekisho_xx_")] + "…"
	})
	file := filepath.Join("testdata", "exchanges", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%v; %s is now:\n%s", err, file, got)
	}
}

// authorization is the request that hosts have in common.
func authorization(client, redirect string) url.Values {
	return url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"oauth_s_6a1b"}, "scope": {"mcp"},
		"code_challenge": {challenged}, "code_challenge_method": {"S256"}, "resource": {door + mcpPath},
	}
}

// TestChatGPT: as sentry-mcp#1271 and cloudflare/workers-oauth-provider#293 report it, with the redirect
// of a connector and the one of before.
func TestChatGPT(t *testing.T) {
	for name, c := range map[string]struct{ client, redirect string }{
		"chatgpt":        {"https://chatgpt.com/oauth/IbUR3zxyNQ16/client.json", "https://chatgpt.com/connector/oauth/IbUR3zxyNQ16"},
		"chatgpt-legacy": {"https://chatgpt.com/oauth/client.json", "https://chatgpt.com/connector_platform_oauth_redirect"},
	} {
		s := &script{w: newWorld(t, option{env: map[string]string{boot.OAuthClientHosts: "chatgpt.com"}})}
		s.w.web.document(c.client, map[string]any{
			"client_id": c.client, "client_uri": "https://chatgpt.com/", "redirect_uris": []string{c.redirect}, "client_name": "ChatGPT",
			"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": []string{"none", "private_key_jwt"},
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
			"token_endpoint_auth_signing_alg": "RS256", "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
		})
		s.get(gateway.ResourceMetadata+mcpPath, nil)
		s.get(serverPath, nil)
		s.signIn(authorization(c.client, c.redirect))
		s.compare(t, name)
		if n := s.w.web.requests.Load(); n != 1 {
			t.Errorf("%s: the document was fetched %d times", name, n)
		}
	}
}

// TestClaude: as hevy-mcp#942 and claude-ai-mcp#846 report it; some versions guess the endpoints at the
// root without reading metadata.
func TestClaude(t *testing.T) {
	const client, redirect = "https://claude.ai/oauth/mcp-oauth-client-metadata", "https://claude.ai/api/mcp/auth_callback"
	s := &script{w: newWorld(t, option{})}
	s.w.web.document(client, map[string]any{"client_id": client, "client_name": "Claude", "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none"})
	s.signIn(with(authorization(client, redirect), "scope", "mcp offline_access claudeai"))
	s.compare(t, "claude")
}

// TestRegisteredHost: what hosts do that know no client documents.
func TestRegisteredHost(t *testing.T) {
	s := &script{w: newWorld(t, option{})}
	const body = `{"client_name":"MCP Inspector","redirect_uris":["http://localhost:6274/oauth/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none","client_uri":"https://modelcontextprotocol.io"}`
	a := s.w.do(http.MethodPost, registerPath, "", body, map[string]string{"content-type": "application/json"})
	s.write(http.MethodPost, registerPath, nil, nil, body, a)
	var made registrationAnswer
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil {
		t.Fatal(err)
	}
	s.signIn(authorization(made.ID, made.Redirects[0]))
	s.compare(t, "registered")
}

// TestMetadata: the resource is the address whose metadata was asked for, and all of it may be read by
// any page.
func TestMetadata(t *testing.T) {
	w := newWorld(t, option{})
	for path, resource := range map[string]string{"": "/mcp", "/mcp": "/mcp", "/mcp/": "/mcp/"} {
		var m protectedResource
		a := w.get(gateway.ResourceMetadata+path, nil)
		if err := json.Unmarshal([]byte(a.Body), &m); err != nil || m.Resource != door+resource || !slices.Equal(m.Servers, []string{door}) || a.Headers["Access-Control-Allow-Origin"] != "*" {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	if w.get(serverPath, nil).Body != w.get(openIDPath, nil).Body {
		t.Error("the twins differ")
	}
	for path, e := range endpoints {
		a := w.do(http.MethodOptions, path, "", "", map[string]string{"origin": "https://inspector.example"})
		if want := map[bool]int{true: http.StatusNoContent, false: http.StatusMethodNotAllowed}[e.crossOrigin]; a.StatusCode != want {
			t.Errorf("preflight of %s: %d", path, a.StatusCode)
		}
		if a := w.do(http.MethodDelete, path, "", "", nil); a.StatusCode != http.StatusMethodNotAllowed || a.Headers["Allow"] == "" {
			t.Errorf("DELETE %s: %d", path, a.StatusCode)
		}
	}
	refused(t, "elsewhere", w.get("/.well-known/jwks.json", nil), http.StatusNotFound, invalidRequest)
}

// TestExternalIssuer: pointers to it and nothing else, or its document completed.
func TestExternalIssuer(t *testing.T) {
	const idp = "https://idp.example/pool"
	cognito := map[string]any{"issuer": idp, "authorization_endpoint": idp + "/authorize", "token_endpoint": idp + "/token", "jwks_uri": idp + "/jwks", "authorization_response_iss_parameter_supported": true}
	env := map[string]string{boot.OAuthIssuer: idp, boot.OAuthScope: "tools/call"}
	w := newWorld(t, option{env: env})
	if body := w.get(gateway.ResourceMetadata+mcpPath, nil).Body; !strings.Contains(body, `"authorization_servers":["`+idp+`"]`) || !strings.Contains(body, "tools/call") {
		t.Error(body)
	}
	for path, e := range endpoints {
		if e.own || path == serverPath {
			refused(t, path, w.do(e.methods[0], path, "", "", nil), http.StatusNotFound, invalidRequest)
		}
	}
	env[boot.OAuthOwnMetadata] = "true"
	w = newWorld(t, option{env: env})
	if a := w.get(serverPath, nil); a.StatusCode != http.StatusServiceUnavailable || a.Headers["Retry-After"] == "" {
		t.Errorf("out of reach: %d %s", a.StatusCode, a.Body)
	}
	at := "https://idp.example/.well-known/oauth-authorization-server/pool"
	w.web.document(at, map[string]any{"issuer": "https://other.example", "authorization_endpoint": "x", "token_endpoint": "y"})
	if a := w.get(serverPath, nil); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("another's document: %d %s", a.StatusCode, a.Body)
	}
	w.web.document(at, cognito)
	var m map[string]any
	body := w.get(serverPath, nil).Body
	if err := json.Unmarshal([]byte(body), &m); err != nil || m["issuer"] != door || m["token_endpoint"] != idp+"/token" || m["authorization_response_iss_parameter_supported"] != nil || fmt.Sprint(m["code_challenge_methods_supported"]) != "[S256]" {
		t.Errorf("%s", body)
	}
	before := w.web.requests.Load()
	if w.get(openIDPath, nil).Body != body || w.web.requests.Load() != before {
		t.Error("the document isn't kept")
	}
	if servers := w.get(gateway.ResourceMetadata, nil).Body; !strings.Contains(servers, `"authorization_servers":["`+door+`"]`) {
		t.Error(servers)
	}
}

// TestWords: both languages have each sentence, with as many places.
func TestWords(t *testing.T) {
	places := regexp.MustCompile(`%[sd]`)
	var source strings.Builder
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && file != "words.go" && !strings.HasSuffix(file, "_test.go") {
			source.Write(text)
		}
	}
	for word, in := range words {
		if !strings.Contains(source.String(), `"`+word+`"`) {
			t.Errorf("%s is not used", word)
		}
		if len(in) != 2 || in[english] == "" || in[japanese] == "" || len(places.FindAllString(in[english], -1)) != len(places.FindAllString(in[japanese], -1)) {
			t.Errorf("%s: %v", word, in)
		}
	}
	w := newWorld(t, option{})
	w.app()
	for header, want := range map[string]string{"": "en", "ja": "ja", "ja-JP,en;q=0.5": "ja", "en-GB,ja;q=0.5": "en", "fr": "en", "fr,ja;q=0.3": "ja", ";;;": "en"} {
		w.headers = map[string]string{"accept-language": header}
		if a := w.get(authorizePath, request()); a.Headers["Content-Language"] != want || !strings.Contains(a.Body, `<html lang="`+want+`">`) {
			t.Errorf("%q: %s", header, a.Headers["Content-Language"])
		}
	}
}

// TestEnvironment: what can't be is refused when the function starts, with the variable's name.
func TestEnvironment(t *testing.T) {
	for variable, values := range map[string][]string{
		boot.OAuthClients:       {"[]", `{"a":{}}`, `{"a":{"redirect_uris":["javascript:x"]}}`, `{"https://a.example":{"redirect_uris":["https://a.example/"]}}`},
		boot.OAuthClientHosts:   {"https://a.example", "a b"},
		boot.OAuthRedirectHosts: {"a.example/x"},
		boot.OAuthRegistration:  {"no"},
		boot.OAuthAccessMinutes: {"0", "x", "2000"},
		boot.OAuthGrantDays:     {"0"},
	} {
		for _, value := range values {
			env := boot.Env(boot.Map(map[string]string{variable: value}))
			_, policy := policyFromEnv(env)
			_, lifetime := lifetimeFromEnv(env)
			if err := fmt.Sprint(policy, lifetime); !strings.Contains(err, variable) {
				t.Errorf("%s=%s: %s", variable, value, err)
			}
		}
	}
	w := newWorld(t, option{env: map[string]string{boot.OAuthClients: `{"corp":{"name":"Corp","redirect_uris":["https://corp.example/cb"]}}`}})
	if page := w.get(authorizePath, request("client_id", "corp", "redirect_uri", "https://corp.example/cb")); !strings.Contains(page.Body, "registered by this server") {
		t.Errorf("%d %s", page.StatusCode, page.Body)
	}
}
