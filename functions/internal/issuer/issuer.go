// Package issuer trusts somebody else's sign-in: a company's own authorization server signs access
// tokens (JWTs, RFC 7519 and 9068), and each of its subjects has an API key here that nobody holds
// the text of. Plans, counters, settings and revocation are those of any key.
//
// Tokens are parsed and verified by go-jose, which needs nothing but the standard library.
// coreos/go-oidc builds on it, but checks ID tokens, and reads the issuer's keys without a bound and
// again for every unknown key ID; lestrrat-go/jwx has more dependencies. What is left to write is the
// cache of the issuer's keys.
package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/ratelimit"
)

// Config says whose tokens are taken.
type Config struct {
	// Issuer is its URL, exactly as tokens have it in iss.
	Issuer string
	// Audiences are those of which a token must name one: in aud, or in client_id where it has no
	// aud, as Amazon Cognito's access tokens don't.
	Audiences []string
	// Scope that a token must have; "" for none.
	Scope string
	// NewUserPlan is the plan of the users that are made of unknown subjects; "": none are made.
	NewUserPlan string

	Keys    Keys
	Keyring account.Keyring
	Now     func() time.Time
}

// Keys looks keys up by their IDs; see account.Authenticator.
type Keys interface {
	ByID(ctx context.Context, id string) (account.Key, error)
	// Reread is ByID past what is remembered.
	Reread(ctx context.Context, id string) (account.Key, error)
}

// InvalidError refuses a token. Its text is for the caller. It is an account.ErrNotFound.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// Is makes it one of the errors of account.Authenticator.
func (*InvalidError) Is(target error) bool { return target == account.ErrNotFound }

// UnknownSubjectError says that a good token is of a subject who has no key here.
type UnknownSubjectError struct{ Issuer, Subject string }

func (e *UnknownSubjectError) Error() string {
	return fmt.Sprintf("subject %s of %s has no key", e.Subject, e.Issuer)
}

// Command gives the subject a key. The subject is quoted for a shell, since its owner may have chosen it.
func (e *UnknownSubjectError) Command() string {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	return "sekisho keys create --user NAME --issuer " + quote(e.Issuer) + " --sub " + quote(e.Subject)
}

// ScopeError says that a good token lacks the scope.
type ScopeError struct{ Scope string }

func (e *ScopeError) Error() string { return "the token lacks the scope " + e.Scope }

// UnavailableError says that the issuer could not be asked for its keys, so that a token can't be
// judged.
type UnavailableError struct {
	// Wait until it is asked again.
	Wait time.Duration
	Err  error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("the issuer's keys: %v", e.Err) }

func (e *UnavailableError) Unwrap() error { return e.Err }

// Authenticator finds the key of a token's subject. It is safe for concurrent use.
type Authenticator struct {
	Config
	keys *keySet
	// made bounds how often users are made for one source.
	made *ratelimit.Budget
}

// New checks the configuration. The issuer is asked for its keys when the first token comes.
func New(c Config) (*Authenticator, error) {
	if err := CheckURL(c.Issuer); err != nil {
		return nil, err
	}
	if len(c.Audiences) == 0 {
		return nil, errors.New("an issuer needs an audience: without one, every token that it makes for other services would be taken")
	}
	if c.NewUserPlan != "" {
		if _, err := c.Keyring.Plans.Limits(c.NewUserPlan); err != nil {
			return nil, fmt.Errorf("the plan of new users: %w", err)
		}
	}
	keys, err := newKeySet(c.Issuer, c.Now)
	if err != nil {
		return nil, err
	}
	return &Authenticator{Config: c, keys: keys, made: ratelimit.NewBudget(account.Unknown)}, nil
}

// CheckURL refuses what can't be an issuer (RFC 8414, section 2). Plain http is for a laptop's own.
func CheckURL(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !private(u) {
		return fmt.Errorf("issuer %q: want the URL that tokens have in iss, such as https://login.example.com, without query or fragment", issuer)
	}
	return nil
}

// private: what is sent there can't be read or changed on the way.
func private(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// FromEnv builds the authenticator that the environment asks for; nil if it names no issuer. New subjects
// become users among those given.
func FromEnv(rt boot.Runtime, keys Keys, users account.Keyring) (*Authenticator, error) {
	if rt.Env(boot.OAuthIssuer) == "" {
		return nil, nil
	}
	a, err := New(Config{
		Issuer: rt.Env(boot.OAuthIssuer), Audiences: rt.Env.List(boot.OAuthAudience), Scope: rt.Env(boot.OAuthScope), NewUserPlan: rt.Env(boot.OAuthNewUserPlan),
		Keys: keys, Keyring: users, Now: rt.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("%s, %s, %s: %w", boot.OAuthIssuer, boot.OAuthAudience, boot.OAuthNewUserPlan, err)
	}
	return a, nil
}

// Authenticate finds the key of a token's subject, and the client that got the token. source is the
// caller's address.
//
// The error is an *[InvalidError], a *[ScopeError], an *[UnknownSubjectError] or an
// *[UnavailableError], or one of account.Authenticator's: ErrInactive for a subject whose key was
// revoked, which is still returned, and a *account.ThrottledError for a source of which too many new
// users came.
func (a *Authenticator) Authenticate(ctx context.Context, token, source string) (key account.Key, client string, err error) {
	c, err := a.verify(ctx, token)
	if err != nil {
		return account.Key{}, "", err
	}
	h := KeyHash(a.Issuer, c.Subject)
	key, err = a.Keys.ByID(ctx, h.ID())
	if errors.Is(err, account.ErrNotFound) {
		key, err = a.firstSight(ctx, c.Subject, source)
	}
	if key.ID != "" && !key.Hash.Equal(h) { // of the 80 bits that IDs have, another's are the same
		return account.Key{}, "", &UnknownSubjectError{a.Issuer, c.Subject}
	}
	return key, c.client(), err
}

// firstSight makes user and key of a subject, where that is configured. Another instance may have
// done it meanwhile, or a call that got no further than the user.
func (a *Authenticator) firstSight(ctx context.Context, subject, source string) (account.Key, error) {
	if a.NewUserPlan == "" {
		return account.Key{}, &UnknownSubjectError{a.Issuer, subject}
	}
	if wait, ok := a.made.Left(source, a.Now()); !ok {
		return account.Key{}, &account.ThrottledError{Wait: wait}
	}
	h, user := KeyHash(a.Issuer, subject), UserID(a.Issuer, subject)
	if _, err := a.Keyring.CreateUser(ctx, user, a.NewUserPlan); err != nil && !errors.Is(err, account.ErrExists) {
		return account.Key{}, err
	}
	switch _, err := a.Keyring.AddKey(ctx, h, user, KeyName(a.Issuer, subject)); {
	case err == nil:
		a.made.Allow(source, a.Now())
	case !errors.Is(err, account.ErrExists):
		return account.Key{}, err
	}
	return a.Keys.Reread(ctx, h.ID())
}

// MetadataURLs are where an issuer may describe itself: OpenID Connect Discovery, section 4, then
// RFC 8414, section 3.1, which puts the issuer's path last.
func MetadataURLs(issuer string) []string {
	u, _ := url.Parse(issuer) // CheckURL has read it
	path := strings.TrimRight(u.Path, "/")
	origin := u.Scheme + "://" + u.Host
	return []string{origin + path + "/.well-known/openid-configuration", origin + "/.well-known/oauth-authorization-server" + path}
}
