// Package account manages users, their plans, their API keys and the tools each key may
// call.
package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/lazy"
)

// Errors of a Store and of the functions of this package.
var (
	// ErrNotFound: there is no such user or key.
	ErrNotFound = errors.New("not found")
	// ErrInactive: the key was revoked.
	ErrInactive = errors.New("inactive")
	// ErrExists: a user or key with that ID already exists.
	ErrExists = errors.New("exists already")
	// ErrChanged: the settings are no longer what the caller took them for.
	ErrChanged = errors.New("changed meanwhile")
	// ErrTooManyKeys: the user has MaxKeysPerUser keys.
	ErrTooManyKeys = errors.New("too many keys")
)

// MaxKeysPerUser bounds the keys of one user, revoked ones included, so that a plan change
// fits into one transaction (at most 100 items in DynamoDB).
const MaxKeysPerUser = 90

// User owns keys and has a plan.
type User struct {
	// ID is chosen by the operator: 1 to 64 letters, digits and . _ @ -
	ID        string
	Plan      string
	CreatedAt time.Time
}

// Key is what is stored of an API key.
type Key struct {
	// ID is the public name of the key; see apikey.Hash.ID.
	ID   string
	Hash apikey.Hash
	// Meter is the counter that the key's calls are charged to: the ID of the first key in
	// a chain of rotations. A rotated key keeps its meter, so it gets no new allowance.
	Meter  string
	UserID string
	// Plan is the user's plan, copied so that one read is enough to admit a call.
	Plan string
	// Name is a label of up to 64 printable characters.
	Name      string
	CreatedAt time.Time
	// RevokedAt is when the key stops working; zero = never. It may lie in the future: a
	// rotated key has a grace period.
	RevokedAt time.Time
	Settings  Settings
}

// Active reports whether the key works at a given time.
func (k Key) Active(now time.Time) bool { return k.RevokedAt.IsZero() || now.Before(k.RevokedAt) }

// Settings are the tools that a key's holder has switched off.
type Settings struct {
	// DisabledCategories and DisabledTools are sorted and free of duplicates.
	DisabledCategories []string
	DisabledTools      []string
}

// Allows reports whether a tool is on, by its own name and by its category's.
func (s Settings) Allows(tool, category string) bool {
	return !slices.Contains(s.DisabledTools, tool) && !slices.Contains(s.DisabledCategories, category)
}

// Equal reports whether both switch off the same by the same names.
func (s Settings) Equal(other Settings) bool {
	s, other = s.Normalize(), other.Normalize()
	return slices.Equal(s.DisabledCategories, other.DisabledCategories) && slices.Equal(s.DisabledTools, other.DisabledTools)
}

// Normalize sorts the settings and removes duplicates. A list of none is nil, so that equal settings
// have one form.
func (s Settings) Normalize() Settings {
	tidy := func(names []string) []string {
		names = append([]string(nil), names...)
		slices.Sort(names)
		return slices.Compact(names)
	}
	return Settings{DisabledCategories: tidy(s.DisabledCategories), DisabledTools: tidy(s.DisabledTools)}
}

// Store keeps users and keys. Implementations are safe for concurrent use. Errors wrap
// ErrNotFound, ErrExists and ErrTooManyKeys where they apply.
type Store interface {
	// CreateUser adds a user; ErrExists if the ID is taken.
	CreateUser(ctx context.Context, u User) error
	User(ctx context.Context, id string) (User, error)
	// SetPlan changes the plan of a user and of all the user's keys atomically.
	SetPlan(ctx context.Context, userID, plan string) error
	// CreateKey adds a key to an existing user. The user's plan applies; k.Plan is ignored.
	CreateKey(ctx context.Context, k Key) error
	// ReplaceKey adds k and ends the key oldID at endsAt, both or neither. ErrInactive if
	// the old key was revoked or rotated before.
	ReplaceKey(ctx context.Context, oldID string, endsAt time.Time, k Key) error
	// RevokeKey ends a key at a given time, or leaves an earlier end in place.
	RevokeKey(ctx context.Context, id string, at time.Time) error
	// Key reads a key by its ID.
	Key(ctx context.Context, id string) (Key, error)
	// Keys lists the keys of a user, or all keys if userID is empty, sorted by user and
	// creation time.
	Keys(ctx context.Context, userID string) ([]Key, error)
	// PutSettings replaces the settings of a key. If was is not nil, they are replaced only while
	// they are equal to it: else ErrChanged, unless they are s already.
	PutSettings(ctx context.Context, keyID string, s Settings, was *Settings) error
}

var userID = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._@-]*$`)

// MaxUserID is how many characters a user's ID may have.
const MaxUserID = 64

// Keyring creates users and creates, rotates and revokes keys.
type Keyring struct {
	Store Store
	Plans Plans
	Now   func() time.Time
}

// CreateUser adds a user on one of the configured plans.
func (r Keyring) CreateUser(ctx context.Context, id, plan string) (User, error) {
	if len(id) > MaxUserID || !userID().MatchString(id) {
		return User{}, fmt.Errorf("user %q: use 1 to %d letters, digits and . _ @ -, starting with a letter or digit", id, MaxUserID)
	}
	if err := r.Plans.check(plan); err != nil {
		return User{}, err
	}
	u := User{ID: id, Plan: plan, CreatedAt: r.now()}
	if err := r.Store.CreateUser(ctx, u); err != nil {
		return User{}, fmt.Errorf("create user %s: %w", id, err)
	}
	return u, nil
}

// CreateKey makes a key for a user. Only the first result holds the key itself.
func (r Keyring) CreateKey(ctx context.Context, userID, name string) (apikey.Key, Key, error) {
	secret, err := apikey.New()
	if err != nil {
		return apikey.Key{}, Key{}, err
	}
	k, err := r.AddKey(ctx, secret.Hash(), userID, name)
	if err != nil {
		return apikey.Key{}, Key{}, err
	}
	return secret, k, nil
}

// AddKey makes a key for a user by its hash. There need not be a text that has it: its holder may
// prove by other means who they are.
func (r Keyring) AddKey(ctx context.Context, h apikey.Hash, userID, name string) (Key, error) {
	if err := CheckName(name); err != nil {
		return Key{}, err
	}
	u, err := r.Store.User(ctx, userID)
	if err != nil {
		return Key{}, fmt.Errorf("user %s: %w", userID, err)
	}
	k := r.newKey(h, userID, name)
	k.Plan = u.Plan
	if err := r.Store.CreateKey(ctx, k); err != nil {
		return Key{}, fmt.Errorf("create key for %s: %w", userID, err)
	}
	return k, nil
}

// RotateKey replaces a key with a new one that keeps the user, meter, name and settings.
// The old key keeps working for the grace period, 0 or longer.
func (r Keyring) RotateKey(ctx context.Context, id string, grace time.Duration) (apikey.Key, Key, error) {
	if grace < 0 {
		return apikey.Key{}, Key{}, fmt.Errorf("grace period must not be negative: %s", grace)
	}
	old, err := r.Store.Key(ctx, id)
	if err != nil {
		return apikey.Key{}, Key{}, fmt.Errorf("key %s: %w", id, err)
	}
	if !old.RevokedAt.IsZero() {
		return apikey.Key{}, Key{}, fmt.Errorf("key %s has already been revoked or rotated: %w; create a new one", id, ErrInactive)
	}
	secret, err := apikey.New()
	if err != nil {
		return apikey.Key{}, Key{}, err
	}
	k := r.newKey(secret.Hash(), old.UserID, old.Name)
	k.Meter, k.Plan, k.Settings = old.Meter, old.Plan, old.Settings
	if err := r.Store.ReplaceKey(ctx, id, r.now().Add(grace), k); err != nil {
		return apikey.Key{}, Key{}, fmt.Errorf("rotate key %s: %w", id, err)
	}
	return secret, k, nil
}

// RevokeKey ends a key now.
func (r Keyring) RevokeKey(ctx context.Context, id string) error {
	if err := r.Store.RevokeKey(ctx, id, r.now()); err != nil {
		return fmt.Errorf("revoke key %s: %w", id, err)
	}
	return nil
}

// SetPlan moves a user to another configured plan, starting with the current month: what
// has been used stays used.
func (r Keyring) SetPlan(ctx context.Context, userID, plan string) error {
	if err := r.Plans.check(plan); err != nil {
		return err
	}
	if err := r.Store.SetPlan(ctx, userID, plan); err != nil {
		return fmt.Errorf("set plan of %s: %w", userID, err)
	}
	return nil
}

func (r Keyring) newKey(h apikey.Hash, userID, name string) Key {
	return Key{ID: h.ID(), Hash: h, Meter: h.ID(), UserID: userID, Name: name, CreatedAt: r.now()}
}

// MaxName is how many characters a key's name may have.
const MaxName = 64

// CheckName refuses what a terminal or a table would not show as one line of text.
func CheckName(name string) error {
	if n := utf8.RuneCountInString(name); n > MaxName {
		return fmt.Errorf("the name of a key must have at most %d characters, not %d", MaxName, n)
	}
	for _, r := range name {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return fmt.Errorf("the name of a key must be printable text on one line; it has %+q", r)
		}
	}
	return nil
}

// now is rounded to milliseconds, the precision that every store keeps.
func (r Keyring) now() time.Time { return r.Now().UTC().Truncate(time.Millisecond) }
