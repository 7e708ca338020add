package backend

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sekisho/functions/internal/contract"
)

// Names of the headers that tell a backend who calls.
const (
	Prefix = contract.IdentityPrefix

	UserHeader      = Prefix + "User"
	KeyHeader       = Prefix + "Key"
	PlanHeader      = Prefix + "Plan"
	AdmissionHeader = Prefix + "Admission"
	TimeHeader      = Prefix + "Time"
	SignatureHeader = Prefix + "Signature"

	// AnsweredBy marks an answer as a backend's own, with the backend's name: what has no such
	// header comes from the gateway or from the relay.
	AnsweredBy = Prefix + "Backend"
)

// Identity is who calls, as the authorizer found out. None of it holds a line break.
type Identity struct{ User, Key, Plan, Admission string }

// Headers are those of a signed request: target is the path with the query, as it is sent.
func (id Identity) Headers(key, method, target string, body []byte, now time.Time) map[string]string {
	seconds := strconv.FormatInt(now.Unix(), 10)
	return map[string]string{
		UserHeader: id.User, KeyHeader: id.Key, PlanHeader: id.Plan, AdmissionHeader: id.Admission,
		TimeHeader:      seconds,
		SignatureHeader: version + "=" + sign(key, id.canonical(method, target, body, seconds)),
	}
}

const version = "v1"

// canonical is the text that is signed: nine lines without a line break at the end. All but the
// hash are as they are sent, so that a verifier needs no parser.
func (id Identity) canonical(method, target string, body []byte, seconds string) string {
	hash := sha256.Sum256(body)
	return strings.Join([]string{
		version, seconds, method, target, hex.EncodeToString(hash[:]), id.User, id.Key, id.Plan, id.Admission,
	}, "\n")
}

func sign(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// shortestKey is in characters: fewer could be guessed offline, from one signature.
const shortestKey = 16

// SigningKey is the key to sign with: the first of one or two in the text, newest first, with
// spaces, commas or line breaks between them. Verifiers accept both, so that a key can be
// replaced while calls are under way. The error quotes nothing.
func SigningKey(text string) (string, error) {
	keys := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(keys) == 0 || len(keys) > 2 {
		return "", errors.New("want one signing key, or two of them with the newest first")
	}
	for _, key := range keys {
		if len(key) < shortestKey {
			return "", fmt.Errorf("a signing key has at least %d characters; make one with: openssl rand -hex 32", shortestKey)
		}
	}
	return keys[0], nil
}
