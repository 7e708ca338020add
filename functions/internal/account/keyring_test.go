package account

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/usage"
)

// ringStore keeps what a Keyring writes.
type ringStore struct {
	Store
	keys         map[string]Key
	endsAt       time.Time
	written      []string
	err, readErr error
}

func (s *ringStore) User(_ context.Context, id string) (User, error) {
	return User{ID: id, Plan: "free"}, s.readErr
}

func (s *ringStore) Key(_ context.Context, id string) (Key, error) { return s.keys[id], s.readErr }

func (s *ringStore) write(format string, args ...any) error {
	s.written = append(s.written, fmt.Sprintf(format, args...))
	return s.err
}

func (s *ringStore) CreateUser(_ context.Context, u User) error {
	return s.write("user %s on %s at %s", u.ID, u.Plan, u.CreatedAt.Format(time.RFC3339Nano))
}

func (s *ringStore) SetPlan(_ context.Context, id, plan string) error {
	return s.write("%s on %s", id, plan)
}

func (s *ringStore) RevokeKey(_ context.Context, id string, at time.Time) error {
	return s.write("%s ends at %s", id, at.Format(time.RFC3339Nano))
}

func (s *ringStore) CreateKey(_ context.Context, k Key) error {
	s.keys[k.ID] = k
	return s.err
}

func (s *ringStore) ReplaceKey(_ context.Context, _ string, endsAt time.Time, k Key) error {
	s.keys[k.ID], s.endsAt = k, endsAt
	return s.err
}

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func newKeyring() (Keyring, *ringStore) {
	s := &ringStore{keys: map[string]Key{}}
	return Keyring{Store: s, Plans: Plans{"free": usage.PerMonth(1)}, Now: func() time.Time { return noon }}, s
}

// TestRotationKeepsAllButTheKey: what the holder set up and used stays.
func TestRotationKeepsAllButTheKey(t *testing.T) {
	r, s := newKeyring()
	_, first, err := r.CreateKey(t.Context(), "u", "laptop")
	if err != nil {
		t.Fatal(err)
	}
	if first.Plan != "free" {
		t.Errorf("a key of a user on free is on %q", first.Plan)
	}
	first.Settings = Settings{DisabledTools: []string{"convert.era"}}
	s.keys[first.ID] = first
	secret, second, err := r.RotateKey(t.Context(), first.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := first
	want.ID, want.Hash = secret.Hash().ID(), secret.Hash()
	if !reflect.DeepEqual(second, want) || !reflect.DeepEqual(s.keys[second.ID], second) {
		t.Errorf("rotated to %+v and stored %+v, want %+v", second, s.keys[second.ID], want)
	}
	if second.ID == first.ID || !s.endsAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("the new key is %s, the old one ends at %s", second.ID, s.endsAt)
	}
}

// TestNoKeyIsShownThatIsNotStored, nor made where the request makes no sense.
func TestNoKeyIsShownThatIsNotStored(t *testing.T) {
	down := errors.New("store down")
	for name, c := range map[string]struct {
		storeErr, endedErr error
		grace              time.Duration
		ended              time.Time
	}{
		"the store fails":   {storeErr: down, endedErr: down},
		"negative grace":    {grace: -1},
		"already revoked":   {ended: noon.Add(-time.Hour), endedErr: ErrInactive},
		"already rotated":   {ended: noon.Add(time.Hour), endedErr: ErrInactive},
		"another was first": {storeErr: ErrInactive, endedErr: ErrInactive},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newKeyring()
			s.keys["key_a"], s.err = Key{ID: "key_a", UserID: "u", RevokedAt: c.ended}, c.storeErr
			secret, k, err := r.RotateKey(t.Context(), "key_a", c.grace)
			if err == nil || !errors.Is(err, c.endedErr) && c.endedErr != nil {
				t.Errorf("rotate: %v, want %v", err, c.endedErr)
			}
			if secret.Reveal() != "" || k.ID != "" {
				t.Error("a key is shown all the same")
			}
		})
	}
	r, s := newKeyring()
	s.err = down
	if secret, _, err := r.CreateKey(t.Context(), "u", ""); !errors.Is(err, down) || secret.Reveal() != "" {
		t.Errorf("create: %v, key shown: %t", err, secret.Reveal() != "")
	}
}

// TestKeyring: what is asked for is written once, nothing is where the request makes no sense, and
// nobody is told of a success when the store fails.
func TestKeyring(t *testing.T) {
	down := errors.New("store down")
	create := func(id, plan string) func(context.Context, Keyring) error {
		return func(ctx context.Context, r Keyring) error {
			u, err := r.CreateUser(ctx, id, plan)
			if u.ID != "" && err != nil {
				t.Errorf("user %+v comes with %v", u, err)
			}
			return err
		}
	}
	setPlan := func(plan string) func(context.Context, Keyring) error {
		return func(ctx context.Context, r Keyring) error { return r.SetPlan(ctx, "u", plan) }
	}
	longest := strings.Repeat("u", 64)
	for name, c := range map[string]struct {
		do   func(context.Context, Keyring) error
		want string // "" if it must be refused
	}{
		"create a user":     {create("u", "free"), "user u on free at 2026-11-30T12:00:00.007Z"},
		"the longest ID":    {create(longest, "free"), "user " + longest + " on free at 2026-11-30T12:00:00.007Z"},
		"an ID too long":    {create(longest+"u", "free"), ""},
		"no ID":             {create("", "free"), ""},
		"an ID that folds":  {create("u\nv", "free"), ""},
		"a user on no plan": {create("u", "gold"), ""},
		"change a plan":     {setPlan("free"), "u on free"},
		"change to no plan": {setPlan("gold"), ""},
		"revoke a key":      {func(ctx context.Context, r Keyring) error { return r.RevokeKey(ctx, "key_a") }, "key_a ends at 2026-11-30T12:00:00.007Z"},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newKeyring()
			r.Now = func() time.Time {
				return noon.Add(7*time.Millisecond + 999*time.Microsecond).In(time.FixedZone("", 9*3600))
			}
			err := c.do(t.Context(), r)
			if got := strings.Join(s.written, ", "); got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("wrote %q with %v, want %q", got, err, c.want)
			}
			s.err = down
			if err := c.do(t.Context(), r); err == nil || c.want != "" && !errors.Is(err, down) {
				t.Errorf("with the store down: %v", err)
			}
		})
	}
}

// TestNoKeyOfWhatCantBeRead: neither of a user nor of a key.
func TestNoKeyOfWhatCantBeRead(t *testing.T) {
	r, s := newKeyring()
	s.readErr = errors.New("store down")
	for name, do := range map[string]func() (apikey.Key, Key, error){
		"create": func() (apikey.Key, Key, error) { return r.CreateKey(t.Context(), "u", "") },
		"rotate": func() (apikey.Key, Key, error) { return r.RotateKey(t.Context(), "key_a", 0) },
	} {
		if secret, k, err := do(); !errors.Is(err, s.readErr) || secret.Reveal() != "" || k.ID != "" || len(s.keys) != 0 {
			t.Errorf("%s: %v, key %+v, stored %v", name, err, k, s.keys)
		}
	}
}

func TestNamesOfKeys(t *testing.T) {
	for name, good := range map[string]bool{
		"": true,
		"Yūki’s laptop — 東京　本社, =1+1":  true,
		strings.Repeat("京", MaxName):   true,
		strings.Repeat("a", MaxName+1): false,
		"red \x1b[31m":                 false,
		"two\nlines":                   false,
		"a\tcolumn":                    false,
		"\u009b31m":                    false, // CSI in one character
		"left\u202eright":              false, // turns what follows around
		"zero\u200bwidth":              false,
		"line\u2028separator":          false,
		"not UTF-8 \xff":               false,
	} {
		r, s := newKeyring()
		_, k, err := r.CreateKey(t.Context(), "u", name)
		if (err == nil) != good || good && s.keys[k.ID].Name != name {
			t.Errorf("%+q: %v, stored as %+q", name, err, s.keys[k.ID].Name)
		}
		if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%+q: the error repeats it: %+q", name, err)
		}
	}
}
