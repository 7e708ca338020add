// Package apikey makes API keys, checks their form and hashes them.
//
// A key is "sekisho_", 30 random base-62 digits and 6 check digits: 44 characters with 178 bits
// of randomness. The prefix lets secret scanners recognise a leaked key. Package opaque says why
// it ends in check digits, and why only its SHA-256 is stored.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"sekisho/functions/internal/opaque"
)

const (
	// Prefix starts every key.
	Prefix = "sekisho_"
	// Length of a key in bytes, prefix and check digits included.
	Length = len(Prefix) + randomDigits + opaque.CheckDigits

	randomDigits = 30
)

// ErrMalformed means that a text isn't one of our keys: wrong prefix, length, digit or check
// digits.
var ErrMalformed = errors.New("malformed API key")

// Key is a whole key, shown once to its holder. It prints as its prefix only, so it can't
// end up in a log by accident.
type Key struct{ text string }

// Reveal returns the key itself.
func (k Key) Reveal() string { return k.text }

// String hides the key.
func (k Key) String() string { return Prefix + "…" }

// GoString hides the key from %#v too.
func (k Key) GoString() string { return k.String() }

// New makes a key from the system's source of randomness.
func New() (Key, error) { return newFrom(rand.Reader) }

func newFrom(random io.Reader) (Key, error) {
	digits, err := opaque.Digits(random, randomDigits)
	if err != nil {
		return Key{}, fmt.Errorf("make an API key: %w", err)
	}
	return Key{text: opaque.Seal(Prefix + digits)}, nil
}

// Parse checks the form of a key and its check digits. The error is ErrMalformed.
func Parse(text string) (Key, error) {
	if _, ok := opaque.Open(text, Prefix, randomDigits); !ok {
		return Key{}, ErrMalformed
	}
	return Key{text: text}, nil
}

// Hash is the SHA-256 of a key, which is all that is stored of it.
type Hash [sha256.Size]byte

// Hash returns the key's hash.
func (k Key) Hash() Hash { return Hash(opaque.Sum(k.text)) }

// String writes the hash as 64 lower-case hexadecimal digits.
func (h Hash) String() string { return opaque.Hash(h).String() }

// Equal compares in constant time.
func (h Hash) Equal(other Hash) bool { return opaque.Hash(h).Equal(opaque.Hash(other)) }

// ID is the public name of the key: "key_" and 80 bits of its hash.
func (h Hash) ID() string { return opaque.Hash(h).ID("key_") }

// ErrMissing says that a request has no header that could hold a key.
var ErrMissing = errors.New("no API key was sent")

// ErrUnclear says that headers for a key were sent, and that they don't hold one and the same.
var ErrUnclear = errors.New("the headers sent hold no single API key")

// credentials are the headers that a key is taken from. x-amzn-remapped-authorization is where
// another API Gateway in front puts an Authorization header that it keeps from what is behind it.
var credentials = []struct {
	header string
	// bare: the key may come without a scheme.
	bare bool
}{
	{"x-api-key", true}, {"authorization", false}, {"x-amzn-remapped-authorization", false},
}

// FromHeaders finds the key in the headers of a request. Every entrance to the service uses it:
// what is a credential at one is a credential at all. With the scheme Bearer, whose case is free
// (RFC 9110, section 11.1), a key is taken from any of the headers; in x-api-key it may also
// stand alone. When several keys are sent, they must be equal. The form of the key is not
// checked. values returns those of a header, whatever the case of its name.
//
// The error is ErrMissing or ErrUnclear.
func FromHeaders(values func(header string) []string) (string, error) {
	key, sent := "", false
	for _, c := range credentials {
		for _, value := range values(c.header) {
			value = strings.TrimSpace(value)
			sent = sent || value != ""
			scheme, token, found := strings.Cut(value, " ")
			switch {
			case found && strings.EqualFold(scheme, "Bearer"):
				value = strings.TrimSpace(token)
			case !c.bare:
				continue
			}
			if key != "" && value != "" && value != key {
				return "", ErrUnclear
			}
			key = max(key, value) // one of them is empty, or they are equal
		}
	}
	switch {
	case key != "":
		return key, nil
	case sent:
		return "", ErrUnclear
	}
	return "", ErrMissing
}
