package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Brake acts on one service. It is safe for concurrent use, also from many processes.
type Brake struct {
	// Stack is the name that finance knows the service by.
	Stack string
	// Functions are those that it stops.
	Functions []string
	// ReleaseCommand is what takes the brake off, as it is told to people.
	ReleaseCommand string

	Memory    Memory
	Ceilings  Ceilings
	Switch    Switch
	Announcer Announcer
	Now       func() time.Time
}

// Effect is what a run did.
type Effect string

// The effects.
const (
	Braked    Effect = "braked"
	Completed Effect = "completed" // what an earlier run had begun
	Already   Effect = "already braked"
	Stale     Effect = "older than the last release"
	Released  Effect = "released"
	Nothing   Effect = "nothing"
)

// maxRaces bounds how often a run starts over because another one changed the state.
const maxRaces = 20

// errRaces means that others changed the state all the time.
var errRaces = fmt.Errorf("gave up after %d attempts: %w each time; run it again", maxRaces, ErrChanged)

// Trip puts the brake on. at is when the message that says so was published; one from before
// the last release has no effect, since it tells of a time that somebody has dealt with.
// After an error it may be called again, and completes what was begun.
func (b *Brake) Trip(ctx context.Context, cause Cause, at time.Time) (Effect, error) {
	for range maxRaces {
		s, err := b.Memory.Load(ctx)
		if err != nil {
			return Nothing, fmt.Errorf("read the brake's state: %w", err)
		}
		live, err := b.Switch.Braked(ctx)
		if err != nil {
			return Nothing, fmt.Errorf("read the stage variables: %w", err)
		}
		if at.Before(b.dealtWith(s, live)) {
			return Stale, nil
		}
		began := b.Now()
		switch {
		case s.Phase == Braking:
			return Completed, b.settle(ctx, false)
		case s.Phase == On && live:
			// Somebody may have raised a ceiling meanwhile, and spending goes on.
			return Already, b.settle(ctx, true)
		case s.Phase != Releasing: // what is released only in part keeps what was remembered
			s = s.forget(began)
		}
		_, err = b.Memory.Save(ctx, s.begin(cause, began))
		switch {
		case errors.Is(err, ErrChanged):
			continue
		case err != nil:
			return Nothing, fmt.Errorf("save the brake's state: %w", err)
		}
		return Braked, b.settle(ctx, false)
	}
	return Nothing, errRaces
}

// dealtWith is the instant up to which messages have no effect. A brake that is on by its
// state and off by the stage variables was released by a `terraform apply`, at a time that
// nobody recorded; what is certain is that the message that put it on is from before Since.
func (b *Brake) dealtWith(s State, live bool) time.Time {
	if s.Phase == On && !live {
		return s.Since
	}
	return s.ReleasedAt
}

// lateRun is how long after a release a run from before it may still be at work: a Lambda
// function ends within 15 minutes.
const lateRun = 15 * time.Minute

// forget drops the ceilings of a brake that is over. Soon after a release they are kept: a
// function at 0 may then be the work of a late run, which must not be taken for what was
// declared.
func (s State) forget(now time.Time) State {
	if now.Sub(s.ReleasedAt) > lateRun {
		s.Previous = nil
	}
	return s
}

// begin is the state that asks for the brake.
func (s State) begin(cause Cause, now time.Time) State {
	s.Phase, s.Cause, s.Since = Braking, cause, now
	s.Announcing, s.Announced = time.Time{}, time.Time{}
	return s
}

// Release takes the brake off and puts the ceilings back that were there before. A function
// whose ceiling is not 0 any more was changed by somebody else, and is left as it is. After
// an error it may be called again.
func (b *Brake) Release(ctx context.Context) (Effect, error) {
	for range maxRaces {
		s, err := b.Memory.Load(ctx)
		if err != nil {
			return Nothing, fmt.Errorf("read the brake's state: %w", err)
		}
		if s.Phase == Off {
			live, err := b.Switch.Braked(ctx)
			if err != nil {
				return Nothing, fmt.Errorf("read the stage variables: %w", err)
			}
			if !live {
				return Nothing, nil
			}
			s = s.forget(b.Now()) // they say "braked", and nobody recorded why
		}
		if s.Phase != Releasing {
			s.Phase, s.ReleasedAt = Releasing, b.Now()
			if _, err = b.Memory.Save(ctx, s); errors.Is(err, ErrChanged) {
				continue
			}
			if err != nil {
				return Nothing, fmt.Errorf("save the brake's state: %w", err)
			}
		}
		return Released, b.settle(ctx, false)
	}
	return Nothing, errRaces
}

// Restart is for a service that starts with the ceilings it was configured with, and not with
// those that it ended with: a brake that was on, or was asked for meanwhile (Offline), is put
// on over the new ones.
func (b *Brake) Restart(ctx context.Context) error {
	for range maxRaces {
		s, err := b.Memory.Load(ctx)
		if err != nil {
			return fmt.Errorf("read the brake's state: %w", err)
		}
		switch s.Phase {
		case Off:
			return nil
		case Releasing:
			s.Phase = Off
		default:
			s.Phase, s.Previous = Braking, nil
		}
		_, err = b.Memory.Save(ctx, s)
		switch {
		case errors.Is(err, ErrChanged):
			continue
		case err != nil:
			return fmt.Errorf("save the brake's state: %w", err)
		}
		return b.settle(ctx, false)
	}
	return errRaces
}

// settle carries out what the state wants, until nobody has changed it meanwhile. again
// does so even where the state says that it is done.
func (b *Brake) settle(ctx context.Context, again bool) error {
	for range maxRaces {
		s, err := b.Memory.Load(ctx)
		if err != nil {
			return fmt.Errorf("read the brake's state: %w", err)
		}
		switch {
		case s.Phase == Braking:
			err = b.engage(ctx, s)
		case s.Phase == Releasing:
			err = b.disengage(ctx, s)
		case again && s.Phase == On:
			err = errors.Join(b.stop(ctx, s), b.unchanged(ctx, s))
		case again && s.Phase == Off:
			err = errors.Join(b.restore(ctx, s), b.unchanged(ctx, s))
		}
		if errors.Is(err, ErrChanged) {
			again = true // what was done here may have undone what the other run did
			continue
		}
		if err != nil {
			return err
		}
		return b.announce(ctx)
	}
	return errRaces
}

// unchanged fails with ErrChanged if the state is not s any more.
func (b *Brake) unchanged(ctx context.Context, s State) error {
	now, err := b.Memory.Load(ctx)
	if err == nil && now.Version != s.Version {
		return ErrChanged
	}
	return err
}

// engage records the ceilings, stops the functions and says so in the state.
func (b *Brake) engage(ctx context.Context, s State) error {
	previous, err := b.record(ctx, s.Previous)
	if err != nil {
		return err
	}
	if !maps.Equal(previous, s.Previous) {
		s.Previous = previous
		if s, err = b.Memory.Save(ctx, s); err != nil {
			return err
		}
	}
	if err := b.stop(ctx, s); err != nil {
		// Finance hears of it now, not when a repetition has succeeded or given up.
		return errors.Join(err, b.announceFailure(ctx, s, err))
	}
	s.Phase = On
	_, err = b.Memory.Save(ctx, s)
	return err
}

// record reads the ceilings as they are without the brake. A ceiling of 0 that was recorded
// before as another one is the brake's own.
func (b *Brake) record(ctx context.Context, known map[string]int) (map[string]int, error) {
	now := map[string]int{}
	for _, function := range b.Functions {
		n, err := b.Ceilings.Reserved(ctx, function)
		if errors.Is(err, ErrNoFunction) {
			continue // there is nothing to stop
		}
		if err != nil {
			return nil, fmt.Errorf("read the ceiling of %s: %w", function, err)
		}
		if before, ok := known[function]; ok && n == 0 {
			n = before
		}
		now[function] = n
	}
	for function, n := range known {
		if _, ok := now[function]; !ok && !slices.Contains(b.Functions, function) {
			now[function] = n // it is on the list no more, and must still be released
		}
	}
	return now, nil
}

// stop sets the ceilings to 0, all that it can, and then the stage variables.
func (b *Brake) stop(ctx context.Context, s State) error {
	var failed error
	for _, function := range slices.Sorted(maps.Keys(s.Previous)) {
		if !slices.Contains(b.Functions, function) {
			continue
		}
		if err := b.Ceilings.SetReserved(ctx, function, 0); err != nil && !errors.Is(err, ErrNoFunction) {
			failed = errors.Join(failed, fmt.Errorf("stop %s: %w", function, err))
		}
	}
	if failed != nil {
		return failed
	}
	if err := b.Switch.SetBraked(ctx, true); err != nil {
		return fmt.Errorf("set the stage variables: %w", err)
	}
	return nil
}

// disengage puts everything back and says so in the state. Previous stays there, for a run
// that finds out late that the brake was released.
func (b *Brake) disengage(ctx context.Context, s State) error {
	if err := b.restore(ctx, s); err != nil {
		return err
	}
	s.Phase = Off
	_, err := b.Memory.Save(ctx, s)
	return err
}

func (b *Brake) restore(ctx context.Context, s State) error {
	if err := b.Switch.SetBraked(ctx, false); err != nil {
		return fmt.Errorf("set the stage variables: %w", err)
	}
	var failed error
	for _, function := range slices.Sorted(maps.Keys(s.Previous)) {
		if err := b.restoreOne(ctx, function, s.Previous[function]); err != nil && !errors.Is(err, ErrNoFunction) {
			failed = errors.Join(failed, fmt.Errorf("restore %s: %w", function, err))
		}
	}
	return failed
}

func (b *Brake) restoreOne(ctx context.Context, function string, n int) error {
	now, err := b.Ceilings.Reserved(ctx, function)
	if err != nil || now != 0 || n == 0 {
		return err
	}
	return b.Ceilings.SetReserved(ctx, function, n)
}
