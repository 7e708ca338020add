package main

import (
	"context"
	"errors"
	"time"

	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/laptop"
)

// laptopStage is the stage's name of `sekisho up`.
const laptopStage = "local"

// onLaptop reaches the brake of a data directory: through the service that runs on it, or in
// the database alone where none does.
func (f brakeFlags) onLaptop(ctx context.Context) (*brakeTarget, error) {
	st, err := storeFlags{Data: f.Data}.open(ctx)
	if err != nil {
		return nil, err
	}
	t := &brakeTarget{flags: " --data " + f.Data, close: st.close}
	running, ok, err := laptop.FindRunning(ctx, f.Data)
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	if ok {
		t.reachedBrake = running
		return t, nil
	}
	t.note = "No service runs on " + f.Data + "; the next one starts like this."
	t.reachedBrake = stoppedBrake{brake.Offline{Memory: st.Brake(laptop.BrakeName(laptopStage)), Now: time.Now}, f.Data}
	return t, nil
}

// stoppedBrake is the brake of a data directory that no service runs on.
type stoppedBrake struct {
	brake.Offline
	data string
}

func (b stoppedBrake) On(ctx context.Context, reason string) error {
	return b.unlessStarted(ctx, b.Offline.On(ctx, brake.ByHand(reason)), func(s laptop.Running) error { return s.On(ctx, reason) })
}

func (b stoppedBrake) Off(ctx context.Context) error {
	return b.unlessStarted(ctx, b.Offline.Off(ctx), func(s laptop.Running) error { return s.Off(ctx) })
}

// unlessStarted has a service do it that started meanwhile, and may have read the state before
// it was changed. A service can be found before it reads the state.
func (b stoppedBrake) unlessStarted(ctx context.Context, changed error, do func(laptop.Running) error) error {
	if changed != nil {
		return changed
	}
	running, ok, err := laptop.FindRunning(ctx, b.data)
	if err != nil || !ok {
		return err
	}
	return do(running)
}
