// Package grant is what a host holds that signed in with a key: a grant, and the tokens issued
// under it.
//
// A grant is made with an authorization code. The code is redeemed once, for an access token and
// a refresh token; a refresh token is rotated at every use. A token that is used a second time
// was stolen by one of two, and nobody knows by which, so it ends the grant (RFC 9700, section
// 4.14.2). All state of a grant is one record, so every change is one compare-and-set; see
// [Change]. Tokens are stored as hashes only.
package grant

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"sekisho/functions/internal/opaque"
)

// Errors of a Store, of a Grant's methods and of an Authenticator.
var (
	// ErrNotFound: there is no such grant, or the token isn't one of the grant's.
	ErrNotFound = errors.New("not found")
	// ErrExpired: the token is too old; the grant may go on.
	ErrExpired = errors.New("expired")
	// ErrEnded: the grant was ended, or has reached its end.
	ErrEnded = errors.New("ended")
	// ErrReused: the code or refresh token was used before. This ends the grant.
	ErrReused = errors.New("used a second time, which ends the grant")
	// ErrChanged: the stored grant is no longer the one that was read.
	ErrChanged = errors.New("changed meanwhile")
	// ErrExists: there is a grant with that ID.
	ErrExists = errors.New("exists already")
	// ErrTooMany: the key has MaxPerKey grants.
	ErrTooMany = errors.New("too many signed-in apps; end one of them first")
)

const (
	// MaxPerKey bounds the live grants of one key.
	MaxPerKey = 20
	// CodeLasts is how long a code can be redeemed: time for a browser to ask whether it may open
	// the app. RFC 6749, section 4.1.2, allows ten minutes.
	CodeLasts = 2 * time.Minute
	// Leeway is how long a refresh token that was rotated is answered as before: the answer may
	// have been lost, or two windows of a host used it at once.
	Leeway = 10 * time.Second
	// Retain is how much longer than it lives a store keeps a grant at least, unless its key gets
	// another: whoever comes with its tokens then hears why they stopped working.
	Retain = 24 * time.Hour
	// maxAccess bounds the access tokens that a grant remembers, expired ones included, so that
	// their holders hear why. The oldest goes first, even if it still works.
	maxAccess = 5
)

// Client is the app that signed in.
type Client struct {
	ID string `json:"id"`
	// Name is what the app calls itself. Host is where it is known to be from: the host of its
	// client document, or of its redirect.
	Name string `json:"name,omitempty"`
	Host string `json:"host,omitempty"`
}

// String says which app it is, for people: what it calls itself, and where it is known to be from.
func (c Client) String() string {
	switch {
	case c.Name == "":
		return cmp.Or(c.Host, c.ID)
	case c.Host == "":
		return c.Name
	}
	return c.Name + " (" + c.Host + ")"
}

// Grant is what is stored of one sign-in. Times are UTC, in milliseconds.
type Grant struct {
	// ID is the public name of the grant. It may be logged and shown: knowing it proves nothing.
	ID     string      `json:"id"`
	Family opaque.Hash `json:"family"`
	// KeyID is the key that the host signed in with, and that its calls are charged to.
	KeyID  string `json:"key"`
	Client Client `json:"client"`
	// Redirect and Challenge are what the code was asked for with, and is redeemed with: the
	// redirect_uri as sent, and the S256 code challenge.
	Redirect  string `json:"redirect"`
	Challenge string `json:"challenge"`
	// Resource is the address that the tokens are for.
	Resource  string    `json:"resource"`
	CreatedAt time.Time `json:"created_at"`
	// UsedAt is when tokens were last issued.
	UsedAt    time.Time `json:"used_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`

	Code       opaque.Hash `json:"code"`
	RedeemedAt time.Time   `json:"redeemed_at,omitzero"`
	Access     []Issued    `json:"access,omitempty"`
	Refresh    opaque.Hash `json:"refresh,omitzero"`
	Rotated    Rotated     `json:"rotated,omitzero"`

	// Version counts the changes; a Store compares it.
	Version int64 `json:"-"`
}

// Issued is an access token that was issued.
type Issued struct {
	Hash      opaque.Hash `json:"hash"`
	ExpiresAt time.Time   `json:"expires_at"`
}

// Rotated is the refresh token before the current one.
type Rotated struct {
	Hash opaque.Hash `json:"hash"`
	At   time.Time   `json:"at"`
	// Salt and the token before make the current one; see Token.successor.
	Salt []byte `json:"salt"`
}

// Request is what a holder of a key consents to.
type Request struct {
	KeyID                         string
	Client                        Client
	Redirect, Challenge, Resource string
	// Lasts is how long after signing in the grant ends.
	Lasts time.Duration
}

// New makes a grant and its code.
func New(r Request, now time.Time) (Grant, Token, error) {
	code, err := newToken(rand.Reader, Code, "")
	if err != nil {
		return Grant{}, Token{}, err
	}
	now = tidy(now)
	return Grant{
		ID: code.GrantID(), Family: code.Family(), KeyID: r.KeyID, Client: r.Client,
		Redirect: r.Redirect, Challenge: r.Challenge, Resource: r.Resource,
		CreatedAt: now, ExpiresAt: tidy(now.Add(r.Lasts)), Code: code.Hash(),
	}, code, nil
}

// tidy rounds to milliseconds, the precision that every store keeps.
func tidy(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Until is when the grant ends, or ended. One whose code is never redeemed ends with the code.
func (g Grant) Until() time.Time {
	switch {
	case !g.EndedAt.IsZero():
		return g.EndedAt
	case g.RedeemedAt.IsZero():
		return g.CreatedAt.Add(CodeLasts)
	}
	return g.ExpiresAt
}

// Live reports whether the grant's tokens may work.
func (g Grant) Live(now time.Time) bool { return now.Before(g.Until()) }

// SignedIn reports whether the grant is live and its code was redeemed, so that there is an app
// to show.
func (g Grant) SignedIn(now time.Time) bool { return !g.RedeemedAt.IsZero() && g.Live(now) }

// End ends the grant now, or leaves an earlier end in place.
func (g Grant) End(now time.Time) Grant {
	if g.EndedAt.IsZero() {
		g.EndedAt = tidy(now)
	}
	return g
}

// Pair is what a host gets for a code or a refresh token.
type Pair struct {
	Access, Refresh Token
	// ExpiresAt is when the access token stops working.
	ExpiresAt time.Time
}

// Redeem exchanges the code for the first tokens; the access token works for lasts. Whoever calls
// it has checked client, redirect and verifier. The grant returned is to be stored if it changed,
// whatever the error, which is ErrNotFound, ErrExpired, ErrEnded or ErrReused.
func (g Grant) Redeem(code Token, lasts time.Duration, now time.Time) (Grant, Pair, error) {
	switch {
	case !g.owns(code, Code) || !code.Hash().Equal(g.Code):
		return g, Pair{}, g.fail(ErrNotFound)
	case !g.EndedAt.IsZero():
		return g, Pair{}, g.fail(ErrEnded)
	case !g.RedeemedAt.IsZero():
		return g.End(now), Pair{}, g.fail(ErrReused)
	case !g.Live(now):
		return g, Pair{}, g.fail(ErrExpired)
	}
	refresh, err := code.sibling(Refresh)
	if err != nil {
		return g, Pair{}, err
	}
	changed := g
	changed.RedeemedAt = tidy(now)
	return g.issued(changed, refresh, lasts, now)
}

// Rotate exchanges a refresh token for new tokens; the access token works for lasts. Within the
// Leeway the token before the current one gets the current one once more. The grant returned is
// to be stored if it changed, whatever the error, which is ErrNotFound, ErrEnded or ErrReused.
func (g Grant) Rotate(refresh Token, lasts time.Duration, now time.Time) (Grant, Pair, error) {
	h, changed := refresh.Hash(), g
	switch {
	case !g.owns(refresh, Refresh):
		return g, Pair{}, g.fail(ErrNotFound)
	case !g.SignedIn(now):
		return g, Pair{}, g.fail(ErrEnded)
	case h.Equal(g.Refresh):
		changed.Rotated = Rotated{Hash: h, At: tidy(now), Salt: make([]byte, 16)}
		_, _ = rand.Read(changed.Rotated.Salt) // it never fails
	case !h.Equal(g.Rotated.Hash) || now.Sub(g.Rotated.At) >= Leeway:
		return g.End(now), Pair{}, g.fail(ErrReused)
	}
	next, err := refresh.successor(changed.Rotated.Salt)
	if err != nil {
		return g, Pair{}, err
	}
	return g.issued(changed, next, lasts, now)
}

// issued adds a new access token and the refresh token to a changed grant; with an error it
// returns g, unchanged.
func (g Grant) issued(changed Grant, refresh Token, lasts time.Duration, now time.Time) (Grant, Pair, error) {
	access, err := refresh.sibling(Access)
	if err != nil {
		return g, Pair{}, err
	}
	until := tidy(now.Add(lasts))
	if until.After(g.ExpiresAt) {
		until = g.ExpiresAt
	}
	changed.Access = append(slices.Clone(g.Access), Issued{access.Hash(), until})
	changed.Access = changed.Access[max(0, len(changed.Access)-maxAccess):]
	changed.Refresh, changed.UsedAt = refresh.Hash(), tidy(now)
	return changed, Pair{Access: access, Refresh: refresh, ExpiresAt: until}, nil
}

// Check says whether an access token works: nil, ErrNotFound, ErrEnded or ErrExpired.
func (g Grant) Check(access Token, now time.Time) error {
	if !g.owns(access, Access) {
		return g.fail(ErrNotFound)
	}
	if !g.SignedIn(now) {
		return g.fail(ErrEnded)
	}
	h := access.Hash()
	for _, i := range g.Access {
		if h.Equal(i.Hash) {
			if now.Before(i.ExpiresAt) {
				return nil
			}
			return g.fail(ErrExpired)
		}
	}
	return g.fail(ErrNotFound)
}

// owns says whether a token has the kind that is asked for and the grant's family.
func (g Grant) owns(t Token, kind Kind) bool { return t.kind == kind && t.Family().Equal(g.Family) }

func (g Grant) fail(err error) error { return fmt.Errorf("grant %s: %w", g.ID, err) }

// Store keeps grants. Implementations are safe for concurrent use.
type Store interface {
	// Create adds a new grant, and drops those of the same key that were no longer live when it
	// was made. ErrTooMany if MaxPerKey others still are, ErrExists if the ID is taken.
	Create(ctx context.Context, g Grant) error
	// Grant reads a grant by its ID; ErrNotFound if there is none, perhaps no longer.
	Grant(ctx context.Context, id string) (Grant, error)
	// Put replaces a grant that was read before; ErrChanged if it is no longer as it was. A
	// failure that left open whether it was stored may be repeated with the same grant.
	Put(ctx context.Context, g Grant) error
	// Grants lists the grants of keys, in the order of keys, then by creation time. Some of them
	// may have ended.
	Grants(ctx context.Context, keyIDs ...string) ([]Grant, error)
}

// maxChanges bounds how often Change starts over. Each time another change has succeeded.
const maxChanges = 10

// Change applies a change to a stored grant, and starts over if another change came in between.
// The grant that change returns is stored if it differs, whatever its error says: reuse of a
// token is both an error and the end of the grant. It is returned as stored.
func Change(ctx context.Context, s Store, id string, change func(Grant) (Grant, error)) (Grant, error) {
	for n := 1; ; n++ {
		g, err := s.Grant(ctx, id)
		if err != nil {
			return Grant{}, err
		}
		changed, refused := change(g)
		if same(g, changed) {
			return g, refused
		}
		switch err := s.Put(ctx, changed); {
		case err == nil:
			changed.Version++
			return changed, refused
		case !errors.Is(err, ErrChanged) || n == maxChanges:
			return Grant{}, err
		}
	}
}

// End ends a stored grant; one that has ended before stays as it is.
func End(ctx context.Context, s Store, id string, now time.Time) (Grant, error) {
	return Change(ctx, s, id, func(g Grant) (Grant, error) { return g.End(now), nil })
}
