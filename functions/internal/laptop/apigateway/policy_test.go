package apigateway

import (
	"encoding/json"
	"testing"
)

func TestWildcard(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b", true}, {"**", "a", true},
		{"a*c", "abbc", true}, {"a*c", "abbd", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"*/GET/*", "arn/dev/GET/things/7", true}, {"*/GET/*", "arn/dev/POST/things", false},
		{"a*b*c", "aXbYbZc", true}, {"abc", "abcd", false}, {"abc*", "abc", true}, {"?", "", false},
	} {
		if got := wildcard(tc.pattern, tc.text); got != tc.want {
			t.Errorf("wildcard(%q, %q) = %v", tc.pattern, tc.text, got)
		}
	}
}

func TestPolicy(t *testing.T) {
	const arn = "arn:aws:execute-api:us-east-1:000000000000:local/dev/GET/things/7"
	for name, tc := range map[string]struct {
		statements string
		want       verdict
	}{
		"allow everything":   {`[{"Effect":"Allow","Action":"execute-api:Invoke","Resource":"*"}]`, allow},
		"allow this":         {`[{"Effect":"Allow","Action":["execute-api:Invoke"],"Resource":["` + arn + `"]}]`, allow},
		"allow by wildcards": {`[{"Effect":"Allow","Action":"execute-api:*","Resource":"arn:aws:execute-api:*:*:local/dev/GET/things/?"}]`, allow},
		"action has no case": {`[{"Effect":"Allow","Action":"Execute-API:invoke","Resource":"*"}]`, allow},
		"another action":     {`[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]`, implicitDeny},
		"another resource":   {`[{"Effect":"Allow","Action":"execute-api:Invoke","Resource":"arn:aws:execute-api:*/POST/*"}]`, implicitDeny},
		"deny wins, later":   {`[{"Effect":"Allow","Action":"execute-api:Invoke","Resource":"*"},{"Effect":"Deny","Action":"*","Resource":"*"}]`, explicitDeny},
		"deny wins, before":  {`[{"Effect":"Deny","Action":"*","Resource":"*/things/*"},{"Effect":"Allow","Action":"*","Resource":"*"}]`, explicitDeny},
		"deny of another":    {`[{"Effect":"Deny","Action":"*","Resource":"*/POST/*"},{"Effect":"Allow","Action":"*","Resource":"*"}]`, allow},
		"unknown effect":     {`[{"Effect":"allow","Action":"*","Resource":"*"}]`, implicitDeny},
	} {
		t.Run(name, func(t *testing.T) {
			var p policyDocument
			if err := json.Unmarshal([]byte(`{"Statement":`+tc.statements+`}`), &p); err != nil {
				t.Fatal(err)
			}
			if got := p.evaluate(arn); got != tc.want {
				t.Errorf("verdict %d, want %d", got, tc.want)
			}
		})
	}
}
