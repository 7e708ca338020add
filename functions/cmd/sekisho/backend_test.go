package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
)

// TestProbeOfTheUpstreamThatUpStarts checks three failures in real time: a delay beyond the
// timeout, 429 with Retry-After, and 401. Package probe tests them to the millisecond in
// virtual time.
func TestProbeOfTheUpstreamThatUpStarts(t *testing.T) {
	o, err := backendFlags{}.backends(defaultContract(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.close() })
	url := o.settings["external"].URL
	for name, c := range map[string]struct {
		path     string
		attempts int
		waits    string
		agent    []string
	}{
		"delay": {"/delay/3", 4, `waiting \d+ms \(backoff, attempt [234] of 4\)`, []string{`"classification": "transient"`, `"error": "upstream_timeout"`}},
		"429":   {"/status/429?retry_after=1", 4, `waiting 1000ms \(Retry-After\)`, []string{`"classification": "transient"`, `"retryAfterMs": 1000`}},
		"401":   {"/status/401", 1, `waiting`, []string{`"classification": "permanent"`, `"retryable": false`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := sekisho(t, "probe", "--timeout", "500ms", url+c.path)
			attempts := regexp.MustCompile(`(?m)^attempt \d of 4: `).FindAllString(out, -1)
			waits := regexp.MustCompile(`(?m)^`+c.waits).FindAllString(out, -1)
			if code != exitFailed || len(attempts) != c.attempts || len(waits) != c.attempts-1 {
				t.Errorf("exit code %d, %d attempts, %d waits; want %d, %d, %d:\n%s%s", code, len(attempts), len(waits), exitFailed, c.attempts, c.attempts-1, out, errs)
			}
			for _, want := range c.agent {
				if !strings.Contains(out, want) {
					t.Errorf("want %s in\n%s", want, out)
				}
			}
		})
	}
	out, _, code := sekisho(t, "probe", "--json", url+"/get")
	var last struct{ OK bool }
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !last.OK || code != exitOK {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}

func defaultContract(t *testing.T) *contract.API {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	b, err := backendFlags{Backend: []string{"https://example.com"}, BackendAuth: []string{"Authorization: Bearer file:" + file}}.backends(defaultContract(t))
	if err != nil {
		t.Fatal(err)
	}
	read, err := b.relay.Secret(nil, b.settings["external"].Auth.Place)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		write(" " + want + " \n")
		if got, err := read(t.Context()); got != want || err != nil {
			t.Errorf("token %q, %v; want %q", got, err, want)
		}
	}
	if text := b.settings["external"].String(); strings.Contains(text, "first") {
		t.Errorf("the settings hold the token: %s", text)
	}
}

// TestBackendFlags: what each form of the flags sets.
func TestBackendFlags(t *testing.T) {
	t.Setenv("SOME_SECRET", "0123456789abcdef")
	place := backend.Place{Env: "SOME_SECRET"}
	for name, c := range map[string]struct {
		flags backendFlags
		want  backend.Settings
	}{
		"a URL":            {backendFlags{Backend: []string{"https://a.example/v2"}}, backend.Settings{URL: "https://a.example/v2"}},
		"by name":          {backendFlags{Backend: []string{"external=https://a.example/?"}}, backend.Settings{}},
		"this machine's":   {backendFlags{Backend: []string{"http://localhost:3000"}}, backend.Settings{URL: "http://localhost:3000", Private: true}},
		"a function":       {backendFlags{Backend: []string{"arn:aws:lambda:eu-west-1:1:function:f"}}, backend.Settings{FunctionARN: "arn:aws:lambda:eu-west-1:1:function:f"}},
		"an emulator's":    {backendFlags{Backend: []string{"lambda:http://127.0.0.1:9001"}}, backend.Settings{FunctionARN: "function", Endpoint: "http://127.0.0.1:9001"}},
		"SAM's":            {backendFlags{Backend: []string{"external=lambda:http://127.0.0.1:3001/Hello"}}, backend.Settings{FunctionARN: "Hello", Endpoint: "http://127.0.0.1:3001"}},
		"a bearer token":   {backendFlags{Backend: []string{"https://a.example"}, BackendAuth: []string{"Authorization: Bearer env:SOME_SECRET"}}, backend.Settings{URL: "https://a.example", Auth: &backend.Auth{Type: "bearer", Place: place}}},
		"another scheme":   {backendFlags{Backend: []string{"https://a.example"}, BackendAuth: []string{"external=Authorization: Token env:SOME_SECRET"}}, backend.Settings{URL: "https://a.example", Auth: &backend.Auth{Type: "header", Name: "Authorization", Scheme: "Token", Place: place}}},
		"a header":         {backendFlags{Backend: []string{"https://a.example"}, BackendAuth: []string{"X-Api-Key: env:SOME_SECRET"}}, backend.Settings{URL: "https://a.example", Auth: &backend.Auth{Type: "header", Name: "X-Api-Key", Place: place}}},
		"in the query":     {backendFlags{Backend: []string{"https://a.example"}, BackendAuth: []string{"query:api_key=env:SOME_SECRET"}}, backend.Settings{URL: "https://a.example", Auth: &backend.Auth{Type: "query", Name: "api_key", Place: place}}},
		"user, password":   {backendFlags{Backend: []string{"https://a.example"}, BackendAuth: []string{"basic:ann:env:SOME_SECRET"}}, backend.Settings{URL: "https://a.example", Auth: &backend.Auth{Type: "basic", Name: "ann", Place: place}}},
		"signed, per day":  {backendFlags{Backend: []string{"https://a.example"}, BackendSigningKey: "env:SOME_SECRET", PerDay: []string{"external.fetch_stats=3"}}, backend.Settings{URL: "https://a.example", Signing: &place, PerDay: map[string]int{"external.fetch_stats": 3}}},
		"private, timeout": {backendFlags{Backend: []string{"https://a.example"}, BackendPrivate: true, BackendTimeout: time.Second}, backend.Settings{URL: "https://a.example", Private: true, TimeoutSeconds: 1}},
	} {
		b, err := c.flags.backends(defaultContract(t))
		if c.want.Name = "external"; !c.want.Configured() {
			if err == nil {
				t.Errorf("%s: taken", name)
			}
			continue
		}
		if err != nil || b.settings["external"].String() != c.want.String() {
			t.Errorf("%s: %v %s; want %s", name, err, b.settings["external"], c.want)
		}
	}
}
