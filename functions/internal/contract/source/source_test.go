package source

import (
	"strings"
	"testing"
)

// TestJSON: what YAML has beyond JSON becomes what its writer meant.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, 1.5, null, true]":          `{"a":1,"b":["x",1.5,null,true]}`,
		"responses: { 200: { d: 2026-11-30 } }":  `{"responses":{"200":{"d":"2026-11-30"}}}`,
		"at: 2026-11-30T01:02:03Z":               `{"at":"2026-11-30T01:02:03Z"}`,
		"a: &x { b: 1 }\nc: *x":                  `{"a":{"b":1},"c":{"b":1}}`,
		`{"n": 12345678901234567890, "a": 1.50}`: `{"n": 12345678901234567890, "a": 1.50}`,
		"n: 9007199254740993":                    `{"n":9007199254740993}`,
	} {
		if got, err := JSON([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"a: 1\na: 2": "already defined", "a: 1\na: 2\na: 3\na: 4": "and 3 more", "[]": "not an object", "": "not an object", "a: .nan": "no number in JSON", "{": "yaml",
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]": "excessive aliasing",
	} {
		if got, err := JSON([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s: %.80s, %v; want %s", text, got, err, says)
		}
	}
}
