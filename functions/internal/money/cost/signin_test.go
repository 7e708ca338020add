package cost_test

import (
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

	"sekisho/functions/internal/money/cost"
)

// A host that was registered beforehand: what a client's document costs beside is one request to
// elsewhere, once for each instance.
const (
	hostID       = "desk"
	hostRedirect = "http://127.0.0.1:43210/callback"
	hosts        = `{"` + hostID + `":{"name":"Desk","redirect_uris":["` + hostRedirect + `"]}}`
)

// What the page sends with the key.
var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	keyField    = regexp.MustCompile(`<input id="key" name="([^"]+)"`)
	consent     = regexp.MustCompile(`<button class="main" name="([^"]+)" value="([^"]+)">`)
)

// signIns has n people sign in, each with a key of its own, and renews the tokens that their hosts got.
func (w *world) signIns(n int) map[cost.Visit]cost.Counts {
	w.t.Helper()
	var refresh []string
	counts := map[cost.Visit]cost.Counts{cost.SignIn: w.count(n, false, func() int64 {
		w.forget() // lets the throttles of the door recover, too
		token, size := w.signIn(w.key(plentiful, fmt.Sprintf("signs-in-%d", len(refresh))))
		refresh = append(refresh, token)
		return size
	})}
	renewed := 0
	counts[cost.Refresh] = w.count(n, false, func() int64 {
		_, size := w.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh[renewed]}})
		renewed++
		return size
	})
	return counts
}

// signIn is what a host and a browser send for one person. It returns the refresh token, and the size of
// the answers.
func (w *world) signIn(key string) (refresh string, size int64) {
	w.t.Helper()
	send := func(method, path string, form url.Values, want int) (string, http.Header) {
		body, header, bytes := w.atOAuthDoor(method, path, form, want)
		size += bytes
		return body, header
	}
	send("GET", "/.well-known/oauth-protected-resource/mcp", nil, http.StatusOK)
	send("GET", "/.well-known/oauth-authorization-server", nil, http.StatusOK)
	verifier := strings.Repeat("v", 43)
	challenge := sha256.Sum256([]byte(verifier))
	page, _ := send("GET", "/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {hostID}, "redirect_uri": {hostRedirect}, "state": {"a-state-of-the-host"}, "scope": {"mcp"},
		"resource": {w.Door + "/mcp"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode(), nil, http.StatusOK)
	form := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	asks, allows := keyField.FindStringSubmatch(page), consent.FindStringSubmatch(page)
	if asks == nil || allows == nil {
		w.t.Fatalf("the page asks for no key: %s", page)
	}
	form.Set(asks[1], key)
	form.Set(allows[1], allows[2])
	_, header := send("POST", "/authorize", form, http.StatusSeeOther)
	back, err := url.Parse(header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		w.t.Fatalf("the page leads to %q: %v", header.Get("Location"), err)
	}
	refresh, bytes := w.token(url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {hostRedirect}, "code_verifier": {verifier}, "resource": {w.Door + "/mcp"},
	})
	return refresh, size + bytes
}

// token asks for tokens, and returns the refresh token.
func (w *world) token(form url.Values) (refresh string, size int64) {
	w.t.Helper()
	form.Set("client_id", hostID)
	body, _, size := w.atOAuthDoor("POST", "/token", form, http.StatusOK)
	var tokens struct {
		Refresh string `json:"refresh_token"`
	}
	if err := json.Unmarshal([]byte(body), &tokens); err != nil || tokens.Refresh == "" {
		w.t.Fatalf("tokens: %v, %s", err, body)
	}
	return tokens.Refresh, size
}

// atOAuthDoor sends a request as a browser does that stays on the page, or a host.
func (w *world) atOAuthDoor(method, path string, form url.Values, want int) (body string, header http.Header, size int64) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.Door+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if strings.HasPrefix(path, "/authorize") {
		request.Header.Set("Origin", w.Door)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	stays := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := stays.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		w.t.Fatalf("%s %s: %v, %d %s", method, path, err, response.StatusCode, raw)
	}
	return string(raw), response.Header, answerSize(w.t, response, raw)
}
