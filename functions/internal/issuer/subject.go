package issuer

import (
	"crypto/sha256"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/reply"
)

// maxSubject is the most characters that a subject has (OpenID Connect Core, section 2).
const maxSubject = 255

// CheckSubject says whether a subject can be shown in a message and a shell command as it is.
func CheckSubject(subject string) bool {
	return subject != "" && len(subject) <= maxSubject && utf8.ValidString(subject) && strings.IndexFunc(subject, func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }) < 0
}

// KeyHash is the hash that a subject's key is stored under. It is that of a text which has not the
// form of a key, so no text that somebody sends has it. Neither an issuer nor a subject has a zero
// byte, so no two pairs are alike.
func KeyHash(issuer, subject string) apikey.Hash {
	return sha256.Sum256([]byte("sekisho external subject\x00" + issuer + "\x00" + subject))
}

// KeyName is what lists of keys show of a subject.
func KeyName(issuer, subject string) string {
	host := issuer
	if u, err := url.Parse(issuer); err == nil {
		host = u.Host
	}
	return reply.Cut(subject+" at "+host, account.MaxName-1) // and the mark of the cut
}

// UserID is the user of a subject that is seen for the first time: what of the subject is readable,
// and the key's own digits, so that nobody becomes another's user by choosing a name.
func UserID(issuer, subject string) string {
	digits := strings.TrimPrefix(KeyHash(issuer, subject).ID(), "key_")
	readable := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._@-", r)) {
			return r
		}
		return '-'
	}, subject)
	readable = strings.Trim(readable, "._@-")
	readable = readable[:min(len(readable), account.MaxUserID-len(digits)-1)]
	return strings.TrimLeft(readable+"-"+digits, "-")
}
