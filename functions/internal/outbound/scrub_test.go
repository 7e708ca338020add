package outbound

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestScrubber(t *testing.T) {
	for _, c := range []struct {
		name, secrets, text, want string // secrets apart by spaces
	}{
		{"as it is", "abcdef", "is abcdef here", "is [removed] here"},
		{"twice", "abcdef", "abcdefabcdef", "[removed][removed]"},
		{"overlapping", "abcd cdef", "abcdef", "[removed]"},
		{"one within another", "bc abcdef", "abcdef", "[removed]"},
		{"apart", "abcd cdef", "abcd and cdef", "[removed] and [removed]"},
		{"none", "abcdef", "abcde", "abcde"},
		{"one byte", "k", "k=1", "[removed]=1"},
		{"JSON", "a/b+c", `"a\/b\u002Bc"`, `"[removed]"`},
		{"JSON, lower case", "a+bcd", `"\u0061\u002b\u0062cd"`, `"[removed]"`},
		{"JSON in JSON", "a/b+c", `"\"a\\\/b\\u002bc\""`, `"\"[removed]\""`},
		{"JSON in JSON in JSON", "a+b", `"\\\\\\u0061\\\\u002bb"`, `"[removed]"`},
		{"JavaScript", "a+bc", `a\x2bb\u{63}`, "[removed]"},
		{"octal", "a+bc", `a\053bc`, "[removed]"},
		{"Python", "a+bc", `a\U0000002bbc`, "[removed]"},
		{"URL", "a/b+c=", "?t=a%2fb%2Bc%3D&x", "?t=[removed]&x"},
		{"URL, twice", "a/bc", "a%252fbc", "[removed]"},
		{"old JavaScript", "a/bc", "a%u002Fbc", "[removed]"},
		{"HTML", `a+"b&c`, "a&#43;&quot;b&amp;c", "[removed]"},
		{"HTML, hexadecimal", "a+bc", "a&#x0002B;b&#X63;", "[removed]"},
		{"HTML, by name", "a+b=/", "a&plus;b&equals;&sol;", "[removed]"},
		{"HTML in JSON", "a+bc", `"a\u0026#43;bc"`, `"[removed]"`},
		{"a secret that looks escaped", `a%2Bb\n`, `a%2Bb\n and a%252Bb\\n`, "[removed] and [removed]"},
		{"a backslash too many", "abc", `"\\\\abc"`, `"[removed]"`},
		{"backslashes at the start", "abc", `\\abc`, "[removed]"},
		{"a backslash at the end", "abc", `xabc\`, `x[removed]\`},
		{"a percent sign at the end", "abc", "abc%", "[removed]%"},
		{"an escape cut off", "abc", "xabc%2", "x[removed]%2"},
		{"an entity cut off", "abc", "abc&#", "[removed]&#"},
		{"a brace that stays open", "abc", `xabc\u{61`, `x[removed]\u{61`},
		{"a brace without a number", "abc", `}abc\u{`, `}[removed]\u{`},
		{"HTML, without semicolons", "a+bc", "a&#43bc", "[removed]"},
		{"deeper than anybody nests", "a+b", "a%25252525" + "2Bb", "a%25252525" + "2Bb"},
		{"a byte of a character", "aÀb", "a%C3%80b", "[removed]"},
		{"UTF-8", "pässword", `p\u00e4ssword p%C3%A4ssword p&auml;ssword`, "[removed] [removed] [removed]"},
		{"base64", "secret-token", b64("secret-token"), "[removed]"},
		{"base64 of a header", "secret-token", `{"h":"` + b64("Bearer secret-token") + `"}`, `{"h":"[removed]"}`},
		{"base64, glued", "secret-token", "x" + b64("secret-token"), "[removed]"},
		{"base64, PHP", "sec???ret>>>token", `"` + strings.ReplaceAll(b64("sec???ret>>>token"), "/", `\/`) + `"`, `"[removed]"`},
		{"base64, for URLs", "sec???ret>>>token", base64.URLEncoding.EncodeToString([]byte("sec???ret>>>token")), "[removed]"},
		{"base64, in lines", "secret-token", "c2VjcmV0\r\nLXRva2Vu", "[removed]"},
		{"base64, in lines in JSON", "secret-token", `"c2VjcmV0\nLXRva2Vu"`, `"[removed]"`},
		{"base64, in lines of Windows in JSON", "secret-token", `"c2VjcmV0\r\nLXRva2Vu"`, `"[removed]"`},
		{"base64, in pieces", "secret-token", `c2VjcmV0\tLXRva2Vu c2VjcmV0.nLXRva2Vu`, `c2VjcmV0\tLXRva2Vu c2VjcmV0.nLXRva2Vu`},
		{"base64 with a plus sign", "sec>>>ret-token", b64("sec>>>ret-token"), "[removed]"},
		{"base64 and a backslash at the end", "secret-token", b64("secret-token") + `\`, `[removed]\`},
		{"base64 of JSON", "a/secret", b64(`{"t":"a\/secret"}`), "[removed]"},
		{"base64 twice", "secret-token", b64(b64("my secret-token")), "[removed]"},
		{"base64, then as it is", "secret-token", b64("secret-token") + " secret-token", "[removed] [removed]"},
		{"base64 three times", "secret-token", b64(b64(b64("secret-token"))), b64(b64(b64("secret-token")))}, // the work is bounded
		{"base64 of what is too short", "abcde", b64("abcde"), b64("abcde")},
		{"hexadecimal", "secret-token", hex.EncodeToString([]byte("secret-token")), "[removed]"},
		{"hexadecimal, glued", "secret-token", "f" + hex.EncodeToString([]byte("secret-token")), "[removed]"},
		{"words", "secret-token", "an ordinary sentence about tokens that are not secret", "an ordinary sentence about tokens that are not secret"},
	} {
		got := scrubber{strings.Fields(c.secrets)}.clean(c.text)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// What a request holds as secrets: user name and password, query, headers that aren't
// public, with and without their scheme.
func TestSecretsOfARequest(t *testing.T) {
	u, err := url.Parse("https://some.user:pa%2Bss@stats.test/a?key=qu%2Bery&n=1")
	if err != nil {
		t.Fatal(err)
	}
	s := newScrubber(u, http.Header{"Authorization": {"Bearer to-ken"}, "X-Api-Key": {"k-1"}, "Accept": {"text/plain"}})
	for _, text := range []string{
		"some.user", "pa+ss", "pa%2Bss", "some.user:pa%2Bss", "key=qu%2Bery&n=1", "qu+ery", "qu%2Bery", "Bearer to-ken", "to-ken", "k-1",
	} {
		if got := s.clean("<" + text + ">"); got != "<[removed]>" {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := s.clean("1 text/plain"); got != "1 text/plain" {
		t.Errorf("what is public: %s", got)
	}
	for raw, secrets := range map[string][]string{ // as short as they may be
		"https://adam:p@stats.test/?k=wxyz": {"adam", "p", "wxyz", "k", "t"}, "https://stats.test/?a=bc": {"a=bc"},
	} {
		if u, err = url.Parse(raw); err != nil {
			t.Fatal(err)
		}
		s := newScrubber(u, http.Header{"Authorization": {"Basic t"}, "X-Api-Key": {"k"}})
		for _, text := range secrets {
			if got := s.clean("<" + text + ">"); got != "<[removed]>" {
				t.Errorf("%s of %s: %s", text, raw, got)
			}
		}
	}
}

// escapes are the ways in which libraries write a character.
var escapes = []func(r rune) string{
	func(r rune) string { return string(r) },
	func(r rune) string { return fmt.Sprintf(`\u%04x`, r) },
	func(r rune) string { return fmt.Sprintf(`\u%04X`, r) },
	func(r rune) string { return fmt.Sprintf(`\u{%x}`, r) },
	func(r rune) string { return fmt.Sprintf(`\x%02X`, r) },
	func(r rune) string { return fmt.Sprintf(`\%03o`, r) },
	func(r rune) string { return fmt.Sprintf("%%%02X", r) },
	func(r rune) string { return fmt.Sprintf("%%%02x", r) },
	func(r rune) string { return fmt.Sprintf("&#%d;", r) },
	func(r rune) string { return fmt.Sprintf("&#x%x;", r) },
	func(r rune) string { return html.EscapeString(string(r)) },
	func(r rune) string {
		if strings.ContainsRune(`/\"'`, r) {
			return `\` + string(r)
		}
		return string(r)
	},
}

// wrappings are what a text goes through as a whole on its way back.
var wrappings = []func(string) string{
	func(s string) string { return s },
	func(s string) string { b, _ := json.Marshal(s); return string(b) },
	url.QueryEscape,
	url.PathEscape,
	html.EscapeString,
	func(s string) string { return `{"t":"` + strings.ReplaceAll(s, "/", `\/`) + `"}` },
}

// However a token is escaped, character by character or as a whole, once or twice, not a
// character of it is left, and what is around it is.
func TestNoEscapingHidesASecret(t *testing.T) {
	const letters = "abcxyzABCXYZ0189-._~+/=%&\\\"'<>{}u"
	rapid.Check(t, func(rt *rapid.T) {
		token := rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 6, 20, -1).Draw(rt, "token")
		var text strings.Builder
		for _, r := range token {
			text.WriteString(rapid.SampledFrom(escapes).Draw(rt, "escape")(r))
		}
		sent := rapid.SampledFrom(wrappings).Draw(rt, "wrapping")(text.String())
		sent = rapid.SampledFrom(wrappings).Draw(rt, "wrapping")(sent)
		if rapid.Bool().Draw(rt, "in base64") {
			sent = b64(sent)
		}
		got := scrubber{[]string{token}}.clean("(" + sent + ")")
		if !strings.Contains(got, scrubbed) || !strings.HasPrefix(got, "(") || !strings.HasSuffix(got, ")") {
			rt.Fatalf("token %s sent as %s: %s", token, sent, got)
		}
	})
}

// No string of a JSON document holds the token afterwards. (The document may be broken by
// it, and is refused then, if the token's digits are part of a number or of an escape.)
func FuzzScrubJSON(f *testing.F) {
	f.Add(`{"a":"to\/ken\u002b"}`, "to/ken+")
	f.Add(`["\\\\token","\\\\\\token"]`, "token")
	f.Add(`{"a":"\\u0074oken"}`, "token")
	f.Add(`{"a":"\u005cu0074oken%5c"}`, `token\`)
	f.Fuzz(func(t *testing.T, body, token string) {
		if len(token) < 4 || strings.Contains(scrubbed, token) || !utf8.ValidString(token) || !json.Valid([]byte(body)) {
			return
		}
		var after any
		got := scrubber{[]string{token}}.clean(body)
		if json.Unmarshal([]byte(got), &after) != nil {
			return
		}
		walk(after, func(s string) {
			if strings.Contains(s, token) {
				t.Errorf("%s without %q: %s", body, token, got)
			}
		})
	})
}

func walk(v any, each func(string)) {
	switch v := v.(type) {
	case string:
		each(v)
	case []any:
		for _, e := range v {
			walk(e, each)
		}
	case map[string]any:
		for name, e := range v {
			each(name)
			walk(e, each)
		}
	}
}

func BenchmarkScrub(b *testing.B) {
	s := scrubber{[]string{"Bearer secret-token-of-usual-length", "secret-token-of-usual-length"}}
	for name, unit := range map[string]string{
		"JSON": `{"views":123,"title":"An ordinary title"},`, "backslashes": `\`, "percent": "%25", "entities": "&amp;", "base64": "c2VjcmV0",
	} {
		text := strings.Repeat(unit, DefaultMaxBytes/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.clean(text)
			}
		})
	}
}
