package grant

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/opaque"
)

// Kind is what a token is for.
type Kind string

// The kinds of tokens, as their texts name them.
const (
	Code    Kind = "ac" // the authorization code, redeemed once for the two others
	Access  Kind = "at"
	Refresh Kind = "rt"
)

const (
	familyDigits = 22 // 131 bits
	nonceDigits  = 22
)

// ErrMalformed means that a text isn't one of our tokens: wrong prefix, length, digit or check
// digits.
var ErrMalformed = errors.New("malformed token")

// Token is a code, an access token or a refresh token: "sekisho_at_", 22 digits that all tokens
// of a grant have in common (its family), 22 of its own and the check digits. It prints as its
// prefix only, so it can't end up in a log by accident.
type Token struct {
	kind   Kind
	family string
	text   string
}

func prefix(kind Kind) string { return apikey.Prefix + string(kind) + "_" }

// newToken makes a token of a new family if family is empty.
func newToken(random io.Reader, kind Kind, family string) (Token, error) {
	drawn, err := opaque.Digits(random, familyDigits-len(family)+nonceDigits)
	if err != nil {
		return Token{}, fmt.Errorf("make a token: %w", err)
	}
	body := family + drawn
	return Token{kind: kind, family: body[:familyDigits], text: opaque.Seal(prefix(kind) + body)}, nil
}

// sibling makes another token of the same family.
func (t Token) sibling(kind Kind) (Token, error) { return newToken(rand.Reader, kind, t.family) }

// successor is the refresh token that replaces t. It follows from t and the salt, so a rotation
// whose answer was lost can be answered again, though neither token was stored. The salt alone,
// which is stored, says nothing about it, and t alone no more.
func (t Token) successor(salt []byte) (Token, error) {
	derived, err := hkdf.Key(sha256.New, []byte(t.text), salt, "sekisho refresh token", 64)
	if err != nil {
		return Token{}, fmt.Errorf("derive a token: %w", err)
	}
	return newToken(bytes.NewReader(derived), Refresh, t.family)
}

// Parse checks the form of a token and its check digits. The error is ErrMalformed.
func Parse(text string) (Token, error) {
	for _, kind := range []Kind{Code, Access, Refresh} {
		if body, ok := opaque.Open(text, prefix(kind), familyDigits+nonceDigits); ok {
			return Token{kind: kind, family: body[:familyDigits], text: text}, nil
		}
	}
	return Token{}, ErrMalformed
}

// Kind is what the token is for.
func (t Token) Kind() Kind { return t.kind }

// Reveal returns the token itself.
func (t Token) Reveal() string { return t.text }

// String hides the token.
func (t Token) String() string { return prefix(t.kind) + "…" }

// GoString hides the token from %#v too.
func (t Token) GoString() string { return t.String() }

// Hash is what is stored of the token.
func (t Token) Hash() opaque.Hash { return opaque.Sum(t.text) }

// Family is the hash of what all tokens of the grant have in common.
func (t Token) Family() opaque.Hash { return opaque.Sum(t.family) }

// GrantID is the public name of the token's grant, by which stores find it.
func (t Token) GrantID() string { return t.Family().ID(idPrefix) }

const idPrefix = "grant_"
