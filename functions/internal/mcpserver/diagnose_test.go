package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
)

// TestDiagnose: every answer fits the contract's schema, names the first broken link and
// what to do about it, and calls exempt operations only.
func TestDiagnose(t *testing.T) {
	healthy := func(status int, body string) http.HandlerFunc { return refuses(status, nil, body) }
	usageOf := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/user/usage" {
				_, _ = w.Write([]byte(body))
				return
			}
			answers(w, r)
		}
	}
	for _, c := range []struct {
		name   string
		rest   http.HandlerFunc
		ok     bool
		failed string // the checks that did not pass, in order
		advice string
	}{
		{"all well", answers, true, "", "Everything answers"},
		{"zero quota", usageOf(usageBody(0)), false, "usage", "until 2026-12-01T00:00:00.000Z"},
		{"no limit", usageOf(strings.NewReplacer(`"monthly_limit":1000`, `"monthly_limit":null`, `"remaining":958`, `"remaining":null`).Replace(usageBody(958))), true, "", "Everything"},
		{"key revoked", healthy(401, string(problem.New(problem.Unauthorized, "").JSON())), false, "key usage settings", "Send an active API key"},
		{"store down", healthy(503, string(problem.New(problem.StoreUnavailable, "").JSON())), false, "key usage settings", "retry at most twice"},
		{"braked", healthy(503, braked), false, "key usage settings", "spending brake is on"},
		{"usage only broken", usageOf(`[]`), false, "usage", "Retry once"},
		{"usage unreadable", usageOf(`{"plan":7}`), false, "usage", "Retry once"},
		{"all down", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, "endpoint key usage settings", "ask the owner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.rest = c.rest
			r, response := w.callTool(t.Context(), "utility.diagnose_mcp", `{}`)
			if r.IsError {
				t.Fatalf("an error: %+v", r)
			}
			validDiagnosis(t, r.Structured)
			var d struct {
				OK     bool
				Checks []struct {
					Name string
					OK   bool
				}
				Advice string
			}
			if err := json.Unmarshal(r.Structured, &d); err != nil {
				t.Fatal(err)
			}
			var broken []string
			for _, k := range d.Checks {
				if !k.OK {
					broken = append(broken, k.Name)
				}
			}
			if d.OK != c.ok || strings.Join(broken, " ") != c.failed || !strings.Contains(d.Advice, c.advice) {
				t.Errorf("got ok %v, failed %v, advice %q", d.OK, broken, d.Advice)
			}
			for _, call := range w.called() {
				if exempt(t, call); t.Failed() {
					t.Fatalf("%s is counted", call)
				}
			}
			noSecrets(t, w, response)
		})
	}
}

func validDiagnosis(t *testing.T, body json.RawMessage) {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	schemas, err := api.Composites[0].Schemas()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(schemas.Output, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("does not fit the output schema: %v", err)
	}
}

func exempt(t *testing.T, call string) {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	method, path, _ := strings.Cut(call, " ")
	if op, _ := api.Match(method, path); op == nil || op.Units != 0 {
		t.Errorf("%s is no exempt operation", call)
	}
}
