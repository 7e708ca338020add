package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/memo"
	"sekisho/functions/internal/ratelimit"
)

// Authenticator looks up the grant and the key of an access token. It is safe for concurrent use.
type Authenticator struct {
	store   Store
	keys    *account.Authenticator
	now     func() time.Time
	unknown *ratelimit.Budget
	cache   *memo.Memo[found]
}

// found is what the store answered: a grant, or that there is none.
type found struct {
	grant Grant
	err   error
}

// NewAuthenticator makes an authenticator that caches grants for ttl, 0 or longer. Keys are
// looked up, and cached, by another one.
func NewAuthenticator(store Store, keys *account.Authenticator, now func() time.Time, ttl time.Duration) *Authenticator {
	return &Authenticator{
		store: store, keys: keys, now: now,
		unknown: ratelimit.NewBudget(account.Unknown), cache: memo.New[found](ttl),
	}
}

// Authenticate looks up an access token by its text. source is whom to blame for an unknown one:
// the caller's address. The grant may be logged by its ID.
//
// The error wraps ErrNotFound for a malformed or unknown token, ErrExpired for one that a refresh
// token replaces, and ErrEnded where the app must sign in anew; account.ErrInactive or
// account.ErrNotFound where the key ended; it is a *[account.ThrottledError] when too many unknown
// tokens were sent; any other error means that a store could not be read. Key and grant are
// returned with it as far as they are known.
func (a *Authenticator) Authenticate(ctx context.Context, text, source string) (account.Key, Grant, error) {
	token, err := Parse(text)
	if err != nil {
		return account.Key{}, Grant{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	g, err := a.find(ctx, token, source, a.now())
	if err != nil {
		return account.Key{}, g, err
	}
	k, err := a.keys.ByID(ctx, g.KeyID)
	return k, g, err
}

// find returns the grant if the token works.
func (a *Authenticator) find(ctx context.Context, token Token, source string, now time.Time) (Grant, error) {
	id := token.GrantID()
	f, ok := a.cache.At(id, now)
	if ok && f.err == nil && token.Family().Equal(f.grant.Family) {
		if err := f.grant.Check(token, now); !errors.Is(err, ErrNotFound) {
			return f.grant, err
		}
		// The token may be newer than what is cached. Whoever holds another one of the grant may
		// make such tokens up, at the expense of that grant alone.
		ok, source = false, id
	}
	if !ok {
		if wait, ok := a.unknown.Left(source, now); !ok {
			return Grant{}, &account.ThrottledError{Wait: wait}
		}
		var err error
		if f, err = a.read(ctx, id, now); err != nil {
			return Grant{}, err
		}
	}
	err := f.err
	if err == nil {
		err = f.grant.Check(token, now)
	}
	if !ok && errors.Is(err, ErrNotFound) {
		a.unknown.Allow(source, now)
	}
	return f.grant, err
}

// read asks the store, and remembers its answer.
func (a *Authenticator) read(ctx context.Context, id string, now time.Time) (found, error) {
	g, err := a.store.Grant(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		err = fmt.Errorf("grant %s: %w", id, ErrNotFound)
	case err != nil:
		return found{}, fmt.Errorf("read grant %s: %w", id, err)
	}
	f := found{grant: g, err: err}
	a.cache.Remember(id, f, now)
	return f, nil
}
