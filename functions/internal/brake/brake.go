package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Brake acts on one service. It is safe for concurrent use, even by many processes.
type Brake struct {
	// Name is what finance calls the service.
	Name string
	// Functions to stop.
	Functions []string
	// Methods to stop, such as GET /v1/postal.
	Methods []string
	// ReleaseCommand releases the brake; the announcement quotes it.
	ReleaseCommand string

	Memory    Memory
	Ceilings  Ceilings
	Stage     Stage
	Alarms    Alarms
	Deploys   Deploys
	Announcer Announcer
	Now       func() time.Time
}

// Effect is what a run did.
type Effect string

// The effects.
const (
	Braked    Effect = "braked"
	Completed Effect = "completed" // an earlier run had left it unfinished
	Already   Effect = "already braked"
	Stale     Effect = "older than the last release"
	Released  Effect = "released"
	Nothing   Effect = "nothing"
)

// maxRaces bounds how often a run starts over after another one changed the state.
const maxRaces = 20

// errRaces means that other runs kept changing the state.
var errRaces = fmt.Errorf("gave up after %d attempts: %w each time; run it again", maxRaces, ErrChanged)

// Trip puts the brake on. at is when the triggering message was published: one from before
// the last release has no effect, because somebody has already dealt with it. After an error,
// call Trip again to complete what it began.
func (b *Brake) Trip(ctx context.Context, cause Cause, at time.Time) (Effect, error) {
	for range maxRaces {
		s, err := b.Memory.Load(ctx)
		if err != nil {
			return Nothing, fmt.Errorf("read the brake's state: %w", err)
		}
		live, err := b.Stage.Braked(ctx)
		if err != nil {
			return Nothing, fmt.Errorf("read the stage variables: %w", err)
		}
		if at.Before(b.dealtWith(s, live)) {
			return Stale, nil
		}
		began := b.Now()
		switch {
		case s.Phase == Braking:
			return Completed, b.carryOut(ctx, false)
		case s.Phase == On && live:
			// Somebody may have raised a ceiling since, so stop the functions again.
			return Already, b.carryOut(ctx, true)
		case s.Phase != Releasing: // an unfinished release still needs the recorded ceilings
			s = s.forget(began)
		}
		_, err = b.Memory.Save(ctx, s.begin(cause, began))
		switch {
		case errors.Is(err, ErrChanged):
			continue
		case err != nil:
			return Nothing, fmt.Errorf("save the brake's state: %w", err)
		}
		return Braked, b.carryOut(ctx, false)
	}
	return Nothing, errRaces
}

// dealtWith is the time before which messages have no effect. If the state says on and the
// stage variables say off, somebody released the brake by other means, at an unrecorded time;
// all we know is that the message that put it on is older than Since.
func (b *Brake) dealtWith(s State, live bool) time.Time {
	if s.Phase == On && !live {
		return s.Since
	}
	return s.ReleasedAt
}

// lateRun is how long a run that started before a release may still be going after it: a
// Lambda function runs for at most 15 minutes.
const lateRun = 15 * time.Minute

// forget drops what was recorded of a released brake, unless the release is recent: a
// function or method at 0 may then be the work of a late run, and 0 must not be recorded as
// what was declared.
func (s State) forget(now time.Time) State {
	if now.Sub(s.ReleasedAt) > lateRun {
		s.Previous, s.Throttles = nil, nil
	}
	return s
}

// begin is the state that asks for the brake to be put on.
func (s State) begin(cause Cause, now time.Time) State {
	s.Phase, s.Cause, s.Since = Braking, cause, now
	s.Announcing, s.Announced = time.Time{}, time.Time{}
	return s
}

// Release releases the brake, restores the recorded ceilings and throttles, and arms the
// alarms again. What is no longer 0 was changed by somebody else and is left alone. Release is
// safe to repeat after an error.
func (b *Brake) Release(ctx context.Context) (Effect, error) {
	for range maxRaces {
		s, err := b.Memory.Load(ctx)
		if err != nil {
			return Nothing, fmt.Errorf("read the brake's state: %w", err)
		}
		if s.Phase == Off {
			live, err := b.Stage.Braked(ctx)
			if err != nil {
				return Nothing, fmt.Errorf("read the stage variables: %w", err)
			}
			if !live {
				return Nothing, nil
			}
			s = s.forget(b.Now()) // the stage says "braked", but no run recorded why
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
		return Released, b.carryOut(ctx, false)
	}
	return Nothing, errRaces
}

// Restart is for a service that starts with its configured ceilings instead of those it ended
// with: a brake that was on, or was put on meanwhile (Offline), is put on again, and the fresh
// ceilings are recorded.
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
			s.Phase, s.Previous, s.Throttles = Braking, nil, nil
		}
		_, err = b.Memory.Save(ctx, s)
		switch {
		case errors.Is(err, ErrChanged):
			continue
		case err != nil:
			return fmt.Errorf("save the brake's state: %w", err)
		}
		return b.carryOut(ctx, false)
	}
	return errRaces
}

// carryOut does what the state asks for, and starts over if another run changes the state
// meanwhile. With again it does so even if the state says that it is done.
func (b *Brake) carryOut(ctx context.Context, again bool) error {
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
			again = true // this run may have undone what the other one did
			continue
		}
		if err != nil {
			return err
		}
		return b.announce(ctx)
	}
	return errRaces
}

// unchanged fails with ErrChanged if the state is no longer s.
func (b *Brake) unchanged(ctx context.Context, s State) error {
	now, err := b.Memory.Load(ctx)
	if err == nil && now.Version != s.Version {
		return ErrChanged
	}
	return err
}

// engage records what is to be changed, stops it and updates the state.
func (b *Brake) engage(ctx context.Context, s State) error {
	before := s
	var err error
	if s.Previous, err = b.record(ctx, s.Previous); err != nil {
		return err
	}
	if s.Throttles, err = b.recordThrottles(ctx, s.Throttles); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, s) {
		if s, err = b.Memory.Save(ctx, s); err != nil {
			return err
		}
	}
	if err := b.stop(ctx, s); err != nil {
		// Notify finance now rather than after the retries.
		return errors.Join(err, b.announceFailure(ctx, s, err))
	}
	s.Phase = On
	_, err = b.Memory.Save(ctx, s)
	return err
}

// record reads the ceilings as they are without the brake: where one is 0 and known has
// another value for it, the 0 is the brake's own.
func (b *Brake) record(ctx context.Context, known map[string]int) (map[string]int, error) {
	now := map[string]int{}
	for _, function := range b.Functions {
		n, err := b.Ceilings.Reserved(ctx, function)
		if errors.Is(err, ErrNoFunction) {
			continue
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
			now[function] = n // no longer in Functions, but still to be released
		}
	}
	return now, nil
}

// recordThrottles is record for the methods.
func (b *Brake) recordThrottles(ctx context.Context, known map[string]*Throttle) (map[string]*Throttle, error) {
	own, err := b.Stage.Throttles(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the throttles: %w", err)
	}
	now := maps.Clone(known) // those no longer in Methods are still to be released
	if now == nil {
		now = map[string]*Throttle{}
	}
	for _, method := range b.Methods {
		t, ok := own[method]
		_, recorded := known[method]
		switch {
		case !ok:
			now[method] = nil
		case t != Throttle{} || !recorded:
			now[method] = &t
		}
	}
	return now, nil
}

// stop sets to 0 as many ceilings as it can, and the throttles. Deploys are told first: one in
// between would put back what is being stopped. Nothing that fails keeps it from the rest.
func (b *Brake) stop(ctx context.Context, s State) error {
	var failed error
	if err := b.Deploys.Hold(ctx, true); err != nil {
		failed = fmt.Errorf("hold deploys: %w", err)
	}
	for _, function := range slices.Sorted(maps.Keys(s.Previous)) {
		if !slices.Contains(b.Functions, function) {
			continue
		}
		if err := b.Ceilings.SetReserved(ctx, function, 0); err != nil && !errors.Is(err, ErrNoFunction) {
			failed = errors.Join(failed, fmt.Errorf("stop %s: %w", function, err))
		}
	}
	stopped := map[string]*Throttle{}
	for _, method := range b.Methods {
		stopped[method] = &Throttle{}
	}
	if err := b.Stage.Set(ctx, true, stopped); err != nil {
		failed = errors.Join(failed, fmt.Errorf("stop the methods: %w", err))
	}
	return failed
}

// disengage puts everything back, arms the alarms and updates the state. What was recorded is
// kept for a run that notices the release late.
func (b *Brake) disengage(ctx context.Context, s State) error {
	if err := b.restore(ctx, s); err != nil {
		return err
	}
	if err := b.Alarms.Rearm(ctx); err != nil {
		return fmt.Errorf("arm the alarms again: %w", err)
	}
	s.Phase = Off
	_, err := b.Memory.Save(ctx, s)
	return err
}

func (b *Brake) restore(ctx context.Context, s State) error {
	var failed error
	if err := b.Deploys.Hold(ctx, false); err != nil {
		failed = fmt.Errorf("free deploys: %w", err)
	}
	failed = errors.Join(failed, b.restoreStage(ctx, s))
	for _, function := range slices.Sorted(maps.Keys(s.Previous)) {
		if err := b.restoreOne(ctx, function, s.Previous[function]); err != nil && !errors.Is(err, ErrNoFunction) {
			failed = errors.Join(failed, fmt.Errorf("restore %s: %w", function, err))
		}
	}
	return failed
}

func (b *Brake) restoreStage(ctx context.Context, s State) error {
	own, err := b.Stage.Throttles(ctx)
	if err != nil {
		return fmt.Errorf("read the throttles: %w", err)
	}
	back := map[string]*Throttle{}
	for method, before := range s.Throttles {
		if now, ok := own[method]; ok && now == (Throttle{}) {
			back[method] = before
		}
	}
	if err := b.Stage.Set(ctx, false, back); err != nil {
		return fmt.Errorf("restore the methods: %w", err)
	}
	return nil
}

func (b *Brake) restoreOne(ctx context.Context, function string, n int) error {
	now, err := b.Ceilings.Reserved(ctx, function)
	if err != nil || now != 0 || n == 0 {
		return err
	}
	return b.Ceilings.SetReserved(ctx, function, n)
}
