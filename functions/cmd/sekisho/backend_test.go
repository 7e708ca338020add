package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProbeOfTheUpstreamThatUpStarts checks three failures in real time: a delay beyond the
// timeout, 429 with Retry-After, and 401. Package probe tests them to the millisecond in
// virtual time.
func TestProbeOfTheUpstreamThatUpStarts(t *testing.T) {
	o, err := upstreamFlags{UpstreamBurst: 5, UpstreamRate: 1}.upstream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.close() })
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
			out, errs, code := sekisho(t, "probe", "--timeout", "500ms", o.url+c.path)
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
	out, _, code := sekisho(t, "probe", "--json", o.url+"/get")
	var last struct{ OK bool }
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !last.OK || code != exitOK {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}

func TestTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	o, err := upstreamFlags{
		Upstream: "https://example.com", UpstreamTokenFile: file, UpstreamBurst: 1, UpstreamRate: 1, PublishPerDay: 1,
	}.upstream()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		write(" " + want + " \n")
		if got, err := o.deps.Token(t.Context()); got != want || err != nil {
			t.Errorf("token %q, %v; want %q", got, err, want)
		}
	}
	for name, value := range o.environment {
		if strings.Contains(value, "first") {
			t.Errorf("%s holds the token", name)
		}
	}
}
