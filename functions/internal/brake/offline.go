package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Offline is the brake of a service that is not running. Only its state can be changed; the
// service acts on that when it starts (Restart).
type Offline struct {
	Memory Memory
	Now    func() time.Time
}

// Status is what the service will start with.
func (o Offline) Status(ctx context.Context) (Status, error) {
	s, err := o.Memory.Load(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("read the brake's state: %w", err)
	}
	status := s.Describe(s.Phase == On || s.Phase == Braking)
	before := s.remembered()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		status.Functions = append(status.Functions, FunctionStatus{Name: name, Before: s.before(name)})
	}
	return status, nil
}

// On asks for the brake, unless it is on.
func (o Offline) On(ctx context.Context, cause Cause) error {
	return o.change(ctx, func(s State) (State, bool) {
		if s.Phase == On || s.Phase == Braking {
			return s, false
		}
		return s.forget(o.Now()).begin(cause, o.Now()), true
	})
}

// Off releases the brake: no function is held that would have to be given anything back.
func (o Offline) Off(ctx context.Context) error {
	return o.change(ctx, func(s State) (State, bool) {
		if s.Phase == Off {
			return s, false
		}
		s.Phase, s.ReleasedAt = Off, o.Now()
		return s, true
	})
}

func (o Offline) change(ctx context.Context, to func(State) (State, bool)) error {
	for range maxRaces {
		s, err := o.Memory.Load(ctx)
		if err != nil {
			return fmt.Errorf("read the brake's state: %w", err)
		}
		next, changed := to(s)
		if !changed {
			return nil
		}
		if _, err = o.Memory.Save(ctx, next); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return errRaces
}
