//go:build interop

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
)

// host is an MCP host on this computer, which a person comes back to.
type host struct {
	*httptest.Server
	query url.Values
}

func newHost(t *testing.T) *host {
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.query = r.URL.Query()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>back</title><link rel="icon" href="data:,"><p id="back">Back at the app`)
	}))
	t.Cleanup(h.Close)
	return h
}

// asks is the address at which the host asks for a sign-in.
func (h *host) asks(t *testing.T, door, name string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{h.URL + "/back"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(door+"/register", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("registration: %d, %v", r.StatusCode, err)
	}
	return door + "/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {made.ID}, "redirect_uri": {h.URL + "/back"}, "state": {"abc"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
}

// TestConsent: the page on which a person signs in, in both languages, on a desk and on a phone; with a
// wrong key, denied, and allowed, all by the keyboard.
func TestConsent(t *testing.T) {
	s := start(t, "--oauth")
	at, ok := strings.CutSuffix(s.OAuthURL, "/mcp")
	door, err := url.Parse(at)
	if err != nil || !ok || door.Host == "" {
		t.Fatalf("the OAuth door is at %q", s.OAuthURL)
	}
	h := newHost(t)
	open := func(t *testing.T, language string) *tab {
		b := newProfile(t).blank(t, door.Host)
		b.secrets = s.secrets
		do(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}})
		b.size(320, 700)
		return b
	}
	comesBack := func(b *tab) {
		t.Helper()
		b.wait("back at the app", `document.querySelector("#back")`)
		for _, fault := range b.faults() {
			if !strings.HasPrefix(fault, "a request to elsewhere: "+h.URL+"/back?") {
				t.Error(fault)
			}
		}
		if h.query.Get("state") != "abc" || h.query.Get("iss") != at {
			t.Errorf("the app gets %v", h.query)
		}
	}
	for _, language := range []string{"en", "ja"} {
		b := open(t, language)
		b.visit(h.asks(t, at, "MCP Inspector"))
		b.look(t, "consent, "+language+", 320 px")
		b.size(1200, 900)
		b.look(t, "consent, "+language)
		b.size(320, 700)
		b.expects(http.StatusForbidden)
		b.tabTo("#key")
		b.typed("sekisho_wrong")
		b.press("\r")
		b.wait("what is wrong is said", `document.querySelector("#key-error") && document.activeElement.id === "key"`)
		b.look(t, "consent, wrong key, "+language+", 320 px")
		b.typed(s.Keys[roomy])
		b.press("\r")
		comesBack(b)
		if h.query.Get("code") == "" {
			t.Errorf("no code: %v", h.query)
		}
	}
	b := open(t, "en")
	b.visit(h.asks(t, at, strings.Repeat("W", 60)))
	b.look(t, "consent, a long name, 320 px")
	b.tabTo(`button[value="deny"]`)
	b.press("\r")
	comesBack(b)
	if h.query.Get("error") != "access_denied" || h.query.Has("code") {
		t.Errorf("denied: %v", h.query)
	}
	b = open(t, "en")
	b.expects(http.StatusBadRequest)
	b.visit(at + "/authorize?client_id=unknown")
	b.look(t, "consent, unknown app, 320 px")
}
