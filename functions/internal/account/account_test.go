package account

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/memo"
)

func TestSettings(t *testing.T) {
	s := Settings{
		DisabledCategories: []string{"postal", "calendar", "postal"}, DisabledTools: []string{"convert.era"},
	}.Normalize()
	if strings.Join(s.DisabledCategories, " ") != "calendar postal" {
		t.Errorf("not sorted or not unique: %v", s.DisabledCategories)
	}
	for tool, want := range map[string]bool{
		"postal.lookup": false, "convert.era": false, "convert.units": true, "utility.get_usage": true,
	} {
		category, _, _ := strings.Cut(tool, ".")
		if got := s.Allows(tool, category); got != want {
			t.Errorf("%s: allowed %v, want %v", tool, got, want)
		}
	}
}

func TestEqualSettings(t *testing.T) {
	s := Settings{DisabledCategories: []string{"postal", "calendar", "postal"}, DisabledTools: []string{"convert.era"}}
	for _, c := range []struct {
		categories, tools string
		want              bool
	}{
		{"calendar postal", "convert.era", true},
		{"postal calendar", "convert.era convert.era", true},
		{"calendar", "convert.era", false},
		{"calendar postal", "convert.units", false},
		{"calendar postal", "", false},
	} {
		other := Settings{DisabledCategories: strings.Fields(c.categories), DisabledTools: strings.Fields(c.tools)}
		if s.Equal(other) != c.want || other.Equal(s) != c.want {
			t.Errorf("%v equals %v: %t, want %t", s, other, !c.want, c.want)
		}
	}
	if empty := (Settings{DisabledCategories: []string{}, DisabledTools: []string{}}).Normalize(); !reflect.DeepEqual(empty, Settings{}) {
		t.Errorf("no names are %#v in one form and nil in the other", empty)
	}
	if s.DisabledCategories[0] != "postal" {
		t.Errorf("the comparison sorted what it was given: %v", s.DisabledCategories)
	}
}

// oneKey is a store that knows one key and counts how often it is asked.
type oneKey struct {
	Store
	key   Key
	err   error
	reads int
}

func (s *oneKey) Key(_ context.Context, id string) (Key, error) {
	s.reads++
	if s.err != nil {
		return Key{}, s.err
	}
	if id != s.key.ID {
		return Key{}, ErrNotFound // as a store that does not say which
	}
	return s.key, nil
}

func newKey(t *testing.T) apikey.Key {
	t.Helper()
	k, err := apikey.New()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAuthenticate(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	secret := newKey(t)
	store := &oneKey{key: Key{ID: secret.Hash().ID(), Hash: secret.Hash(), UserID: "u"}}
	a := NewAuthenticator(store, func() time.Time { return now }, 30*time.Second)

	if _, err := a.Authenticate(t.Context(), "sekisho_mistyped", "192.0.2.1"); !errors.Is(err, ErrNotFound) || store.reads != 0 {
		t.Fatalf("a malformed key: %v after %d reads; want ErrNotFound without a read", err, store.reads)
	}
	for range 3 {
		if k, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil || k.UserID != "u" {
			t.Fatalf("a good key: %+v, %v", k, err)
		}
	}
	if store.reads != 1 {
		t.Fatalf("%d reads for three calls, want 1", store.reads)
	}

	store.key.RevokedAt = now
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
		t.Fatalf("within the cache's 30 s a revoked key is not known yet: %v", err)
	}
	now = now.Add(30 * time.Second)
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); !errors.Is(err, ErrInactive) {
		t.Fatalf("after 30 s: %v, want ErrInactive", err)
	}

	reads := store.reads
	stranger := newKey(t)
	for range 3 {
		if _, err := a.Authenticate(t.Context(), stranger.Reveal(), "192.0.2.1"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("an unknown key: %v", err)
		}
	}
	if store.reads != reads+1 {
		t.Errorf("%d reads for an unknown key, want 1", store.reads-reads)
	}
}

// TestByID shares what Authenticate has read, and the other way round.
func TestByID(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	secret := newKey(t)
	store := &oneKey{key: Key{ID: secret.Hash().ID(), Hash: secret.Hash(), UserID: "u"}}
	a := NewAuthenticator(store, func() time.Time { return now }, 30*time.Second)
	for range 2 {
		if k, err := a.ByID(t.Context(), store.key.ID); err != nil || k.UserID != "u" {
			t.Fatalf("%+v, %v", k, err)
		}
		if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	if store.reads != 1 {
		t.Errorf("%d reads, want 1", store.reads)
	}
	store.key.RevokedAt = now.Add(time.Minute)
	for after, want := range map[time.Duration]error{30 * time.Second: nil, time.Minute: ErrInactive} {
		now := now.Add(after)
		a := NewAuthenticator(store, func() time.Time { return now }, 30*time.Second)
		if k, err := a.ByID(t.Context(), store.key.ID); !errors.Is(err, want) || k.UserID != "u" {
			t.Errorf("after %s: %+v, %v; want %v", after, k, err, want)
		}
	}
	for range 2 { // the second time by the cache
		if k, err := a.ByID(t.Context(), "key_none"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "key key_none: ") || k.UserID != "" {
			t.Errorf("no such key: %+v, %v", k, err)
		}
	}
	store.err = errors.New("down")
	if _, err := a.ByID(t.Context(), "key_other"); !errors.Is(err, store.err) || errors.Is(err, ErrNotFound) {
		t.Errorf("with the store down: %v", err)
	}
}

func TestAKeyEndsInTheCacheToo(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	secret := newKey(t)
	store := &oneKey{key: Key{ID: secret.Hash().ID(), Hash: secret.Hash(), RevokedAt: now.Add(time.Second)}}
	a := NewAuthenticator(store, func() time.Time { return now }, time.Hour)
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); !errors.Is(err, ErrInactive) {
		t.Fatalf("a key whose end is known lived on: %v", err)
	}
}

func TestAuthenticateFailsWithTheStore(t *testing.T) {
	secret := newKey(t)
	store := &oneKey{err: errors.New("down")}
	a := NewAuthenticator(store, time.Now, time.Hour)
	_, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1")
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrInactive) {
		t.Fatalf("%v; want the store's error", err)
	}
	if strings.Contains(err.Error(), secret.Reveal()) {
		t.Fatal("the error holds the key")
	}
	store.err, store.key = nil, Key{ID: secret.Hash().ID(), Hash: secret.Hash()}
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
		t.Fatalf("a failure of the store was remembered: %v", err)
	}
}

func TestAnotherKeyOfTheSameIDIsUnknown(t *testing.T) {
	secret := newKey(t)
	store := &oneKey{key: Key{ID: secret.Hash().ID(), Hash: newKey(t).Hash()}}
	a := NewAuthenticator(store, time.Now, time.Hour)
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("%v, want ErrNotFound: the whole hash must agree, not only the ID", err)
	}
}

// TestAnotherKeyOfTheSameIDIsUnknownToTheCache: 80 bits of the hash find the entry, all 256 open it.
func TestAnotherKeyOfTheSameIDIsUnknownToTheCache(t *testing.T) {
	h := newKey(t).Hash()
	a := NewAuthenticator(&oneKey{key: Key{ID: h.ID(), Hash: h}}, time.Now, time.Hour)
	other := h
	other[len(other)-1]++
	for _, c := range []struct {
		hash apikey.Hash
		want error
	}{{h, nil}, {other, ErrNotFound}, {h, nil}} {
		if _, err := a.find(t.Context(), c.hash, "192.0.2.1", time.Now()); !errors.Is(err, c.want) {
			t.Errorf("hash %s: %v, want %v", c.hash, err, c.want)
		}
	}
}

func TestNothingIsCachedForNoTime(t *testing.T) {
	secret := newKey(t)
	store := &oneKey{key: Key{ID: secret.Hash().ID(), Hash: secret.Hash()}}
	a := NewAuthenticator(store, time.Now, 0)
	for range 2 {
		if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	if store.reads != 2 {
		t.Errorf("%d reads for two calls, want 2", store.reads)
	}
}

// TestUnknownKeysAreBoundedPerSource: made-up keys with a right checksum cost a read each, so a
// source gets a few. It holds up nobody else, and no key that is known.
func TestUnknownKeysAreBoundedPerSource(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	secret := newKey(t)
	store := &oneKey{key: Key{ID: secret.Hash().ID(), Hash: secret.Hash()}}
	a := NewAuthenticator(store, func() time.Time { return now }, time.Minute)
	for range 5 * Unknown.Burst { // a good key uses nothing up
		a.cache = memo.New[found](time.Minute)
		if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	store.reads = 0
	for range 5 * Unknown.Burst {
		_, err := a.Authenticate(t.Context(), newKey(t).Reveal(), "192.0.2.1")
		var throttled *ThrottledError
		if asked := errors.Is(err, ErrNotFound); !asked && (!errors.As(err, &throttled) || throttled.Wait != time.Second) {
			t.Fatalf("after %d reads: %v", store.reads, err)
		}
	}
	if store.reads != Unknown.Burst {
		t.Errorf("%d reads for made-up keys, want %d", store.reads, Unknown.Burst)
	}
	if _, err := a.Authenticate(t.Context(), secret.Reveal(), "192.0.2.1"); err != nil {
		t.Errorf("a cached key from the same source: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), newKey(t).Reveal(), "198.51.100.7"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another source: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := a.Authenticate(t.Context(), newKey(t).Reveal(), "192.0.2.1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second later: %v", err)
	}
}

func BenchmarkAuthenticateCached(b *testing.B) {
	secret, err := apikey.New()
	if err != nil {
		b.Fatal(err)
	}
	a := NewAuthenticator(&oneKey{key: Key{ID: secret.Hash().ID(), Hash: secret.Hash()}}, time.Now, time.Hour)
	text, ctx := secret.Reveal(), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate(ctx, text, "192.0.2.1"); err != nil {
			b.Fatal(err)
		}
	}
}
