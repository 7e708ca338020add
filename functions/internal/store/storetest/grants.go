package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"sekisho/functions/internal/grant"
)

// grants checks what a grant.Store promises. open returns two stores over one database.
func grants(t *testing.T, open func(t *testing.T) (a, b grant.Store)) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, a, b grant.Store)
	}{
		{"a grant comes back as it was created and changed", grantRoundTrip},
		{"a grant exists once", grantOnce},
		{"a grant is put only over the one that was read", grantVersions},
		{"a change that is put twice is one change", grantPutTwice},
		{"grants are listed by key", grantLists},
		{"a key has at most 20 live grants", grantLimit},
		{"20 grants also when they race", grantLimitRace},
		{"a code is redeemed by one of many", grantCodeRace},
		{"many rotations at once have one outcome", grantRotationRace},
		{"rotation and end at once", grantEndRace},
		{"a cancelled context is an error", grantCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := open(t)
			c.check(t, a, b)
		})
	}
}

// newGrant makes a grant of a key, and its code.
func newGrant(t *testing.T, keyID string, now time.Time) (grant.Grant, grant.Token) {
	t.Helper()
	g, code, err := grant.New(grant.Request{
		KeyID: keyID, Client: grant.Client{ID: "https://app.example/client.json", Name: "アプリ", Host: "app.example"},
		Redirect: "http://127.0.0.1:1234/back", Challenge: "challenge", Resource: "https://mcp.example/mcp", Lasts: 90 * 24 * time.Hour,
	}, now)
	do(t, err)
	return g, code
}

// SignIn stores a grant whose code was redeemed, for an access token that works an hour.
func SignIn(ctx context.Context, s grant.Store, r grant.Request, now time.Time) (grant.Grant, grant.Pair, error) {
	g, code, err := grant.New(r, now)
	if err != nil {
		return g, grant.Pair{}, err
	}
	if err := s.Create(ctx, g); err != nil {
		return g, grant.Pair{}, err
	}
	var pair grant.Pair
	g, err = grant.Change(ctx, s, g.ID, func(g grant.Grant) (grant.Grant, error) {
		changed, p, err := g.Redeem(code, time.Hour, now)
		pair = p
		return changed, err
	})
	return g, pair, err
}

func signIn(t *testing.T, s grant.Store, keyID string) (grant.Grant, grant.Pair) {
	t.Helper()
	g, pair, err := SignIn(t.Context(), s, grant.Request{KeyID: keyID, Lasts: 90 * 24 * time.Hour}, at)
	do(t, err)
	return g, pair
}

func grantRoundTrip(t *testing.T, s, other grant.Store) {
	_, err := s.Grant(t.Context(), "grant_none")
	wantErr(t, err, grant.ErrNotFound)
	want, code := newGrant(t, "key_a", at)
	do(t, s.Create(t.Context(), want))
	want.Version = 1
	if got := must[grant.Grant](t)(other.Grant(t.Context(), want.ID)); !reflect.DeepEqual(got, want) {
		t.Errorf("created as %+v, read as %+v", want, got)
	}
	want, pair, err := want.Redeem(code, time.Hour, at)
	do(t, err)
	do(t, s.Put(t.Context(), want))
	want.Version = 2
	want, _, err = want.Rotate(pair.Refresh, time.Hour, at)
	do(t, err)
	want = want.End(at)
	do(t, other.Put(t.Context(), want))
	want.Version = 3
	if got := must[grant.Grant](t)(s.Grant(t.Context(), want.ID)); !reflect.DeepEqual(got, want) {
		t.Errorf("put as %+v, read as %+v", want, got)
	}
}

func grantOnce(t *testing.T, s, _ grant.Store) {
	g, _ := newGrant(t, "key_a", at)
	do(t, s.Create(t.Context(), g))
	again := g
	again.KeyID = "key_b"
	wantErr(t, s.Create(t.Context(), again), grant.ErrExists)
	if all := must[[]grant.Grant](t)(s.Grants(t.Context(), "key_a", "key_b")); len(all) != 1 || all[0].KeyID != "key_a" {
		t.Errorf("%+v, want the first only", all)
	}
}

func grantVersions(t *testing.T, s, _ grant.Store) {
	g, _ := signIn(t, s, "key_a")
	missing, _ := newGrant(t, "key_a", at)
	wantErr(t, s.Put(t.Context(), missing), grant.ErrChanged)
	for _, version := range []int64{0, 1, 3} {
		stale := g.End(at)
		stale.Version = version
		wantErr(t, s.Put(t.Context(), stale), grant.ErrChanged)
	}
	if got := must[grant.Grant](t)(s.Grant(t.Context(), g.ID)); !reflect.DeepEqual(got, g) {
		t.Errorf("read %+v, want %+v", got, g)
	}
}

func grantPutTwice(t *testing.T, s, other grant.Store) {
	g, pair := signIn(t, s, "key_a")
	mine, _, err := g.Rotate(pair.Refresh, time.Hour, at)
	do(t, err)
	theirs, _, err := g.Rotate(pair.Refresh, time.Hour, at)
	do(t, err)
	do(t, s.Put(t.Context(), mine))
	do(t, other.Put(t.Context(), mine))
	wantErr(t, s.Put(t.Context(), theirs), grant.ErrChanged)
	if got := must[grant.Grant](t)(s.Grant(t.Context(), g.ID)); got.Version != g.Version+1 {
		t.Errorf("version %d, want %d", got.Version, g.Version+1)
	}
}

func grantLists(t *testing.T, s, _ grant.Store) {
	var want []string
	for n, key := range []string{"key_b", "key_a", "key_a"} {
		g, _ := newGrant(t, key, at.Add(time.Duration(-n)*time.Second))
		do(t, s.Create(t.Context(), g))
		want = append(want, g.ID)
	}
	want[1], want[2] = want[2], want[1] // the older one first
	var got []string
	for _, g := range must[[]grant.Grant](t)(s.Grants(t.Context(), "key_none", "key_b", "key_a")) {
		got = append(got, g.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if all := must[[]grant.Grant](t)(s.Grants(t.Context())); len(all) != 0 {
		t.Errorf("%d grants of no key", len(all))
	}
}

// grantLimit: those that ended or whose code was never redeemed make room.
func grantLimit(t *testing.T, s, _ grant.Store) {
	create := func(now time.Time) error {
		g, _ := newGrant(t, "key_a", now)
		return s.Create(t.Context(), g)
	}
	first, _ := signIn(t, s, "key_a")
	for range grant.MaxPerKey - 2 {
		signIn(t, s, "key_a")
	}
	do(t, create(at)) // nobody redeems this code
	wantErr(t, create(at.Add(grant.CodeLasts-time.Millisecond)), grant.ErrTooMany)
	later := at.Add(grant.CodeLasts)
	do(t, create(later))
	wantErr(t, create(later), grant.ErrTooMany)
	if _, err := grant.End(t.Context(), s, first.ID, later); err != nil {
		t.Fatal(err)
	}
	do(t, create(later))
	wantErr(t, create(later), grant.ErrTooMany)
	g, _ := newGrant(t, "key_b", later)
	do(t, s.Create(t.Context(), g))
	if all := must[[]grant.Grant](t)(s.Grants(t.Context(), "key_a")); len(all) != grant.MaxPerKey {
		t.Errorf("%d grants are listed, want those that are live: %d", len(all), grant.MaxPerKey)
	}
}

func grantLimitRace(t *testing.T, a, b grant.Store) {
	for range grant.MaxPerKey - 3 {
		signIn(t, a, "key_a")
	}
	var mu sync.Mutex
	created := 0
	together(8, func(i int) {
		g, _ := newGrant(t, "key_a", at)
		switch err := []grant.Store{a, b}[i%2].Create(context.Background(), g); {
		case err == nil:
			mu.Lock()
			created++
			mu.Unlock()
		case !errors.Is(err, grant.ErrTooMany):
			t.Error(err)
		}
	})
	if n := len(must[[]grant.Grant](t)(a.Grants(t.Context(), "key_a"))); created != 3 || n != grant.MaxPerKey {
		t.Errorf("%d of 8 were created, and there are %d; want 3 and %d", created, n, grant.MaxPerKey)
	}
}

// use changes a grant by a token, as a token endpoint does.
func use(s grant.Store, id string, change func(grant.Grant) (grant.Grant, grant.Pair, error)) (pair grant.Pair, err error) {
	_, err = grant.Change(context.Background(), s, id, func(g grant.Grant) (grant.Grant, error) {
		changed, p, err := change(g)
		pair = p
		return changed, err
	})
	return pair, err
}

// grantCodeRace: whoever comes second ends the grant, that of the first included.
func grantCodeRace(t *testing.T, a, b grant.Store) {
	g, code := newGrant(t, "key_a", at)
	do(t, a.Create(t.Context(), g))
	var mu sync.Mutex
	var won []grant.Pair
	together(10, func(i int) {
		pair, err := use([]grant.Store{a, b}[i%2], g.ID, func(g grant.Grant) (grant.Grant, grant.Pair, error) {
			return g.Redeem(code, time.Hour, at)
		})
		switch {
		case err == nil:
			mu.Lock()
			won = append(won, pair)
			mu.Unlock()
		case !errors.Is(err, grant.ErrReused) && !errors.Is(err, grant.ErrEnded):
			t.Error(err)
		}
	})
	if len(won) != 1 {
		t.Fatalf("%d of ten got tokens for one code", len(won))
	}
	got := must[grant.Grant](t)(a.Grant(t.Context(), g.ID))
	wantErr(t, got.Check(won[0].Access, at), grant.ErrEnded)
}

// grantRotationRace: within the leeway all get the same refresh token; later, nobody gets any.
func grantRotationRace(t *testing.T, a, b grant.Store) {
	g, first := signIn(t, a, "key_a")
	rotate := func(s grant.Store, now time.Time) (grant.Pair, error) {
		return use(s, g.ID, func(g grant.Grant) (grant.Grant, grant.Pair, error) { return g.Rotate(first.Refresh, time.Hour, now) })
	}
	var pairs [6]grant.Pair
	together(len(pairs), func(i int) {
		var err error
		if pairs[i], err = rotate([]grant.Store{a, b}[i%2], at.Add(time.Duration(i)*time.Second)); err != nil {
			t.Error(err)
		}
	})
	got := must[grant.Grant](t)(b.Grant(t.Context(), g.ID))
	for i, p := range pairs {
		if p.Refresh != pairs[0].Refresh || !p.Refresh.Hash().Equal(got.Refresh) {
			t.Errorf("rotation %d got another refresh token than the first, or than is stored", i)
		}
	}
	late := at.Add(time.Duration(len(pairs))*time.Second + grant.Leeway)
	together(2, func(i int) {
		if _, err := rotate([]grant.Store{a, b}[i], late); !errors.Is(err, grant.ErrReused) && !errors.Is(err, grant.ErrEnded) {
			t.Errorf("after the leeway: %v", err)
		}
	})
	if got := must[grant.Grant](t)(a.Grant(t.Context(), g.ID)); got.Live(late) {
		t.Error("reuse did not end the grant")
	}
}

// grantEndRace: an end is never undone by a rotation that read the grant before it.
func grantEndRace(t *testing.T, a, b grant.Store) {
	for range 5 {
		g, pair := signIn(t, a, "key_a")
		together(2, func(i int) {
			var err error
			if i == 0 {
				_, err = grant.End(context.Background(), a, g.ID, at)
			} else if _, err = use(b, g.ID, func(g grant.Grant) (grant.Grant, grant.Pair, error) {
				return g.Rotate(pair.Refresh, time.Hour, at)
			}); errors.Is(err, grant.ErrEnded) {
				err = nil
			}
			if err != nil {
				t.Error(err)
			}
		})
		if got := must[grant.Grant](t)(a.Grant(t.Context(), g.ID)); got.Live(at) {
			t.Errorf("%+v lives on", got)
		}
	}
}

func grantCancelled(t *testing.T, s, _ grant.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, _ := newGrant(t, "key_a", at)
	if err := s.Create(ctx, g); err == nil {
		t.Error("Create: want an error")
	}
	_, err := s.Grant(ctx, g.ID)
	if err == nil || errors.Is(err, grant.ErrNotFound) {
		t.Errorf("Grant: %v; want the context's error", err)
	}
	if _, err := s.Grants(ctx, "key_a"); err == nil {
		t.Error("Grants: want an error")
	}
	if all := must[[]grant.Grant](t)(s.Grants(t.Context(), "key_a")); len(all) != 0 {
		t.Errorf("%+v was created", all)
	}
}
