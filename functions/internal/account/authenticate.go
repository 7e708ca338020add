package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/ratelimit"
)

// DefaultKeyCache is how long an instance caches a key. A revoked key may work for that
// much longer, and a change of plan or settings takes that long to apply.
const DefaultKeyCache = 30 * time.Second

// Unknown is how often a source may send keys that don't exist, to one instance. Each well-formed
// one costs a read; nobody mistypes a key so that its checksum is right.
var Unknown = ratelimit.Limit{Burst: 10, PerSecond: 1}

// ThrottledError says that a source has sent too many unknown keys. The store was not asked, so
// this one may be good.
type ThrottledError struct {
	// Wait until the next may be sent.
	Wait time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many unknown keys; the next is looked up in %s", e.Wait)
}

// Authenticator looks up the key that a caller sent. It is safe for concurrent use.
type Authenticator struct {
	store   Store
	now     func() time.Time
	ttl     time.Duration
	unknown *ratelimit.Budget

	mu    sync.Mutex
	cache map[string]cached
}

type cached struct {
	key   Key
	err   error
	until time.Time
}

// NewAuthenticator makes an authenticator that caches keys for ttl, 0 or longer.
func NewAuthenticator(store Store, now func() time.Time, ttl time.Duration) *Authenticator {
	return &Authenticator{store: store, now: now, ttl: ttl, unknown: ratelimit.NewBudget(Unknown), cache: map[string]cached{}}
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
	if !k.Active(now) {
		return k, fmt.Errorf("key %s: %w", k.ID, ErrInactive)
	}
	return k, nil
}

func (a *Authenticator) find(ctx context.Context, h apikey.Hash, source string, now time.Time) (Key, error) {
	id := h.ID()
	if c, ok := a.cachedAt(id, now); ok {
		if c.err == nil && !c.key.Hash.Equal(h) {
			return Key{}, ErrNotFound
		}
		return c.key, c.err
	}
	if wait, ok := a.unknown.Left(source, now); !ok {
		return Key{}, &ThrottledError{wait}
	}
	k, err := a.store.Key(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		a.unknown.Allow(source, now)
		err = fmt.Errorf("key %s: %w", id, ErrNotFound)
	case err != nil:
		return Key{}, fmt.Errorf("read key %s: %w", id, err)
	case !k.Hash.Equal(h):
		return Key{}, fmt.Errorf("key %s: %w", id, ErrNotFound)
	}
	a.remember(id, cached{key: k, err: err, until: now.Add(a.ttl)})
	return k, err
}

func (a *Authenticator) cachedAt(id string, now time.Time) (cached, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.cache[id]
	return c, ok && now.Before(c.until)
}

// maxCached bounds the cache, so that a flood of made-up keys can't fill the memory.
const maxCached = 10_000

func (a *Authenticator) remember(id string, c cached) {
	if a.ttl <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cache) >= maxCached {
		clear(a.cache)
	}
	a.cache[id] = c
}
