package grant_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store/storetest"
)

// world is a key, an app that signed in with it, and an authenticator whose clock is now.
type world struct {
	*grant.Authenticator
	t      *testing.T
	now    time.Time
	ring   account.Keyring
	key    account.Key
	grants *reads
	id     string
	pair   grant.Pair
}

// reads counts how often grants are read, and may fail.
type reads struct {
	grant.Store
	n    int
	down error
}

func (r *reads) Grant(ctx context.Context, id string) (grant.Grant, error) {
	r.n++
	if r.down != nil {
		return grant.Grant{}, r.down
	}
	g, err := r.Store.Grant(ctx, id)
	if errors.Is(err, grant.ErrNotFound) {
		err = grant.ErrNotFound // as by a store that doesn't say which
	}
	return g, err
}

const (
	source = "192.0.2.1"
	ttl    = account.DefaultKeyCache
)

func newWorld(t *testing.T) *world {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, now: time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC), grants: &reads{Store: db.Grants()}}
	now := func() time.Time { return w.now }
	w.ring = account.Keyring{Store: db.Accounts(), Plans: account.DefaultPlans(), Now: now}
	w.Authenticator = grant.NewAuthenticator(w.grants, account.NewAuthenticator(db.Accounts(), now, ttl), now, ttl)
	if _, err = w.ring.CreateUser(t.Context(), "ada", "free"); err == nil {
		_, w.key, err = w.ring.CreateKey(t.Context(), "ada", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	g, pair, err := storetest.SignIn(t.Context(), w.grants.Store, grant.Request{KeyID: w.key.ID, Lasts: 24 * time.Hour}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.id, w.pair = g.ID, pair
	return w
}

// refresh gets the app new tokens.
func (w *world) refresh() {
	w.t.Helper()
	_, err := grant.Change(w.t.Context(), w.grants.Store, w.id, func(g grant.Grant) (grant.Grant, error) {
		changed, pair, err := g.Rotate(w.pair.Refresh, time.Hour, w.now)
		w.pair = pair
		return changed, err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// wants checks what the token is good for.
func (w *world) wants(step string, token grant.Token, want error) {
	w.t.Helper()
	k, g, err := w.Authenticate(w.t.Context(), token.Reveal(), source)
	if !errors.Is(err, want) || err == nil && (k.ID != w.key.ID || g.ID != w.id) {
		w.t.Errorf("%s: key %s, grant %s, %v; want %v", step, k.ID, g.ID, err, want)
	}
}

func TestATokenIsItsKey(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.wants("a good token", w.pair.Access, nil)
	}
	if w.grants.n != 1 {
		t.Errorf("%d reads for three calls, want 1", w.grants.n)
	}
	w.wants("a refresh token", w.pair.Refresh, grant.ErrNotFound)
	if _, _, err := w.Authenticate(t.Context(), "sekisho_at_mistyped", source); !errors.Is(err, grant.ErrNotFound) || w.grants.n != 2 {
		t.Errorf("a malformed token: %v after %d reads; want no read for it", err, w.grants.n)
	}
	old := w.pair.Access
	w.now = w.now.Add(time.Hour)
	w.wants("an hour later", old, grant.ErrExpired)
	w.refresh()
	w.wants("newer than what is cached", w.pair.Access, nil)
	w.wants("the old one", old, grant.ErrExpired)
	w.now = w.now.Add(23 * time.Hour)
	w.wants("after the grant's end", w.pair.Access, grant.ErrEnded)
}

// TestAKeyEndsItsGrants: revoked at once and rotated with a grace period, each within the time
// that keys are cached.
func TestAKeyEndsItsGrants(t *testing.T) {
	w := newWorld(t)
	w.wants("before", w.pair.Access, nil)
	if err := w.ring.RevokeKey(t.Context(), w.key.ID); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(ttl)
	w.wants("the key is revoked", w.pair.Access, account.ErrInactive)

	w = newWorld(t)
	if _, _, err := w.ring.RotateKey(t.Context(), w.key.ID, time.Minute); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute - time.Millisecond)
	w.wants("within the grace period", w.pair.Access, nil)
	w.now = w.now.Add(time.Millisecond)
	w.wants("after it", w.pair.Access, account.ErrInactive)
}

func TestAGrantThatWasEnded(t *testing.T) {
	w := newWorld(t)
	w.wants("before", w.pair.Access, nil)
	if _, err := grant.End(t.Context(), w.grants, w.id, w.now); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(ttl - time.Millisecond)
	w.wants("cached", w.pair.Access, nil)
	w.now = w.now.Add(time.Millisecond)
	w.wants("ended", w.pair.Access, grant.ErrEnded)
}

func TestAuthenticateFailsWithTheStore(t *testing.T) {
	w := newWorld(t)
	w.grants.down = errors.New("down")
	w.wants("down", w.pair.Access, w.grants.down)
	if _, _, err := w.Authenticate(t.Context(), w.pair.Access.Reveal(), source); errors.Is(err, grant.ErrNotFound) || errors.Is(err, grant.ErrEnded) {
		t.Errorf("%v: a failure of the store is not a verdict on the token", err)
	}
	w.grants.down = nil
	w.wants("up again", w.pair.Access, nil)
}

// TestUnknownTokensAreBounded: made-up ones cost a read each, so a source gets a few. Those made
// up of a real token's family are charged to the grant, and hold up no other behind the source.
func TestUnknownTokensAreBounded(t *testing.T) {
	w, burst := newWorld(t), account.Unknown.Burst
	throttled := func(make func() grant.Token) (n int) {
		t.Helper()
		for range 3 * burst {
			_, _, err := w.Authenticate(t.Context(), make().Reveal(), source)
			var limit *account.ThrottledError
			switch {
			case errors.As(err, &limit):
				n++
			case !errors.Is(err, grant.ErrNotFound):
				t.Fatal(err)
			}
		}
		return n
	}
	w.wants("a good token", w.pair.Access, nil)
	w.grants.n = 0
	if n := throttled(func() grant.Token { return w.pair.Refresh }); n != 2*burst || w.grants.n != burst {
		t.Errorf("another token of the grant: %d throttled after %d reads, want %d after %d", n, w.grants.n, 2*burst, burst)
	}
	w.wants("a good token", w.pair.Access, nil)
	w.grants.n = 0
	stranger := func() grant.Token {
		_, code, err := grant.New(grant.Request{}, w.now)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	if n := throttled(stranger); n != 2*burst || w.grants.n != burst {
		t.Errorf("made-up tokens: %d throttled after %d reads, want %d after %d", n, w.grants.n, 2*burst, burst)
	}
	w.wants("a good token", w.pair.Access, nil)
	w.now = w.now.Add(time.Minute)
	one := stranger()
	w.grants.n = 0
	for range 3 {
		w.wants("an unknown token", one, grant.ErrNotFound)
	}
	if w.grants.n != 1 {
		t.Errorf("%d reads for one unknown token, want 1", w.grants.n)
	}
	if _, _, err := w.Authenticate(t.Context(), one.Reveal(), source); !strings.Contains(err.Error(), one.GrantID()) {
		t.Errorf("%v, want an error that names %s", err, one.GrantID())
	}
}
