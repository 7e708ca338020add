package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/memo"
	"sekisho/functions/internal/ratelimit"
)

// DefaultKeyCache is how long an instance caches a key. A revoked key may work for that
// much longer, and a change of plan or settings takes that long to apply.
const DefaultKeyCache = 30 * time.Second

// Unknown is how often a source may send keys that don't exist, to one instance. Each well-formed
// one costs a read; nobody mistypes a key so that its checksum is right.
var Unknown = ratelimit.Limit{Burst: 10, PerSecond: 1}

// ThrottledError says that a source has sent too many unknown keys, or tokens. The store was not asked, so
// this one may be good.
type ThrottledError struct {
	// Wait until the next may be sent.
	Wait time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many unknown keys or tokens; the next is looked up in %s", e.Wait)
}

// Authenticator looks up the key that a caller sent. It is safe for concurrent use.
type Authenticator struct {
	store   Store
	now     func() time.Time
	unknown *ratelimit.Budget
	cache   *memo.Memo[found]
}

// found is what the store answered: a key, or that there is none.
type found struct {
	key Key
	err error
}

// NewAuthenticator makes an authenticator that caches keys for ttl, 0 or longer.
func NewAuthenticator(store Store, now func() time.Time, ttl time.Duration) *Authenticator {
	return &Authenticator{store: store, now: now, unknown: ratelimit.NewBudget(Unknown), cache: memo.New[found](ttl)}
}

// Authenticate looks up a key by its text. source is whom to blame for an unknown key: the
// caller's address. The error wraps ErrNotFound for a malformed or unknown key and ErrInactive
// for a revoked one, which is still returned; it is a *[ThrottledError] when the source has sent
// too many unknown ones; any other error means that the store could not be read. A malformed key
// never reaches the store.
func (a *Authenticator) Authenticate(ctx context.Context, text, source string) (Key, error) {
	secret, err := apikey.Parse(text)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	now := a.now()
	k, err := a.find(ctx, secret.Hash(), source, now)
	if err != nil {
		return Key{}, err
	}
	return active(k, now)
}

// ByID looks up a key by its ID, for a caller who proved otherwise that the key is theirs. It
// shares the cache with Authenticate, and its errors are the same; nothing is throttled.
func (a *Authenticator) ByID(ctx context.Context, id string) (Key, error) {
	now := a.now()
	f, ok := a.cache.At(id, now)
	switch {
	case !ok:
		return a.Reread(ctx, id)
	case f.err != nil:
		return Key{}, f.err
	}
	return active(f.key, now)
}

// Reread is ByID past the cache, for whoever knows that the key has changed.
func (a *Authenticator) Reread(ctx context.Context, id string) (Key, error) {
	now := a.now()
	f, err := a.read(ctx, id, now)
	if err == nil {
		err = f.err
	}
	if err != nil {
		return Key{}, err
	}
	return active(f.key, now)
}

func active(k Key, now time.Time) (Key, error) {
	if !k.Active(now) {
		return k, fmt.Errorf("key %s: %w", k.ID, ErrInactive)
	}
	return k, nil
}

// read asks the store, and remembers its answer.
func (a *Authenticator) read(ctx context.Context, id string, now time.Time) (found, error) {
	k, err := a.store.Key(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		err = fmt.Errorf("key %s: %w", id, ErrNotFound)
	case err != nil:
		return found{}, fmt.Errorf("read key %s: %w", id, err)
	}
	f := found{key: k, err: err}
	a.cache.Remember(id, f, now)
	return f, nil
}

func (a *Authenticator) find(ctx context.Context, h apikey.Hash, source string, now time.Time) (Key, error) {
	id := h.ID()
	f, ok := a.cache.At(id, now)
	if !ok {
		if wait, ok := a.unknown.Left(source, now); !ok {
			return Key{}, &ThrottledError{wait}
		}
		var err error
		if f, err = a.read(ctx, id, now); err != nil {
			return Key{}, err
		}
		if f.err != nil {
			a.unknown.Allow(source, now)
		}
	}
	if f.err == nil && !f.key.Hash.Equal(h) {
		return Key{}, fmt.Errorf("key %s: %w", id, ErrNotFound)
	}
	return f.key, f.err
}
