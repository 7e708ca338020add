// Package opaque has what API keys and the tokens of grants share: texts of random base-62
// digits that end in check digits, and the hashes that are stored instead of them.
//
// The check digits let us refuse a mistyped text without reading the store. Only the SHA-256 of
// a text is stored: its digits are too many to guess, so a slow password hash would cost time on
// every call and add no safety.
package opaque

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// CheckDigits is how many check digits end a text: 62^6 > 2^32, so a CRC-32 always fits.
const CheckDigits = 6

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Digits draws n base-62 digits, all equally likely. The source is read in blocks of 64 bytes.
func Digits(random io.Reader, n int) (string, error) {
	out := make([]byte, 0, n)
	for block := make([]byte, 64); len(out) < n; {
		if _, err := io.ReadFull(random, block); err != nil {
			return "", fmt.Errorf("read random digits: %w", err)
		}
		for _, v := range block {
			// 248 = 4 × 62: dropping the rest keeps all digits equally likely.
			if v < 248 && len(out) < n {
				out = append(out, digits[v%62])
			}
		}
	}
	return string(out), nil
}

// Seal appends the check digits to a text.
func Seal(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var check [CheckDigits]byte
	for i := CheckDigits - 1; i >= 0; i-- {
		check[i] = digits[sum%62]
		sum /= 62
	}
	return body + string(check[:])
}

// Open returns the n digits between a prefix and the check digits. ok is false if the text has
// another form or its check digits are wrong.
func Open(text, prefix string, n int) (body string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || len(rest) != n+CheckDigits {
		return "", false
	}
	for i := range len(rest) {
		if strings.IndexByte(digits, rest[i]) < 0 {
			return "", false
		}
	}
	return rest[:n], Seal(prefix+rest[:n]) == text
}

// Hash is the SHA-256 of a text.
type Hash [sha256.Size]byte

// Sum hashes a text.
func Sum(text string) Hash { return sha256.Sum256([]byte(text)) }

// String writes the hash as 64 lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Equal compares in constant time.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ID is a public name of the text: the prefix and 80 bits of the hash in base 32. It is safe to
// log and show, since the text can't be derived from it. Stores are keyed by it, so the same
// single read serves a caller who has the text and an operator who has its ID.
func (h Hash) ID(prefix string) string { return prefix + idEncoding.EncodeToString(h[:10]) }

// MarshalText is String, for JSON.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return fmt.Errorf("a hash has %d hexadecimal digits, not %q", 2*len(h), text)
	}
	*h = Hash(raw)
	return nil
}
