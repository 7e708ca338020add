package apigateway

import (
	"strings"
	"testing"
)

func TestSubstitute(t *testing.T) {
	values := map[string]string{
		"context.requestId": "id-1", "context.authorizer.limit": "50", "stageVariables.state": "open",
		"method.request.header.X-Odd_Name": "odd", "context.quote": `say "hi"`,
	}
	lookUp := func(name string) string { return values[name] }
	for template, want := range map[string]string{
		"":                   "",
		"plain":              "plain",
		"$context.requestId": "id-1",
		`{"id":"$context.requestId","n":$context.authorizer.limit}`: `{"id":"id-1","n":50}`,
		"${context.requestId}x":                "id-1x",
		"$context.requestId.":                  "id-1.",
		"$context.requestId..x":                "id-1..x",
		"<$context.unset>":                     "<>",
		"$stageVariables.state$context.unset!": "open!",
		"$method.request.header.X-Odd_Name":    "odd",
		"$context.quote":                       `say "hi"`, // nothing is escaped
		"$":                                    "$",
		"$$context.requestId":                  "$id-1",
		"$5 and $other.name":                   "$5 and $other.name",
		"$context":                             "$context",
		"${context.requestId":                  "${context.requestId",
		"$contextual.x":                        "$contextual.x",
	} {
		if got := substitute(template, lookUp); got != want {
			t.Errorf("substitute(%q) = %q, want %q", template, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	f := newFixture(t, script{
		change: func(c *setup) { c.StageVariables = map[string]string{"state": "braked"} },
		refusals: `"UNAUTHORIZED":{"responseTemplates":{"text/plain":"$context.error.message|$context.error.messageString|$context.error.responseType|` +
			`$context.status|$context.httpMethod|$context.resourcePath|$context.path|$context.stage|$context.domainName|$context.apiId|` +
			`$stageVariables.state|$method.request.header.x-mine|$method.request.querystring.q|$method.request.path.id|$context.nothing|` +
			`$context.identity.sourceIp|$context.authorizer.admission_id|$context.requestId"}}`,
		authorizer: fails("Unauthorized"),
	})
	w := f.call("GET", "/things/a%20b?q=1&q=2", "", "X-Mine", "mine", "X-Amzn-Requestid", "chosen-1")
	wantStatus(t, w, 401)
	want := `Unauthorized|"Unauthorized"|UNAUTHORIZED|401|GET|/things/{id}|/things/a%20b|dev|127.0.0.1:8787|local|` +
		`braked|mine|2|a%20b||192.0.2.1||chosen-1`
	if got := w.Body.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPickTemplate(t *testing.T) {
	both := map[string]string{"application/json": "j", "text/plain": "p"}
	for _, tc := range []struct {
		templates    map[string]string
		accept, want string
	}{
		{both, "", "application/json"},
		{both, "*/*", "application/json"},
		{both, "text/html, text/plain;q=0.5", "text/plain"},
		{map[string]string{"application/problem+json": "x"}, "application/json", "application/problem+json"},
		{nil, "*/*", ""},
	} {
		if got, _ := pickTemplate(tc.templates, tc.accept); got != tc.want {
			t.Errorf("%v, %q: %q, want %q", tc.templates, tc.accept, got, tc.want)
		}
	}
}

// FuzzSubstitute: what is no variable stays, and with no values only variables go.
func FuzzSubstitute(f *testing.F) {
	for _, text := range []string{"$context.a", "${context.a}", "$$", "a$", "$context.", "${", "$stageVariables.x.y", "$method.request.path.p"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, template string) {
		identity := substitute(template, func(name string) string {
			if !isKnownRoot(name) {
				t.Fatalf("%q is looked up in %q", name, template)
			}
			return "$" + name
		})
		// Braces are the only thing that an identical substitution may lose.
		strip := strings.NewReplacer("{", "", "}", "")
		if strip.Replace(identity) != strip.Replace(template) {
			t.Fatalf("%q became %q", template, identity)
		}
		if out := substitute(template, func(string) string { return "" }); len(out) > len(template) {
			t.Fatalf("%q grew to %q", template, out)
		}
	})
}
