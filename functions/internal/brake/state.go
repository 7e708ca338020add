package brake

import (
	"context"
	"errors"
	"time"
)

// Unreserved is the ceiling of a function that shares the account's concurrency.
const Unreserved = -1

// Phase says what is wanted and whether it has been done.
type Phase string

// The phases. The zero Phase is Off.
const (
	Off       Phase = ""
	Braking   Phase = "braking"
	On        Phase = "on"
	Releasing Phase = "releasing"
)

// State is what the stores keep, as JSON.
type State struct {
	Phase Phase `json:"phase,omitempty"`
	Cause Cause `json:"cause"`
	// Since is when the brake was put on.
	Since time.Time `json:"since"`
	// Previous is each function's ceiling before the brake: Unreserved, 0 or more. It is
	// recorded before any ceiling is changed.
	Previous map[string]int `json:"previous,omitempty"`
	// Throttles is each method's own limit before the brake; nil where the stage's held. It is
	// recorded before any is changed.
	Throttles map[string]*Throttle `json:"throttles,omitempty"`
	// ReleasedAt is when the brake was last released. Older messages have no effect.
	ReleasedAt time.Time `json:"released_at"`
	// Announcing is when a run started to notify finance, Announced when it succeeded.
	Announcing time.Time `json:"announcing"`
	Announced  time.Time `json:"announced"`

	// Version counts changes; 0 means that nothing has been saved yet. Stores keep it next
	// to the JSON.
	Version int64 `json:"-"`
}

// Cause is why the brake is on.
type Cause struct {
	// Name of the alarm or budget, or "hand".
	Name string `json:"name,omitempty"`
	// Text explains it, with the message's figure and threshold.
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

// ErrChanged means that the stored state is no longer the version that was read.
var ErrChanged = errors.New("the brake's state was changed by another run")

// ErrNoFunction means that there is no function with that name.
var ErrNoFunction = errors.New("no such function")

// Memory keeps the state.
type Memory interface {
	// Load returns the state by a strongly consistent read; the zero State if there is none.
	Load(ctx context.Context) (State, error)
	// Save replaces the state if its version is still s.Version, and returns it with the
	// new version; otherwise the error is ErrChanged. After any other error, the state may
	// or may not have been saved.
	Save(ctx context.Context, s State) (State, error)
}

// Ceilings reads and sets reserved concurrency.
type Ceilings interface {
	// Reserved returns a function's ceiling: Unreserved, 0 or more. The error is
	// ErrNoFunction if there is no such function.
	Reserved(ctx context.Context, function string) (int, error)
	SetReserved(ctx context.Context, function string, n int) error
}

// Throttle is a limit on calls of a method. That of a stopped method is the zero Throttle.
type Throttle struct {
	// Rate in calls per second.
	Rate float64 `json:"rate"`
	// Burst is how many calls may come at once.
	Burst int `json:"burst"`
}

// Stage is the stage of the API: what callers are told, and what reaches a function. Methods
// are written like GET /v1/postal.
type Stage interface {
	// Braked reports whether callers are told that the brake is on.
	Braked(ctx context.Context) (bool, error)
	// Throttles returns the limits that methods have of their own.
	Throttles(ctx context.Context) (map[string]Throttle, error)
	// Set changes what callers are told and the limits of these methods, in one request. A
	// method with nil gets the stage's limit; others keep theirs.
	Set(ctx context.Context, braked bool, throttles map[string]*Throttle) error
}

// Alarms are those that trip the brake.
type Alarms interface {
	// Rearm sets them to OK. An alarm sends a message when its state changes and not while it
	// stays in ALARM, so one that was left there could never trip the brake again.
	Rearm(ctx context.Context) error
}

// Deploys are told whether to leave the brake on.
type Deploys interface {
	Hold(ctx context.Context, on bool) error
}

// Announcer notifies finance. The subject is one line of at most 100 ASCII characters.
type Announcer interface {
	Announce(ctx context.Context, subject, text string) error
}
