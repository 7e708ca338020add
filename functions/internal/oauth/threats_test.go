package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/outbound"
)

// The tests of this file are named in THREATS.md, each by the threat that it meets.

// TestSignIn is the way as it should go: page, consent, code, tokens, refresh, revocation.
func TestSignIn(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	back := w.consent(request())
	if got := back.Query(); got.Get("iss") != door || got.Get("state") != "xyzzy" || !strings.HasPrefix(back.String(), appBack+"?") {
		t.Fatalf("back to %s", back)
	}
	first := w.issued(w.post(tokenPath, redeem(back.Query().Get("code"))))
	if first.Type != "Bearer" || first.ExpiresIn != 3600 || first.Scope != scope || first.Refresh == "" {
		t.Errorf("%+v", first)
	}
	access, err := grant.Parse(first.Access)
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.store.Grants().Grant(t.Context(), access.GrantID())
	if err != nil || g.Check(access, w.clock) != nil || g.KeyID != w.id || g.Client != (grant.Client{ID: appID, Name: "App", Host: "app.example"}) || g.Resource != door+"/mcp" {
		t.Errorf("%+v, %v", g, err)
	}
	second := w.issued(w.post(tokenPath, refreshing(first.Refresh)))
	if second.Refresh == first.Refresh || second.Access == first.Access {
		t.Error("the tokens were not rotated")
	}
	if a := w.post(revokePath, url.Values{"token": {second.Access}, "client_id": {appID}}); a.StatusCode != http.StatusOK {
		t.Errorf("revocation: %d %s", a.StatusCode, a.Body)
	}
	refused(t, "after revocation", w.post(tokenPath, refreshing(second.Refresh)), http.StatusBadRequest, invalidGrant)
	if a := w.post(revokePath, url.Values{"token": {"sekisho_at_nothing"}, "client_id": {appID}}); a.StatusCode != http.StatusOK {
		t.Errorf("revocation of an unknown token: %d", a.StatusCode)
	}
}

// TestPhishingByClientNames: what somebody vouches for comes first; what a client says of itself is
// marked as that, and can't turn, hide or fill the page.
func TestPhishingByClientNames(t *testing.T) {
	w := newWorld(t, option{})
	const evil = "https://other.example/client.json"
	w.web.document(evil, map[string]any{
		"client_id": evil, "client_name": "ChatGPT\u202e\u200b <b>by OpenAI</b>\nverified" + strings.Repeat("!", 200), "redirect_uris": []string{"https://other.example/back"},
		"logo_uri": "https://chatgpt.com/logo.png", "client_uri": "https://chatgpt.com",
	})
	page := w.get(authorizePath, request("client_id", evil, "redirect_uri", "https://other.example/back"))
	who, calls := strings.Index(page.Body, `<strong id="who">other.example</strong>`), strings.Index(page.Body, "Calls itself")
	if who < 0 || calls < who {
		t.Errorf("the host doesn't come first: %s", page.Body)
	}
	if strings.ContainsAny(page.Body, "\u202e\u200b") || strings.Contains(page.Body, "<b>") || strings.Contains(page.Body, "chatgpt.com") || strings.Contains(page.Body, strings.Repeat("!", 80)) {
		t.Errorf("the client writes on the page: %s", page.Body)
	}
	registered := w.register(map[string]any{"client_name": "Claude", "redirect_uris": []string{"https://other.example/back"}})
	page = w.get(authorizePath, request("client_id", registered, "redirect_uri", "https://other.example/back"))
	if !strings.Contains(page.Body, "Nobody has verified this app") || !strings.Contains(page.Body, `<dd id="leads">other.example</dd>`) {
		t.Errorf("a client that nobody vouches for: %s", page.Body)
	}
	for name, want := range map[string]string{"a\u0301\u0301\u0301\u0301b": "a\u0301\u0301b", "\u3164": "", " x \t y ": "x y", "日本語": "日本語", "\ufeffA\u00ad": "A"} {
		if got := shown(name); got != want {
			t.Errorf("shown(%+q) = %+q, want %+q", name, got, want)
		}
	}
	for _, id := range []string{"https://аpp.example/client.json", "https://app.example@other.example/c", "https://127.0.0.1/c", "https://app.example", "https://localhost/c",
		"https://app.example/../c", "https://app.example/c#x", "http://app.example/c", "https://APP.example/c", "https://app.example/%63", "https://2130706433/c", "https://[::1]/c", "https://app.example./c"} {
		if a := w.get(authorizePath, request("client_id", id)); a.StatusCode != http.StatusBadRequest || a.Headers["Location"] != "" {
			t.Errorf("%s: %d", id, a.StatusCode)
		}
	}
}

func (w *world) register(metadata map[string]any) string {
	w.t.Helper()
	body, err := json.Marshal(metadata)
	if err != nil {
		w.t.Fatal(err)
	}
	a := w.do(http.MethodPost, registerPath, "", string(body), map[string]string{"content-type": "application/json"})
	var made registrationAnswer
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil || a.StatusCode != http.StatusCreated || made.Method != "none" {
		w.t.Fatalf("registration: %d %s", a.StatusCode, a.Body)
	}
	return made.ID
}

// TestMixedUpIssuers: every answer to a client says who gives it, successes and errors alike.
func TestMixedUpIssuers(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	for what, a := range map[string]answer{
		"error":  w.get(authorizePath, request("code_challenge", "")),
		"denial": w.post(authorizePath, with(request(), decisionField, deny)),
	} {
		if q := w.location(a).Query(); q.Get("iss") != door || q.Get("error") == "" || q.Get("state") != "xyzzy" || q.Has("code") {
			t.Errorf("%s: %v", what, q)
		}
	}
	var m authorizationServer
	if err := json.Unmarshal([]byte(w.get(serverPath, nil).Body), &m); err != nil || m.Issuer != door || !m.ISS || w.consent(request()).Query().Get("iss") != m.Issuer {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestCodeInjection: a code is good once, for the client, redirect and verifier that it was asked with.
func TestCodeInjection(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	for _, wrong := range [][]string{{"code_challenge", ""}, {"code_challenge_method", "plain"}, {"code_challenge_method", ""}, {"code_challenge", "short"}, {"response_type", "token"}, {"response_mode", "fragment"}, {"request", "x"}} {
		if q := w.location(w.get(authorizePath, request(wrong...))).Query(); q.Get("error") == "" {
			t.Errorf("%v: %v", wrong, q)
		}
	}
	code := w.consent(request()).Query().Get("code")
	other := w.register(map[string]any{"redirect_uris": []string{appBack}})
	for _, wrong := range [][]string{{"code_verifier", ""}, {"code_verifier", strings.Repeat("a", 43)}, {"redirect_uri", "https://other.example/back"}, {"client_id", other}, {"code_verifier", challenged}} {
		refused(t, fmt.Sprint(wrong), w.post(tokenPath, redeem(code, wrong...)), http.StatusBadRequest, invalidGrant)
	}
	refused(t, "another server's resource", w.post(tokenPath, redeem(code, "resource", "https://other.example/mcp")), http.StatusBadRequest, invalidTarget)
	tokens := w.issued(w.post(tokenPath, redeem(code, "redirect_uri", ""))) // OAuth 2.1 has none here
	refused(t, "twice", w.post(tokenPath, redeem(code)), http.StatusBadRequest, invalidGrant)
	refused(t, "after that", w.post(tokenPath, refreshing(tokens.Refresh)), http.StatusBadRequest, invalidGrant)

	late := w.consent(request()).Query().Get("code")
	w.clock = w.clock.Add(grant.CodeLasts)
	refused(t, "late", w.post(tokenPath, redeem(late)), http.StatusBadRequest, invalidGrant)
}

// TestTokenTheft: tokens are for one resource and client, short-lived and rotated; reuse ends all, and
// so does the end of the key.
func TestTokenTheft(t *testing.T) {
	w := newWorld(t, option{env: map[string]string{boot.OAuthAccessMinutes: "5", boot.OAuthGrantDays: "1"}})
	first := w.signIn()
	if first.ExpiresIn != 300 {
		t.Errorf("a token for %d s", first.ExpiresIn)
	}
	other := w.register(map[string]any{"redirect_uris": []string{appBack}})
	refused(t, "another client", w.post(tokenPath, refreshing(first.Refresh, "client_id", other)), http.StatusBadRequest, invalidGrant)
	refused(t, "another resource", w.post(tokenPath, refreshing(first.Refresh, "resource", "https://other.example/mcp")), http.StatusBadRequest, invalidTarget)
	refused(t, "an access token", w.post(tokenPath, refreshing(first.Access)), http.StatusBadRequest, invalidGrant)
	if q := w.location(w.get(authorizePath, request("resource", "https://other.example/mcp"))).Query(); q.Get("error") != invalidTarget {
		t.Errorf("%v", q)
	}
	second := w.issued(w.post(tokenPath, refreshing(first.Refresh)))
	lost := w.issued(w.post(tokenPath, refreshing(first.Refresh)))
	if lost.Refresh != second.Refresh {
		t.Error("a lost answer is not given again")
	}
	w.clock = w.clock.Add(grant.Leeway)
	refused(t, "reuse", w.post(tokenPath, refreshing(first.Refresh)), http.StatusBadRequest, invalidGrant)
	refused(t, "after reuse", w.post(tokenPath, refreshing(second.Refresh)), http.StatusBadRequest, invalidGrant)

	third := w.signIn()
	if a := w.post(revokePath, url.Values{"token": {third.Access}, "client_id": {other}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("another client revokes: %d %s", a.StatusCode, a.Body)
	}
	if err := w.keyring.RevokeKey(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	refused(t, "a revoked key", w.post(tokenPath, refreshing(third.Refresh)), http.StatusBadRequest, invalidGrant)
	token, _ := grant.Parse(third.Access)
	if g, err := w.store.Grants().Grant(t.Context(), token.GrantID()); err != nil || g.Live(w.clock) {
		t.Errorf("the grant outlives its key: %v", err)
	}
	refusedKey := w.post(authorizePath, with(request(), keyField, w.key, decisionField, allow))
	if refusedKey.StatusCode != http.StatusForbidden || !strings.Contains(refusedKey.Body, "revoked") {
		t.Errorf("a revoked key signs in: %d", refusedKey.StatusCode)
	}
}

// TestNothingSecretIsLogged: whatever goes well or wrong.
func TestNothingSecretIsLogged(t *testing.T) {
	w := newWorld(t, option{})
	got := w.signIn()
	w.post(tokenPath, refreshing(got.Refresh))
	w.post(authorizePath, with(request(), keyField, "sekisho_wrong", decisionField, allow))
	w.get(authorizePath, request("client_id", "https://other.example/missing"))
	w.do(http.MethodGet, "/secret-path", "", "", nil)
	entries := w.logs.All()
	if len(entries) < 6 {
		t.Fatalf("%d lines", len(entries))
	}
	for _, e := range entries {
		line, err := json.Marshal(e.ContextMap())
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"sekisho_", "xyzzy", verifier, challenged, "secret-path", w.key[8:]} {
			if strings.Contains(string(line), secret) {
				t.Errorf("%s is in %s", secret, line)
			}
		}
	}
	last := w.logs.FilterField(zap.String("outcome", "issued")).All()
	if len(last) != 2 || last[1].ContextMap()["key_id"] != w.id || last[1].ContextMap()["client"] != appID || !strings.HasPrefix(last[1].ContextMap()["grant_id"].(string), "grant_") {
		t.Errorf("%v", last)
	}
}

// TestOpenRedirects: nobody is sent to an address that isn't the client's own, whatever else is wrong.
func TestOpenRedirects(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	for _, to := range []string{"", "https://other.example/back", appBack + "/", appBack + "?x=1", appBack + "#f", "https://app.example/BACK", "https://app.example:444/back", "http://app.example/back",
		"https://app.example@other.example/back", `https://app.example\@other.example/back`, "https://app.example/back/../other", "//app.example/back", "javascript:alert(1)", "http://127.0.0.1:80/other",
		"http://127.0.0.1.other.example/back", "http://localhost:1/back", "https://app.example/back\n", "HTTPS://app.example/back", "http://127.0.0.1@other.example/back"} {
		for _, q := range []url.Values{request("redirect_uri", to), request("redirect_uri", to, "response_type", "x")} {
			for _, a := range []answer{w.get(authorizePath, q), w.post(authorizePath, with(q, decisionField, deny))} {
				if a.StatusCode != http.StatusBadRequest || a.Headers["Location"] != "" || strings.Contains(a.Body, "<form") {
					t.Errorf("%s: %d to %s", to, a.StatusCode, a.Headers["Location"])
				}
			}
		}
	}
	for _, port := range []string{"", ":1", ":54321"} {
		to := "http://127.0.0.1" + port + "/back"
		if u := w.consent(request("redirect_uri", to)); u.Host != "127.0.0.1"+port || u.Path != "/back" {
			t.Errorf("%s leads to %s", to, u)
		}
	}
	for _, bad := range []string{"http://example.com/x", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://a.example/x", "foo:/bar", "about:blank", "https://u:p@a.example/", "https://a.example/#f", "https://a.example/ x", "https://a.example:/x", "mailto:a@b.example", "https:/x", "https://%61.example/x"} {
		if _, ok := parseRedirect(bad); ok {
			t.Errorf("%s may be registered", bad)
		}
	}
	for _, good := range []string{"cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/callback", "http://[::1]:8080/cb", "http://localhost/cb", "https://vscode.dev/redirect", "https://a.example/?x=1"} {
		if _, ok := parseRedirect(good); !ok {
			t.Errorf("%s may not be registered", good)
		}
	}
}

// TestSSRFByClientDocuments: a client ID is a stranger's URL. Nothing that isn't public is dialled,
// whatever its name, nothing is followed, and neither size nor slowness holds anything up.
func TestSSRFByClientDocuments(t *testing.T) {
	t.Run("private addresses behind names", func(t *testing.T) {
		// No network of ours: the guard of outbound looks at the address that is really dialled, so a name
		// that resolves to another one at each look (DNS rebinding) gains nothing.
		w := newWorld(t, option{network: func(*web) outbound.Config { return outbound.Config{} }})
		for _, at := range []string{"localhost", "127.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "192.168.0.1"} {
			_, err := outbound.Do(t.Context(), w.server.clients.documents.outbound, outbound.Request{URL: "https://" + at + ":" + port(w.web) + "/client.json", Attempts: 1}, outbound.JSON[document])
			var blocked *outbound.BlockedAddressError
			if !errors.As(err, &blocked) {
				t.Errorf("%s: %v", at, err)
			}
		}
		if n := w.web.requests.Load(); n != 0 {
			t.Errorf("%d requests arrived", n)
		}
	})
	w := newWorld(t, option{})
	const at = "https://other.example/client.json"
	try := func(what string, page http.HandlerFunc) {
		t.Helper()
		w.clock = w.clock.Add(time.Minute)
		w.web.serve(at, page)
		before, started := w.web.requests.Load(), time.Now()
		a := w.get(authorizePath, request("client_id", at, "redirect_uri", "https://other.example/back"))
		if a.StatusCode != http.StatusBadRequest || !strings.Contains(a.Body, "other.example") || a.Headers["Location"] != "" {
			t.Errorf("%s: %d %s", what, a.StatusCode, a.Body)
		}
		if n := w.web.requests.Load() - before; n != 1 || time.Since(started) > documentTimeout+2*time.Second {
			t.Errorf("%s: %d requests in %s", what, n, time.Since(started))
		}
	}
	w.web.document("https://other.example/real.json", map[string]any{"client_id": at, "redirect_uris": []string{"https://other.example/back"}})
	for _, to := range []string{"/real.json", "https://169.254.169.254/latest/meta-data/", "http://127.0.0.1/"} {
		try("a redirect to "+to, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusFound) })
	}
	try("too large", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `{"client_id":%q,"x":%q}`, at, strings.Repeat("x", mostDocument))
	})
	try("never ends", func(rw http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := rw.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	try("slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	try("an error that quotes", func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "internal secret", http.StatusInternalServerError)
	})
	try("not JSON", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "<html>") })
	try("another's document", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `{"client_id":%q,"redirect_uris":[%q]}`, appID, appBack)
	})
	try("a secret is needed", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `{"client_id":%q,"redirect_uris":["https://other.example/back"],"token_endpoint_auth_method":"private_key_jwt"}`, at)
	})

	for range 60 {
		w.get(authorizePath, request("client_id", at))
	}
	if a := w.get(authorizePath, request("client_id", at)); a.StatusCode != http.StatusTooManyRequests || a.Headers["Retry-After"] == "" {
		t.Errorf("fetches are not limited: %d", a.StatusCode)
	}
	before := w.web.requests.Load()
	w.post(tokenPath, refreshing("sekisho_rt_x", "client_id", at))
	w.post(revokePath, url.Values{"token": {"x"}, "client_id": {at}})
	if w.web.requests.Load() != before {
		t.Error("a token request fetches a document")
	}
}

// TestCSRFAndFraming: no other site can send the form, show the page in a frame, or add to it.
func TestCSRFAndFraming(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	for _, from := range []map[string]string{
		{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://other.example"}, {"origin": "null"},
		{"origin": door + ",https://other.example"}, {"origin": "http://oauth.example"}, {"origin": door, "sec-fetch-site": "cross-site"},
	} {
		w.headers = from
		a := w.post(authorizePath, with(request(), keyField, w.key, decisionField, allow))
		if a.StatusCode != http.StatusForbidden || a.Headers["Location"] != "" {
			t.Errorf("%v: %d to %s", from, a.StatusCode, a.Headers["Location"])
		}
	}
	w.headers = map[string]string{"origin": door, "sec-fetch-site": "same-origin"}
	w.consent(request())
	w.headers = nil
	for to, target := range map[string]string{appBack: "https://app.example", "http://127.0.0.1:33418/back": "http://127.0.0.1:33418"} {
		a := w.get(authorizePath, request("redirect_uri", to))
		policy := a.Headers["Content-Security-Policy"]
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self' " + target, "style-src 'sha256-"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s: %s", to, want, policy)
			}
		}
		for name, value := range map[string]string{"X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "Access-Control-Allow-Origin": ""} {
			if a.Headers[name] != value {
				t.Errorf("%s is %q", name, a.Headers[name])
			}
		}
		if strings.Contains(a.Body, "<script") {
			t.Error("the page has a script")
		}
	}
	page := w.get(authorizePath, request("state", `"><script>alert(1)</script>`))
	if strings.Contains(page.Body, "<script") || form(page).Get("state") != `"><script>alert(1)</script>` {
		t.Errorf("the state writes on the page: %s", page.Body)
	}
	if a := w.get(authorizePath, with(request(), keyField, w.key, decisionField, allow)); a.StatusCode != http.StatusOK || strings.Contains(a.Body, w.key) {
		t.Errorf("a key in the query: %d", a.StatusCode)
	}
}

// TestBruteForceOfKeys: an address may try few keys, and all together few more; a person with a right
// key is told to wait, and gets in after.
func TestBruteForceOfKeys(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	try := func(key string) answer {
		return w.post(authorizePath, with(request(), keyField, key, decisionField, allow))
	}
	wrong := func() string {
		other := newWorld(t, option{})
		return other.key
	}()
	statuses := []int{}
	for range 12 {
		statuses = append(statuses, try(wrong).StatusCode)
	}
	if n := slices.Index(statuses, http.StatusTooManyRequests); n != 10 {
		t.Errorf("%v: want 429 after 10", statuses)
	}
	if a := try(w.key); a.StatusCode != http.StatusTooManyRequests || a.Headers["Retry-After"] == "" || !strings.Contains(a.Body, "was not looked at") {
		t.Errorf("a right key meanwhile: %d %s", a.StatusCode, a.Body)
	}
	for n := range 100 { // from as many addresses
		w.from = fmt.Sprintf("198.51.100.%d", n)
		try(wrong)
	}
	w.from = "203.0.113.1"
	if a := try(wrong); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("no limit in all: %d", a.StatusCode)
	}
	w.clock = w.clock.Add(time.Minute)
	w.location(try(w.key))
	for key, says := range map[string]string{"": "Enter your API key", "hello": "not an API key", wrong: "doesn&#39;t know that key"} {
		a := try(key)
		if !strings.Contains(a.Body, says) || !strings.Contains(a.Body, "<form") || key != "" && strings.Contains(a.Body, key+`"`) || a.StatusCode != http.StatusForbidden && key != "" {
			t.Errorf("%q: %d %s", key, a.StatusCode, a.Body)
		}
	}
}

// TestRegistrationsFillNothing: a registration is limited, expires, keeps to the operator's list, and
// can't be made up beyond what it says.
func TestRegistrationsFillNothing(t *testing.T) {
	w := newWorld(t, option{env: map[string]string{boot.OAuthRedirectHosts: "localhost,app.example,cursor:"}})
	id := w.register(map[string]any{"client_name": "CLI", "redirect_uris": []string{"http://localhost:1/cb", "cursor://x/y"}})
	q := request("client_id", id, "redirect_uri", "http://localhost:2/cb")
	w.consent(q)
	for _, forged := range []registration{
		{Redirects: []string{"https://other.example/cb"}, IssuedAt: began.Unix()}, {IssuedAt: began.Unix()},
		{Redirects: []string{"http://localhost:2/cb"}, IssuedAt: began.Add(time.Hour).Unix()},
	} {
		if a := w.get(authorizePath, with(q, "client_id", forged.id())); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%+v: %d", forged, a.StatusCode)
		}
	}
	for body, code := range map[string]string{
		`{"redirect_uris":["https://other.example/cb"]}`: invalidRedirect, `{"redirect_uris":[]}`: invalidRedirect, `{"redirect_uris":["javascript:x"]}`: invalidRedirect,
		`[]`: invalidMetadata, `{"redirect_uris":["http://localhost/"],"grant_types":["client_credentials"]}`: invalidMetadata, strings.Repeat(" ", mostRegistration+1): invalidMetadata,
	} {
		refused(t, body[:min(len(body), 60)], w.do(http.MethodPost, registerPath, "", body, nil), http.StatusBadRequest, code)
	}
	w.clock = w.clock.Add(registrationLasts + time.Second)
	if a := w.get(authorizePath, q); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.Body, "30 days") {
		t.Errorf("an old registration: %d", a.StatusCode)
	}
	limited := false
	for range 40 {
		limited = limited || w.do(http.MethodPost, registerPath, "", `{"redirect_uris":["http://localhost/"]}`, nil).StatusCode == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("registrations are not limited")
	}
	off := newWorld(t, option{env: map[string]string{boot.OAuthRegistration: "false"}})
	refused(t, "off", off.do(http.MethodPost, registerPath, "", `{"redirect_uris":["http://localhost/"]}`, nil), http.StatusBadRequest, invalidRequest)
	if a := off.get(authorizePath, q); a.StatusCode != http.StatusBadRequest || strings.Contains(off.get(serverPath, nil).Body, "registration_endpoint") {
		t.Errorf("off: %d", a.StatusCode)
	}
}

// TestRaces: many exchanges of one code at once issue tokens once at most, and of one refresh token
// all get the same next one.
func TestRaces(t *testing.T) {
	w := newWorld(t, option{})
	w.app()
	race := func(form url.Values) (refresh []string) {
		var wait sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			wait.Go(func() {
				a := w.post(tokenPath, form)
				var got tokens
				_ = json.Unmarshal([]byte(a.Body), &got)
				mu.Lock()
				defer mu.Unlock()
				if got.Refresh != "" {
					refresh = append(refresh, got.Refresh)
				} else if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("%d %s", a.StatusCode, a.Body)
				}
			})
		}
		wait.Wait()
		slices.Sort(refresh)
		return slices.Compact(refresh)
	}
	if got := race(redeem(w.consent(request()).Query().Get("code"))); len(got) != 1 {
		t.Errorf("%d refresh tokens for a code", len(got))
	}
	if got := race(refreshing(w.signIn().Refresh)); len(got) != 1 {
		t.Errorf("%d next refresh tokens", len(got))
	}
}

func port(w *web) string {
	_, p, _ := strings.Cut(w.Listener.Addr().String(), ":")
	return p
}

// TestTooManyApps: a key that is full says so on the page, and nothing else changes.
func TestTooManyApps(t *testing.T) {
	w := newWorld(t, option{})
	for range grant.MaxPerKey {
		w.signIn()
	}
	a := w.post(authorizePath, with(request(), keyField, w.key, decisionField, allow))
	if a.StatusCode != http.StatusForbidden || !strings.Contains(a.Body, "Too many apps") || !strings.Contains(a.Body, "<form") {
		t.Errorf("%d %s", a.StatusCode, a.Body)
	}
}
