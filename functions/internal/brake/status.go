package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Status describes the brake.
type Status struct {
	// On is what the live stage variables say.
	On bool `json:"on"`
	// State in words: off; on; braking or releasing, which are unfinished; ReleasedElsewhere.
	State string     `json:"state"`
	Since *time.Time `json:"since"`
	Why   string     `json:"why"`
	// ReleasedAt is the last release by a command.
	ReleasedAt *time.Time       `json:"released_at"`
	Functions  []FunctionStatus `json:"functions"`
	// Methods that are stopped now, such as GET /v1/postal.
	Methods []string `json:"methods_stopped"`
}

// FunctionStatus is the ceiling of a function: -1 unreserved, 0 off.
type FunctionStatus struct {
	Name string `json:"name"`
	// Before the brake; nil if none was recorded.
	Before *int `json:"before"`
	// Now; nil if there is no such function.
	Now *int `json:"now"`
}

// ReleasedElsewhere is the state of a brake that was released other than by Release.
const ReleasedElsewhere = "released by other means"

// Status reads the state, the stage and all ceilings.
func (b *Brake) Status(ctx context.Context) (Status, error) {
	s, err := b.Memory.Load(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("read the brake's state: %w", err)
	}
	live, err := b.Stage.Braked(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("read the stage variables: %w", err)
	}
	status := s.Describe(live)
	names := slices.AppendSeq(slices.Clone(b.Functions), maps.Keys(s.remembered()))
	slices.Sort(names)
	for _, function := range slices.Compact(names) {
		f := FunctionStatus{Name: function, Before: s.before(function)}
		n, err := b.Ceilings.Reserved(ctx, function)
		switch {
		case err == nil:
			f.Now = &n
		case !errors.Is(err, ErrNoFunction):
			return Status{}, fmt.Errorf("read the ceiling of %s: %w", function, err)
		}
		status.Functions = append(status.Functions, f)
	}
	own, err := b.Stage.Throttles(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("read the throttles: %w", err)
	}
	for _, method := range slices.Sorted(maps.Keys(own)) {
		if own[method] == (Throttle{}) {
			status.Methods = append(status.Methods, method)
		}
	}
	return status, nil
}

// Describe is the status without its functions. live is what the stage variables say.
func (s State) Describe(live bool) Status {
	status := Status{On: live, State: string(s.Phase), Functions: []FunctionStatus{}, Methods: []string{}}
	switch {
	case s.Phase == Off && live:
		status.State, status.Why = "on", "The stage variables say so, but no reason was recorded."
	case s.Phase == Off:
		status.State = "off"
	case s.Phase == On && !live:
		status.State = ReleasedElsewhere
	}
	if s.Phase != Off {
		status.Since, status.Why = &s.Since, s.Cause.Text
	}
	if !s.ReleasedAt.IsZero() {
		status.ReleasedAt = &s.ReleasedAt
	}
	return status
}

// remembered is the ceilings from before the brake, while it is on.
func (s State) remembered() map[string]int {
	if s.Phase == Off {
		return nil
	}
	return s.Previous
}

func (s State) before(function string) *int {
	n, ok := s.remembered()[function]
	if !ok {
		return nil
	}
	return &n
}
