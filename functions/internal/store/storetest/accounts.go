package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
)

// accounts checks what an account.Store promises.
func accounts(t *testing.T, open func(t *testing.T) account.Store) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, s account.Store)
	}{
		{"a user comes back as it was created", userRoundTrip},
		{"a user exists once", userOnce},
		{"a key comes back as it was created", keyRoundTrip},
		{"a key exists once", keyOnce},
		{"a key needs its user", keyNeedsUser},
		{"a key has its user's plan", keyPlan},
		{"keys are in order", keyOrder},
		{"a user has at most 90 keys", keyLimit},
		{"90 keys also when they race", keyLimitRace},
		{"what is missing is not found", missing},
		{"a change of plan reaches all keys", setPlan},
		{"a change of plan reaches 90 keys", setPlanMany},
		{"a change of plan races new keys", setPlanRace},
		{"a revoked key keeps the earlier end", revoke},
		{"a key is replaced", replace},
		{"a replacement is all or nothing", replaceAtomic},
		{"a key is replaced once", replaceOnce},
		{"settings are replaced", settings},
		{"settings are replaced unless they changed", settingsUnlessChanged},
		{"settings are replaced by one of several", settingsRace},
		{"a cancelled context is an error", cancelledAccounts},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

func user(id string) account.User {
	return account.User{ID: id, Plan: "free", CreatedAt: at}
}

// newKey makes a key that is not yet in the store. Stores never see a key's text.
func newKey(userID string) account.Key {
	h := apikey.Hash(sha256.Sum256([]byte(name("key"))))
	return account.Key{ID: h.ID(), Hash: h, Meter: h.ID(), UserID: userID, Plan: "free", Name: "laptop", CreatedAt: at}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// tidy makes nil and empty lists equal, since stores may return either.
func tidy(k account.Key) account.Key {
	for _, list := range []*[]string{&k.Settings.DisabledCategories, &k.Settings.DisabledTools} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return k
}

func wantKey(t *testing.T, s account.Store, want account.Key) {
	t.Helper()
	got := must[account.Key](t)(s.Key(t.Context(), want.ID))
	if !reflect.DeepEqual(tidy(got), tidy(want)) {
		t.Errorf("key\n %+v, want\n %+v", got, want)
	}
}

func wantKeys(t *testing.T, s account.Store, userID string, want ...account.Key) {
	t.Helper()
	got := must[[]account.Key](t)(s.Keys(t.Context(), userID))
	if len(got) != len(want) {
		t.Fatalf("%d keys of %q, want %d", len(got), userID, len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(tidy(got[i]), tidy(want[i])) {
			t.Errorf("key %d of %q\n %+v, want\n %+v", i, userID, got[i], want[i])
		}
	}
}

func userRoundTrip(t *testing.T, s account.Store) {
	u := account.User{ID: "Ada.Lovelace_1@example-1", Plan: "starter", CreatedAt: at}
	do(t, s.CreateUser(t.Context(), u))
	if got := must[account.User](t)(s.User(t.Context(), u.ID)); got != u {
		t.Errorf("user %+v, want %+v", got, u)
	}
}

func userOnce(t *testing.T, s account.Store) {
	var created atomic.Int64
	var winner atomic.Value
	together(8, func(i int) {
		u := user("ada")
		u.Plan = fmt.Sprintf("plan%d", i)
		switch err := s.CreateUser(t.Context(), u); {
		case err == nil:
			created.Add(1)
			winner.Store(u.Plan)
		case !errors.Is(err, account.ErrExists):
			t.Error(err)
		}
	})
	if created.Load() != 1 {
		t.Errorf("created %d times, want once", created.Load())
	}
	if u := must[account.User](t)(s.User(t.Context(), "ada")); u.Plan != winner.Load() {
		t.Errorf("plan %s, want %s, whose creation succeeded", u.Plan, winner.Load())
	}
}

func keyRoundTrip(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	k := newKey("ada")
	k.Name = "ノートPC \"1\""
	k.Meter = "key_of_another"
	k.Settings = account.Settings{DisabledCategories: []string{"calendar"}, DisabledTools: []string{"convert.era", "postal.lookup"}}
	do(t, s.CreateKey(t.Context(), k))
	wantKey(t, s, k)

	plain := newKey("ada")
	plain.Name = ""
	do(t, s.CreateKey(t.Context(), plain))
	wantKey(t, s, plain)

	ended := newKey("ada")
	ended.RevokedAt = at.Add(time.Hour + 7*time.Millisecond)
	do(t, s.CreateKey(t.Context(), ended))
	wantKey(t, s, ended)
}

func keyOnce(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	do(t, s.CreateUser(t.Context(), user("bob")))
	k := newKey("ada")
	do(t, s.CreateKey(t.Context(), k))
	again := k
	again.UserID, again.Name = "bob", "other"
	wantErr(t, s.CreateKey(t.Context(), again), account.ErrExists)
	wantKey(t, s, k)
	wantKeys(t, s, "bob")
}

func keyNeedsUser(t *testing.T, s account.Store) {
	k := newKey("nobody")
	wantErr(t, s.CreateKey(t.Context(), k), account.ErrNotFound)
	_, err := s.Key(t.Context(), k.ID)
	wantErr(t, err, account.ErrNotFound)
}

func keyPlan(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	k := newKey("ada")
	k.Plan = "pro"
	do(t, s.CreateKey(t.Context(), k))
	k.Plan = "free"
	wantKey(t, s, k)
}

func keyOrder(t *testing.T, s account.Store) {
	var keys []account.Key
	for _, id := range []string{"ada", "bob"} {
		do(t, s.CreateUser(t.Context(), user(id)))
		for i := range 3 {
			k := newKey(id)
			k.CreatedAt = at.Add(time.Duration(i) * time.Millisecond)
			keys = append(keys, k)
		}
	}
	for _, i := range []int{4, 2, 0, 5, 3, 1} {
		do(t, s.CreateKey(t.Context(), keys[i]))
	}
	wantKeys(t, s, "ada", keys[:3]...)
	wantKeys(t, s, "bob", keys[3:]...)
	wantKeys(t, s, "", keys...)
	wantKeys(t, s, "nobody")
}

func keyLimit(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	do(t, s.CreateUser(t.Context(), user("bob")))
	var last account.Key
	for range account.MaxKeysPerUser {
		last = newKey("ada")
		do(t, s.CreateKey(t.Context(), last))
	}
	wantErr(t, s.CreateKey(t.Context(), newKey("ada")), account.ErrTooManyKeys)
	wantErr(t, s.ReplaceKey(t.Context(), last.ID, at, newKey("ada")), account.ErrTooManyKeys)
	wantKey(t, s, last)
	do(t, s.RevokeKey(t.Context(), last.ID, at))
	wantErr(t, s.CreateKey(t.Context(), newKey("ada")), account.ErrTooManyKeys)
	do(t, s.CreateKey(t.Context(), newKey("bob")))
	if n := len(must[[]account.Key](t)(s.Keys(t.Context(), "ada"))); n != account.MaxKeysPerUser {
		t.Errorf("%d keys, want %d", n, account.MaxKeysPerUser)
	}
}

func keyLimitRace(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	for range account.MaxKeysPerUser - 3 {
		do(t, s.CreateKey(t.Context(), newKey("ada")))
	}
	var created atomic.Int64
	together(10, func(int) {
		switch err := s.CreateKey(t.Context(), newKey("ada")); {
		case err == nil:
			created.Add(1)
		case !errors.Is(err, account.ErrTooManyKeys):
			t.Error(err)
		}
	})
	if created.Load() != 3 {
		t.Errorf("%d keys created, there was room for 3", created.Load())
	}
}

func missing(t *testing.T, s account.Store) {
	ctx := t.Context()
	do(t, s.CreateUser(ctx, user("ada")))
	_, err := s.User(ctx, "nobody")
	wantErr(t, err, account.ErrNotFound)
	_, err = s.Key(ctx, "key_none")
	wantErr(t, err, account.ErrNotFound)
	wantErr(t, s.SetPlan(ctx, "nobody", "pro"), account.ErrNotFound)
	wantErr(t, s.RevokeKey(ctx, "key_none", at), account.ErrNotFound)
	wantErr(t, s.PutSettings(ctx, "key_none", account.Settings{}, nil), account.ErrNotFound)
	wantErr(t, s.PutSettings(ctx, "key_none", account.Settings{DisabledTools: []string{"postal.lookup"}}, nil), account.ErrNotFound)
	wantErr(t, s.ReplaceKey(ctx, "key_none", at, newKey("ada")), account.ErrNotFound)
	_, err = s.User(ctx, "nobody")
	wantErr(t, err, account.ErrNotFound)
	wantKeys(t, s, "")
}

func setPlan(t *testing.T, s account.Store) {
	for _, id := range []string{"ada", "bob"} {
		do(t, s.CreateUser(t.Context(), user(id)))
	}
	do(t, s.SetPlan(t.Context(), "ada", "starter")) // a user without keys
	a, b, other := newKey("ada"), newKey("ada"), newKey("bob")
	for _, k := range []account.Key{a, b, other} {
		do(t, s.CreateKey(t.Context(), k))
	}
	do(t, s.SetPlan(t.Context(), "ada", "pro"))
	do(t, s.SetPlan(t.Context(), "ada", "pro")) // repeating it is not an error
	a.Plan, b.Plan = "pro", "pro"
	wantKey(t, s, a)
	wantKey(t, s, b)
	wantKey(t, s, other)
	if u := must[account.User](t)(s.User(t.Context(), "ada")); u.Plan != "pro" {
		t.Errorf("plan %s, want pro", u.Plan)
	}
}

func setPlanMany(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	for range account.MaxKeysPerUser {
		do(t, s.CreateKey(t.Context(), newKey("ada")))
	}
	do(t, s.SetPlan(t.Context(), "ada", "pro"))
	for _, k := range must[[]account.Key](t)(s.Keys(t.Context(), "ada")) {
		if k.Plan != "pro" {
			t.Errorf("key %s has plan %s", k.ID, k.Plan)
		}
	}
}

// setPlanRace changes the plan while keys are created and replaced: in the end every key must
// have the user's plan, whichever change came last.
func setPlanRace(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	old := newKey("ada")
	do(t, s.CreateKey(t.Context(), old))
	together(12, func(i int) {
		var err error
		switch {
		case i%3 == 0:
			err = s.SetPlan(t.Context(), "ada", fmt.Sprintf("plan%d", i))
		case i == 1:
			err = s.ReplaceKey(t.Context(), old.ID, at, newKey("ada"))
		default:
			err = s.CreateKey(t.Context(), newKey("ada"))
		}
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	})
	u := must[account.User](t)(s.User(t.Context(), "ada"))
	keys := must[[]account.Key](t)(s.Keys(t.Context(), "ada"))
	if len(keys) != 9 {
		t.Errorf("%d keys, want 9", len(keys))
	}
	for _, k := range keys {
		if k.Plan != u.Plan {
			t.Errorf("key %s has plan %s, the user has %s", k.ID, k.Plan, u.Plan)
		}
	}
}

func revoke(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	k := newKey("ada")
	do(t, s.CreateKey(t.Context(), k))
	for _, step := range []struct{ at, want time.Duration }{
		{time.Hour, time.Hour},
		{2 * time.Hour, time.Hour},
		{7 * time.Millisecond, 7 * time.Millisecond},
		{8 * time.Millisecond, 7 * time.Millisecond},
	} {
		do(t, s.RevokeKey(t.Context(), k.ID, at.Add(step.at)))
		k.RevokedAt = at.Add(step.want)
		wantKey(t, s, k)
	}
}

func replace(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	old, next := newKey("ada"), newKey("ada")
	do(t, s.CreateKey(t.Context(), old))
	next.Meter, next.CreatedAt, next.Plan = old.Meter, at.Add(time.Second), "pro"
	do(t, s.ReplaceKey(t.Context(), old.ID, at.Add(time.Hour), next))
	old.RevokedAt, next.Plan = at.Add(time.Hour), "free"
	wantKeys(t, s, "ada", old, next)
	wantErr(t, s.ReplaceKey(t.Context(), old.ID, at.Add(time.Minute), newKey("ada")), account.ErrInactive)
	wantKeys(t, s, "ada", old, next)
	// The new key follows the user's plan.
	do(t, s.SetPlan(t.Context(), "ada", "starter"))
	old.Plan, next.Plan = "starter", "starter"
	wantKeys(t, s, "ada", old, next)
}

func replaceAtomic(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	old, taken := newKey("ada"), newKey("ada")
	taken.CreatedAt = at.Add(time.Second)
	do(t, s.CreateKey(t.Context(), old))
	do(t, s.CreateKey(t.Context(), taken))
	wantErr(t, s.ReplaceKey(t.Context(), old.ID, at, taken), account.ErrExists)
	wantErr(t, s.ReplaceKey(t.Context(), "key_none", at, newKey("ada")), account.ErrNotFound)
	wantErr(t, s.ReplaceKey(t.Context(), old.ID, at, newKey("nobody")), account.ErrNotFound)
	wantKeys(t, s, "", old, taken)
}

func replaceOnce(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	old := newKey("ada")
	do(t, s.CreateKey(t.Context(), old))
	var replaced atomic.Int64
	together(6, func(int) {
		switch err := s.ReplaceKey(t.Context(), old.ID, at, newKey("ada")); {
		case err == nil:
			replaced.Add(1)
		case !errors.Is(err, account.ErrInactive):
			t.Error(err)
		}
	})
	if replaced.Load() != 1 {
		t.Errorf("replaced %d times, want once", replaced.Load())
	}
	if n := len(must[[]account.Key](t)(s.Keys(t.Context(), "ada"))); n != 2 {
		t.Errorf("%d keys, want 2", n)
	}
}

func settings(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	k := newKey("ada")
	do(t, s.CreateKey(t.Context(), k))
	do(t, s.PutSettings(t.Context(), k.ID, account.Settings{
		DisabledCategories: []string{"postal", "calendar", "postal"},
		DisabledTools:      []string{"convert.width"},
	}, nil))
	k.Settings = account.Settings{DisabledCategories: []string{"calendar", "postal"}, DisabledTools: []string{"convert.width"}}
	wantKey(t, s, k)
	do(t, s.PutSettings(t.Context(), k.ID, account.Settings{DisabledTools: []string{"convert.era"}}, nil))
	k.Settings = account.Settings{DisabledTools: []string{"convert.era"}}
	wantKey(t, s, k)
	do(t, s.PutSettings(t.Context(), k.ID, account.Settings{}, nil))
	k.Settings = account.Settings{}
	wantKey(t, s, k)
}

// settingsUnlessChanged: each form of what was there, in part or as a whole, and of what was not.
func settingsUnlessChanged(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	forms := []account.Settings{
		{}, {DisabledCategories: []string{"postal"}}, {DisabledTools: []string{"convert.era"}},
		{DisabledCategories: []string{"postal"}, DisabledTools: []string{"convert.era"}},
		{DisabledCategories: []string{"calendar", "postal"}, DisabledTools: []string{"convert.era", "convert.width"}},
	}
	wanted := account.Settings{DisabledTools: []string{"postal.lookup"}}
	for _, is := range forms {
		for _, was := range forms {
			k := newKey("ada")
			k.Settings = is
			do(t, s.CreateKey(t.Context(), k))
			err := s.PutSettings(t.Context(), k.ID, wanted, &was)
			if is.Equal(was) {
				do(t, err)
				k.Settings = wanted
				do(t, s.PutSettings(t.Context(), k.ID, wanted, &was)) // sent twice
			} else {
				wantErr(t, err, account.ErrChanged)
			}
			wantKey(t, s, k)
		}
	}
	wantErr(t, s.PutSettings(t.Context(), "key_none", wanted, &account.Settings{}), account.ErrNotFound)
}

// settingsRace: of several who have read the same, one writes.
func settingsRace(t *testing.T, s account.Store) {
	do(t, s.CreateUser(t.Context(), user("ada")))
	k := newKey("ada")
	do(t, s.CreateKey(t.Context(), k))
	var wrote atomic.Int64
	together(6, func(i int) {
		off := account.Settings{DisabledTools: []string{fmt.Sprintf("tool.%d", i)}}
		switch err := s.PutSettings(t.Context(), k.ID, off, &account.Settings{}); {
		case err == nil:
			wrote.Add(1)
		case !errors.Is(err, account.ErrChanged):
			t.Error(err)
		}
	})
	if wrote.Load() != 1 {
		t.Errorf("%d of 6 wrote, want one", wrote.Load())
	}
}
