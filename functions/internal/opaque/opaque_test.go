package opaque

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
)

func TestDigitsAreEvenlySpread(t *testing.T) {
	const n = 60_000
	drawn, err := Digits(rand.Reader, n)
	if err != nil || len(drawn) != n {
		t.Fatal(len(drawn), err)
	}
	counts := map[byte]int{}
	for i := range len(drawn) {
		counts[drawn[i]]++
	}
	mean := float64(n) / 62
	var chi float64
	for i := range len(digits) {
		d := float64(counts[digits[i]]) - mean
		chi += d * d / mean
	}
	if chi > 140 { // 61 degrees of freedom: beyond one in ten million
		t.Fatalf("digits are not evenly spread: chi-square %.1f", chi)
	}
}

func TestASourceThatEnds(t *testing.T) {
	if text, err := Digits(bytes.NewReader(make([]byte, 63)), 1); err == nil {
		t.Errorf("%q was made of half a block", text)
	}
}

func TestOpen(t *testing.T) {
	sealed := Seal("x_abc")
	for _, c := range []struct {
		name, text, prefix string
		n                  int
		want               string
	}{
		{"sealed", sealed, "x_", 3, "abc"},
		{"another prefix", sealed, "y_", 3, ""},
		{"another length", sealed, "x_", 4, ""},
		{"shorter than the check digits", "x_abc", "x_", -1, ""},
		{"check digits of another", "x_abd" + sealed[5:], "x_", 3, ""},
		{"a sign that isn't a digit", Seal("x_a-c"), "x_", 3, ""},
	} {
		if got, ok := Open(c.text, c.prefix, c.n); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, ok, c.want)
		}
	}
}

func TestHashAsJSON(t *testing.T) {
	h := Sum("x")
	raw, err := json.Marshal(h)
	if err != nil || string(raw) != `"`+h.String()+`"` {
		t.Fatalf("%s, %v", raw, err)
	}
	var back Hash
	if err := json.Unmarshal(raw, &back); err != nil || !back.Equal(h) {
		t.Errorf("%s, %v; want %s", back, err, h)
	}
	for _, bad := range []string{`""`, `"00"`, `"` + h.String() + `00"`, `"` + h.String()[:63] + `g"`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil || !strings.Contains(err.Error(), "has 64 hexadecimal digits") {
			t.Errorf("%s is read as %s, %v", bad, back, err)
		}
	}
}
