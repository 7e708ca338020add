package brake

import (
	"context"
	"errors"
	"time"
)

// Unreserved is the ceiling of a function that shares the account's concurrency.
const Unreserved = -1

// Phase says what is wanted, and whether it is done.
type Phase string

// The phases. The zero Phase is Off.
const (
	Off       Phase = ""
	Braking   Phase = "braking"
	On        Phase = "on"
	Releasing Phase = "releasing"
)

// State is the item. Its JSON is what the stores keep.
type State struct {
	Phase Phase `json:"phase,omitempty"`
	Cause Cause `json:"cause"`
	// Since is when the brake was put on.
	Since time.Time `json:"since"`
	// Previous is the ceiling of each function before the brake: Unreserved, 0 or more. It
	// is recorded before anything is changed.
	Previous map[string]int `json:"previous,omitempty"`
	// ReleasedAt is when the brake was last taken off. Messages from before it have no effect.
	ReleasedAt time.Time `json:"released_at"`
	// Announcing is when a run began to tell finance, Announced when it had done so.
	Announcing time.Time `json:"announcing"`
	Announced  time.Time `json:"announced"`

	// Version counts the changes; 0 means that there is no item yet. Stores keep it beside
	// the rest.
	Version int64 `json:"-"`
}

// Cause is why the brake is on.
type Cause struct {
	// Name of the alarm or budget, or "hand".
	Name string `json:"name,omitempty"`
	// Text says it to people, with the figure and the threshold of the message.
	Text string `json:"text,omitempty"`
}

// ByHand is the cause of a brake that a person put on.
func ByHand(reason string) Cause {
	c := Cause{Name: "hand", Text: "Put on by hand, with sekisho brake on."}
	if reason != "" {
		c.Text = "Put on by hand: " + reason
	}
	return c
}

// ErrChanged means that the item is not the version any more that was read.
var ErrChanged = errors.New("the brake's state was changed by another run")

// ErrNoFunction means that there is no function of a name.
var ErrNoFunction = errors.New("no such function")

// Memory keeps the state.
type Memory interface {
	// Load returns the state, strongly consistent; the zero State where there is none.
	Load(ctx context.Context) (State, error)
	// Save replaces the state on condition that it is still of s.Version, and returns it
	// with its new version. The error is ErrChanged if it is not. After another error it
	// is not known whether the state was saved.
	Save(ctx context.Context, s State) (State, error)
}

// Ceilings reads and sets reserved concurrency.
type Ceilings interface {
	// Reserved returns a function's ceiling: Unreserved, 0 or more. The error is
	// ErrNoFunction if there is no such function.
	Reserved(ctx context.Context, function string) (int, error)
	SetReserved(ctx context.Context, function string, n int) error
}

// Switch is the state of the service as callers are told it.
type Switch interface {
	Braked(ctx context.Context) (bool, error)
	SetBraked(ctx context.Context, on bool) error
}

// Announcer tells finance. Subject is one line of at most 100 ASCII characters.
type Announcer interface {
	Announce(ctx context.Context, subject, text string) error
}
