package dynamo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/store/storetest"
)

func newGrant(t *testing.T) (grant.Grant, grant.Token) {
	t.Helper()
	g, code, err := grant.New(grant.Request{KeyID: "key_a", Lasts: 90 * 24 * time.Hour}, start)
	if err != nil {
		t.Fatal(err)
	}
	return g, code
}

// TestGrantsUnderFaults: a code whose redemption was applied, though the answer was lost, must not
// look like a code that was used twice.
func TestGrantsUnderFaults(t *testing.T) {
	for _, c := range []struct {
		name           string
		create, redeem []fault
	}{
		{"no fault", nil, nil},
		{"answers lost", []fault{none, lostAnswer}, []fault{none, lostAnswer}},
		{"requests lost", []fault{none, lostRequest}, []fault{none, lostRequest}},
		{"500 after it", []fault{none, errorAfter}, []fault{none, errorAfter}},
		{"500 before it", []fault{none, errorBefore}, []fault{none, errorBefore}},
		{"turned away", []fault{none, conflict}, []fault{none, throttled}},
		{"the failed condition comes without its item", nil, []fault{none, lostAnswer, withoutItem}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := &faultyWire{plan: script(c.create...)}
			s := New(clientOver(t, wire), freshTables(t)).Grants()
			g, code := newGrant(t)
			if err := s.Create(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			wire.reset(script(c.redeem...))
			runs := 0
			got, err := grant.Change(t.Context(), s, g.ID, func(g grant.Grant) (grant.Grant, error) {
				runs++
				g, _, err := g.Redeem(code, time.Hour, start)
				return g, err
			})
			if err != nil || runs != 1 || got.Version != 2 {
				t.Errorf("version %d after %d runs, %v; want 2 after 1", got.Version, runs, err)
			}
			wire.reset(nil)
			if all, err := s.Grants(t.Context(), "key_a"); err != nil || len(all) != 1 || !all[0].SignedIn(start) {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

func TestGrantsWithTheStoreDown(t *testing.T) {
	wire := &faultyWire{}
	s := New(clientOver(t, wire), freshTables(t)).Grants()
	g, _ := newGrant(t)
	if err := s.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	g.Version = 1
	wire.reset(func(string, int) fault { return errorBefore })
	_, read := s.Grant(t.Context(), g.ID)
	_, list := s.Grants(t.Context(), "key_a")
	for name, err := range map[string]error{"create": s.Create(t.Context(), g), "read": read, "put": s.Put(t.Context(), g.End(start)), "list": list} {
		switch {
		case err == nil, errors.Is(err, grant.ErrNotFound), errors.Is(err, grant.ErrChanged), errors.Is(err, grant.ErrExists):
			t.Errorf("%s: %v, want the store's failure", name, err)
		case strings.Contains(err.Error(), g.Family.String()), strings.Contains(err.Error(), g.Code.String()):
			t.Errorf("%s: the error holds a hash: %v", name, err)
		}
	}
}

// TestGrantsExpire: TTL must not remove a grant that lives, nor keep those that don't for years.
func TestGrantsExpire(t *testing.T) {
	s := fresh(t)
	g, code := newGrant(t)
	wants := func(step, name string, until time.Time) {
		t.Helper()
		i, err := s.get(t.Context(), s.tables.Accounts, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := i.number(expiresAt); got != until.Add(grant.Retain).Unix() {
			t.Errorf("%s: %s is kept until %s, want %s and a day", step, name, time.Unix(got, 0).UTC(), until)
		}
	}
	if err := s.Grants().Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	wants("created", "grant#"+g.ID, start.Add(grant.CodeLasts))
	wants("created", "grants#key_a", g.ExpiresAt)
	if _, err := grant.Change(t.Context(), s.Grants(), g.ID, func(g grant.Grant) (grant.Grant, error) {
		g, _, err := g.Redeem(code, time.Hour, start)
		return g, err
	}); err != nil {
		t.Fatal(err)
	}
	wants("redeemed", "grant#"+g.ID, g.ExpiresAt)
	shorter, _, err := grant.New(grant.Request{KeyID: "key_a", Lasts: time.Hour}, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Grants().Create(t.Context(), shorter); err != nil {
		t.Fatal(err)
	}
	wants("beside a shorter one", "grants#key_a", g.ExpiresAt)
	if _, err := grant.End(t.Context(), s.Grants(), g.ID, start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	wants("ended", "grant#"+g.ID, start.Add(time.Hour))
}

// TestAGrantStaysWithinTwoWriteUnits, with the longest addresses that hosts have, and as many access
// tokens as it remembers.
func TestAGrantStaysWithinTwoWriteUnits(t *testing.T) {
	s := fresh(t)
	long := "https://host-with-a-long-name.example.com/" + strings.Repeat("x", 100)
	g, pair, err := storetest.SignIn(t.Context(), s.Grants(), grant.Request{
		KeyID: "key_aaaaaaaaaaaaaaaa", Client: grant.Client{ID: long, Name: strings.Repeat("n", 64), Host: "host-with-a-long-name.example.com"},
		Redirect: long, Challenge: strings.Repeat("c", 43), Resource: long[:60], Lasts: 90 * 24 * time.Hour,
	}, start)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := grant.Change(t.Context(), s.Grants(), g.ID, func(g grant.Grant) (grant.Grant, error) {
			changed, next, err := g.Rotate(pair.Refresh, time.Hour, start)
			pair = next
			return changed, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	i, err := s.get(t.Context(), s.tables.Accounts, "grant#"+g.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", sizeOf(t, i))
	if size := sizeOf(t, i); size > 2048 {
		t.Errorf("%d bytes, and two write units have 2048", size)
	}
}
