package reply_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sekisho/functions/internal/reply"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"日本語です", 3, "日本語…"},
		{"\xff\xfe", 3, "\uFFFD"}, {"ab\xff", 2, "ab…"}, {strings.Repeat("𠮷", 1<<18), 2, "𠮷𠮷…"},
	} {
		if got := reply.Cut(c.text, c.most); got != c.want {
			t.Errorf("%.20q cut to %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                      `""`,
		"a\xffb":                "\"a\uFFFDb\"",
		strings.Repeat("町", 40): `"` + strings.Repeat("町", 40) + `"`,
		strings.Repeat("町", 41): `"` + strings.Repeat("町", 40) + `…"`,
	} {
		if got := reply.Quote(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	got, err := reply.JSON(map[string]string{"a": "<&>\u2028\x01"})
	if want := `{"a":"<&>\u2028\u0001"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := reply.JSON(func() {}); err == nil {
		t.Errorf("a function was encoded as %s", got)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"\u003c\u003e\u0026"}`: `{"a":"<>&"}`,
		`"\\u003c"`:                  `"\\u003c"`,
		`"\\\u003c"`:                 `"\\<"`,
		`"\u2028\u0022\n\""`:         `"\u2028\u0022\n\""`,
		`"\u003`:                     `"\u003`,
		`\`:                          `\`,
		"":                           "",
	} {
		if got := reply.Unescape([]byte(in)); string(got) != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// FuzzUnescape: what is encoded with HTML escapes becomes what JSON writes without.
func FuzzUnescape(f *testing.F) {
	f.Add(`<\u003c\\&>"`)
	f.Fuzz(func(t *testing.T, text string) {
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Skip()
		}
		want, _ := reply.JSON(text)
		if got := reply.Unescape(escaped); string(got) != string(want) {
			t.Fatalf("%q: %s, want %s", text, got, want)
		}
	})
}
