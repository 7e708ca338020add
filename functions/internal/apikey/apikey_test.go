package apikey

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sekisho/functions/internal/opaque"
)

func mustNew(t *testing.T) Key {
	t.Helper()
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestNewKeyParses(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		k := mustNew(t)
		if len(k.Reveal()) != Length {
			t.Fatalf("length %d, want %d", len(k.Reveal()), Length)
		}
		parsed, err := Parse(k.Reveal())
		if err != nil || !parsed.Hash().Equal(k.Hash()) {
			t.Fatalf("a new key does not parse: %v", err)
		}
		if seen[k.Hash().ID()] {
			t.Fatal("two keys with one id")
		}
		seen[k.Hash().ID()] = true
	}
}

// TestKeysOfEarlierReleasesWork: digits, checksum, hash and ID are as they were when keys were
// issued and stored. If this fails, every issued key is worthless. Computed with Python's zlib,
// hashlib and base64.
func TestKeysOfEarlierReleasesWork(t *testing.T) {
	random := []byte{255, 248} // left out: 256 is not a multiple of 62
	for i := range 62 {
		random = append(random, byte(i*37))
	}
	k, err := newFrom(bytes.NewReader(random))
	if err != nil {
		t.Fatal(err)
	}
	const (
		text = "sekisho_0bCnOza3eFqR2d6hItU5g9kLwX8jCn3p71yk"
		hash = "69b026e2fa89f0056cb42b928c8fa686a63e9522bbdac71a9dbeeef140789cac"
		id   = "key_ngycnyx2rhyak3fu"
	)
	if k.Reveal() != text || k.Hash().String() != hash || k.Hash().ID() != id {
		t.Errorf("%s, %s, %s; want %s, %s, %s", k.Reveal(), k.Hash(), k.Hash().ID(), text, hash, id)
	}
	if _, err := Parse(text); err != nil {
		t.Error(err)
	}
}

func TestEveryTypoIsMalformed(t *testing.T) {
	text := mustNew(t).Reveal()
	for i := range len(text) {
		for _, c := range []byte("0Zz_ \x00\xff") {
			if text[i] == c {
				continue
			}
			typo := text[:i] + string([]byte{c}) + text[i+1:]
			if _, err := Parse(typo); !errors.Is(err, ErrMalformed) {
				t.Fatalf("changed byte %d to %q: got %v, want ErrMalformed", i, c, err)
			}
		}
	}
	// A right checksum makes no digit of what is none.
	for _, c := range []string{"é"[:1], "_", "\n", "\x80"} {
		body := text[:Length-opaque.CheckDigits-1] + c
		if _, err := Parse(opaque.Seal(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("a key with the digit %q: %v", c, err)
		}
	}
	for _, s := range []string{"", text[:Length-1], text + "0", strings.ToUpper(text), " " + text} {
		if _, err := Parse(s); !errors.Is(err, ErrMalformed) {
			t.Errorf("Parse(%q) = %v, want ErrMalformed", s, err)
		}
	}
}

func TestKeyDoesNotPrintItself(t *testing.T) {
	k := mustNew(t)
	for _, format := range []string{"%s", "%v", "%+v", "%#v", "%q"} {
		if out := fmt.Sprintf(format, k); strings.Contains(out, k.Reveal()[len(Prefix):]) {
			t.Errorf("%s prints the key: %s", format, out)
		}
	}
}

func TestRandomSourceFails(t *testing.T) {
	if _, err := newFrom(bytes.NewReader(nil)); err == nil {
		t.Fatal("a key was made without randomness")
	}
}

func TestFromHeaders(t *testing.T) {
	for _, c := range []struct {
		name   string
		header map[string][]string
		want   string
		err    error
	}{
		{"none", nil, "", ErrMissing},
		{"x-api-key", map[string][]string{"x-api-key": {"k"}}, "k", nil},
		{"x-api-key with a scheme", map[string][]string{"x-api-key": {"Bearer k"}}, "k", nil},
		{"bearer", map[string][]string{"authorization": {"Bearer k"}}, "k", nil},
		{"bearer in lower case, padded", map[string][]string{"authorization": {" bearer  k "}}, "k", nil},
		{"remapped", map[string][]string{"x-amzn-remapped-authorization": {"Bearer k"}}, "k", nil},
		{"remapped, no scheme", map[string][]string{"x-amzn-remapped-authorization": {"k"}}, "", ErrUnclear},
		{"basic is not ours", map[string][]string{"authorization": {"Basic k"}}, "", ErrUnclear},
		{"no scheme", map[string][]string{"authorization": {"k"}}, "", ErrUnclear},
		{"basic beside a key", map[string][]string{"authorization": {"Basic b"}, "x-api-key": {"k"}}, "k", nil},
		{"all, the same", map[string][]string{"authorization": {"Bearer k"}, "x-api-key": {"k"}, "x-amzn-remapped-authorization": {"bearer k"}}, "k", nil},
		{"both, different", map[string][]string{"authorization": {"Bearer a"}, "x-api-key": {"b"}}, "", ErrUnclear},
		{"remapped and another", map[string][]string{"x-amzn-remapped-authorization": {"Bearer a"}, "x-api-key": {"b"}}, "", ErrUnclear},
		{"doubled", map[string][]string{"x-api-key": {"a", "b"}}, "", ErrUnclear},
		{"doubled, the same", map[string][]string{"x-api-key": {"a", "a"}}, "a", nil},
		{"empty", map[string][]string{"x-api-key": {""}}, "", ErrMissing},
		{"empty beside a key", map[string][]string{"x-api-key": {""}, "authorization": {"Bearer k"}}, "k", nil},
		{"scheme only", map[string][]string{"authorization": {"Bearer"}}, "", ErrUnclear},
	} {
		got, err := FromHeaders(func(name string) []string { return c.header[name] })
		if got != c.want || err != c.err {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	k, err := New()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(k.Reveal())
	f.Add(Prefix)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		// The grammar, by other means than Parse.
		form := regexp.MustCompile(`^sekisho_[0-9A-Za-z]{36}$`).MatchString(text)
		good := form && opaque.Seal(text[:38]) == text
		switch {
		case good != (err == nil):
			t.Fatalf("Parse(%q): %v", text, err)
		case err != nil && (!errors.Is(err, ErrMalformed) || k.Reveal() != ""):
			t.Fatalf("Parse(%q): %q, %v", text, k.Reveal(), err)
		case err == nil && k.Reveal() != text:
			t.Fatalf("Parse(%q) gave another key", text)
		}
		if !form {
			return
		}
		// Its own checksum makes a key of whatever has the form.
		if _, err := Parse(opaque.Seal(text[:38])); err != nil {
			t.Fatalf("%q with its checksum: %v", text[:38], err)
		}
	})
}

// FuzzFromHeaders: a request has one key. Whatever else is sent that could be taken for one by
// somebody else is the same, or the request is refused.
func FuzzFromHeaders(f *testing.F) {
	f.Add("k", "Bearer k", "", "")
	f.Add("", "bearer  k ", "Bearer\tk", "Basic k")
	f.Add("Bearer Bearer k", "Bearer k", "Bearer", " ")
	f.Fuzz(func(t *testing.T, apiKey, authorization, second, remapped string) {
		sent := map[string][]string{"x-api-key": {apiKey}, "authorization": {authorization, second}, "x-amzn-remapped-authorization": {remapped}}
		key, err := FromHeaders(func(name string) []string { return sent[name] })
		if (key == "") == (err == nil) || err != nil && err != ErrMissing && err != ErrUnclear {
			t.Fatalf("%q, %v", key, err)
		}
		for name, values := range sent {
			for _, value := range values {
				value = strings.TrimSpace(value)
				if value != "" && err == ErrMissing {
					t.Fatalf("%s: %q was sent, and nothing is said to be", name, value)
				}
				if scheme, token, ok := strings.Cut(value, " "); ok && strings.ToLower(scheme) == "bearer" {
					value = strings.TrimSpace(token)
				} else if name != "x-api-key" {
					continue
				}
				if err == nil && value != "" && value != key {
					t.Fatalf("%s holds %q, and %q was taken", name, value, key)
				}
			}
		}
	})
}

func BenchmarkParseAndHash(b *testing.B) {
	k, err := New()
	if err != nil {
		b.Fatal(err)
	}
	text := k.Reveal()
	b.ReportAllocs()
	for b.Loop() {
		k, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		_ = k.Hash().ID()
	}
}
