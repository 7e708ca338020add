package oauth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sekisho/functions/internal/outbound"
)

// FuzzAuthorize: whatever the query, a browser is sent nowhere but to the client's own address, no code
// is given without a key, and the page has no script.
func FuzzAuthorize(f *testing.F) {
	w := newWorld(f, option{})
	w.app()
	for _, q := range []url.Values{request(), request("redirect_uri", "http://127.0.0.1:9/back"), request("redirect_uri", "javascript:x"), request("resource", "x"), {}} {
		f.Add(q.Encode())
	}
	f.Fuzz(func(t *testing.T, query string) {
		w.t = t
		for _, a := range []answer{
			w.do(http.MethodGet, authorizePath, query, "", nil),
			w.do(http.MethodPost, authorizePath, "", query, map[string]string{"content-type": formType}),
		} {
			to := a.Headers["Location"]
			if to != "" && !strings.HasPrefix(to, appBack+"?") && !strings.HasPrefix(to, "http://127.0.0.1") {
				t.Errorf("%q leads to %s", query, to)
			}
			if u, err := url.Parse(to); err != nil || u.Query().Has("code") {
				t.Errorf("%q gets %s", query, to)
			}
			if strings.Contains(strings.ToLower(a.Body), "<script") || a.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%q: %d %s", query, a.StatusCode, a.Body)
			}
		}
	})
}

// FuzzClientRequests: whatever the form or body, /token and /revoke give no tokens and answer as the
// RFCs have it.
func FuzzClientRequests(f *testing.F) {
	w := newWorld(f, option{})
	for _, q := range []url.Values{redeem("sekisho_ac_x"), refreshing("sekisho_rt_x"), {"token": {"x"}, "client_id": {appID}}} {
		f.Add(q.Encode())
	}
	f.Add(`{"redirect_uris":["http://localhost/"]}`)
	f.Fuzz(func(t *testing.T, body string) {
		w.t = t
		for _, path := range []string{tokenPath, revokePath, registerPath} {
			a := w.do(http.MethodPost, path, "", body, map[string]string{"content-type": formType})
			var got map[string]any
			if a.Body != "" && json.Unmarshal([]byte(a.Body), &got) != nil || got["access_token"] != nil || a.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%s %q: %d %s", path, body, a.StatusCode, a.Body)
			}
			if a.StatusCode >= http.StatusBadRequest && (got["error"] == nil || got["error_description"] == "") {
				t.Errorf("%s %q: %s", path, body, a.Body)
			}
		}
	})
}

// FuzzRegistration: an ID that is made is recognised as what was registered, and only that.
func FuzzRegistration(f *testing.F) {
	f.Add("App", "https://app.example/back", "dyn.e30")
	f.Add("\u202e", "cursor://x/y", "dyn.")
	known := &clients{policy: policy{registration: true}}
	f.Fuzz(func(t *testing.T, name, redirect, id string) {
		if c, err := known.recognise(id); err == nil && c.kind == dynamic {
			for _, to := range c.redirects {
				if _, ok := parseRedirect(to); !ok {
					t.Errorf("%q leads to %q", id, to)
				}
			}
		}
		if _, ok := parseRedirect(redirect); !ok {
			return
		}
		made := registration{Name: shown(name), Redirects: []string{redirect}, IssuedAt: 1}
		c, err := known.recognise(made.id())
		if len(made.id()) <= mostID && (err != nil || !c.allows(redirect) || shown(c.name) != c.name) {
			t.Errorf("%+v: %+v, %v", made, c, err)
		}
	})
}

// FuzzDocument: a document is refused, or describes a public client of its own address, with redirects
// that a code may be sent to.
func FuzzDocument(f *testing.F) {
	f.Add(`{"client_id":"https://app.example/client.json","redirect_uris":["https://app.example/back"]}`)
	f.Add(`{"client_id":"https://app.example/client.json","redirect_uris":["javascript:x"],"token_endpoint_auth_methods_supported":["none"]}`)
	u, err := documentURL(appID)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseDocument(u, outbound.Response{Status: http.StatusOK, Body: []byte(text)})
		if err != nil {
			return
		}
		if c.id != appID || c.host != "app.example" || len(c.redirects) == 0 || len([]rune(c.name)) > mostName+1 {
			t.Errorf("%+v", c)
		}
		for _, to := range c.redirects {
			if _, ok := parseRedirect(to); !ok {
				t.Errorf("it leads to %q", to)
			}
		}
	})
}
