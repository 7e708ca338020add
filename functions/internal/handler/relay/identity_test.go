package relay

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/backend"
)

const signingKeys = "the-new-key-0123456789 the-old-key-0123456789"

var caller = map[string]any{"user_id": "ann@example.com", "key_id": "key_1", "plan": "pro", "admission_id": "adm_1", "meter": "m"}

func signed(s *backend.Settings) { s.Signing = &backend.Place{Parameter: "/signing"} }

// samples are the README's blocks of a language, as one program.
func samples(t *testing.T, language string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		program.WriteString(block[1] + "\n")
	}
	if program.Len() == 0 {
		t.Fatalf("the README has no %s", language)
	}
	return program.String()
}

// verifier is a program of the README, with lines that read cases and print verdicts. Node may
// be missing from a machine; Python must not be.
func verifier(t *testing.T, language string) func([]verifiable) [][]string {
	t.Helper()
	command, program := []string{"python3", "-c"}, samples(t, "python")+`
import json, sys
print(json.dumps([caller(c["keys"], c["method"], target(c["event"]) if c.get("event") else c["target"], c["headers"], c["body"].encode(), c["now"]) for c in json.load(sys.stdin)]))`
	if language == "js" {
		if _, err := exec.LookPath("node"); err != nil {
			t.Skip("there is no node here")
		}
		command, program = []string{"node", "-e"}, samples(t, "js")+`
const cases = JSON.parse(require("node:fs").readFileSync(0));
console.log(JSON.stringify(cases.map((c) => caller(c.keys, c.method, c.target, c.headers, Buffer.from(c.body), c.now))));`
	}
	return func(cases []verifiable) (verdicts [][]string) {
		t.Helper()
		input, err := json.Marshal(cases)
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), command[0], append(command[1:], program)...)
		run.Stdin, run.Stderr = strings.NewReader(string(input)), os.Stderr
		output, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v", command[0], err)
		}
		if err := json.Unmarshal(output, &verdicts); err != nil || len(verdicts) != len(cases) {
			t.Fatalf("%v: %s", err, output)
		}
		return verdicts
	}
}

// verifiable is what a backend received, for a verifier.
type verifiable struct {
	Keys    []string          `json:"keys"`
	Method  string            `json:"method"`
	Target  string            `json:"target"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Now     float64           `json:"now"`
	Event   json.RawMessage   `json:"event,omitempty"`
}

func received(r *http.Request, body string) verifiable {
	headers := map[string]string{}
	for name := range r.Header {
		headers[strings.ToLower(name)] = r.Header.Get(name)
	}
	return verifiable{
		Keys: strings.Fields(signingKeys), Method: r.Method, Target: r.RequestURI, Headers: headers, Body: body,
		Now: float64(time.Now().Unix()),
	}
}

// TestTheVerifiersOfTheReadme accept what the relay sends, and nothing that was changed.
func TestTheVerifiersOfTheReadme(t *testing.T) {
	var sent []verifiable
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *backend.Settings) { signed(s); unlimited(s) })
		w.caller = caller
		w.fetch("a.b")
		w.publish("hello-world")
		calls := w.called()
		sent = []verifiable{received(calls[0], ""), received(calls[1], `{"slug":"hello-world"}`)}
	})
	good := sent[1]
	want := [][]string{{"ann@example.com", "key_1", "pro", "adm_1"}, {"ann@example.com", "key_1", "pro", "adm_1"}}
	changed := func(change func(*verifiable)) {
		c := good
		c.Headers = map[string]string{}
		for name, value := range good.Headers {
			c.Headers[name] = value
		}
		change(&c)
		sent, want = append(sent, c), append(want, nil)
	}
	changed(func(c *verifiable) { c.Headers["x-sekisho-user"] = "bob" })
	changed(func(c *verifiable) { c.Headers["x-sekisho-plan"] = "enterprise" })
	changed(func(c *verifiable) { c.Body += " " })
	changed(func(c *verifiable) { c.Target += "?a=1" })
	changed(func(c *verifiable) { c.Method = "DELETE" })
	changed(func(c *verifiable) { c.Now += 121 })
	changed(func(c *verifiable) { c.Headers["x-sekisho-time"] += "0" })
	changed(func(c *verifiable) { c.Keys = []string{"another-key-0123456789"} })
	changed(func(c *verifiable) { delete(c.Headers, "x-sekisho-signature") })
	for _, language := range []string{"python", "js"} {
		t.Run(language, func(t *testing.T) {
			for i, verdict := range verifier(t, language)(sent) {
				if !slices.Equal(verdict, want[i]) {
					t.Errorf("%+v: %q, want %q", sent[i], verdict, want[i])
				}
			}
		})
	}
}

// TestEachAttemptIsSignedAnew: a retry after a minute must not come with a stale time, and the
// signature of a path is worth nothing on another.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *backend.Settings) { signed(s); unlimited(s) })
		w.caller = caller
		w.answers(func(rw http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/stats/demo":
				http.Redirect(rw, r, "/v1/moved", http.StatusMovedPermanently)
			default:
				rw.Header().Set("Retry-After", "3")
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		w.fetch("demo")
		seen := map[string]bool{}
		calls := w.called()
		for _, r := range calls {
			seen[r.Header.Get(backend.SignatureHeader)] = true
		}
		if len(calls) < 3 || len(seen) != len(calls) {
			t.Errorf("%d requests, %d signatures", len(calls), len(seen))
		}
	})
}

// TestWithoutAKeyNobodyIsNamed: an unsigned claim would be believed.
func TestWithoutAKeyNobodyIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.caller = caller
		w.fetch("demo")
		for name := range w.called()[0].Header {
			if strings.HasPrefix(name, backend.Prefix) {
				t.Errorf("%s was sent", name)
			}
		}
	})
}

// TestAnEchoedSignatureIsRemoved: with it a caller could ask the backend past the meter.
func TestAnEchoedSignatureIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signed)
		w.caller = caller
		var signature string
		w.answers(func(rw http.ResponseWriter, r *http.Request) {
			signature = r.Header.Get(backend.SignatureHeader)
			json.NewEncoder(rw).Encode(map[string]any{"headers": r.Header})
		})
		a := w.fetch("demo")
		if len(signature) < 60 || strings.Contains(a.Body, signature) || !strings.Contains(a.Body, "ann@example.com") || !strings.Contains(a.Body, `"pro"`) {
			t.Errorf("%s", a.Body)
		}
	})
}
