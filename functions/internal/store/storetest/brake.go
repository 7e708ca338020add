package storetest

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/brake"
)

// brakes checks what a brake.Memory promises. open opens a store and returns a function that
// gives the memory for a service's name.
func brakes(t *testing.T, open func(t *testing.T) func(name string) brake.Memory) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, memory func(string) brake.Memory)
	}{
		{"a state comes back as it was saved", brakeRoundTrip},
		{"a state is saved only over the one that was read", brakeVersions},
		{"of many at once one is saved", brakeRace},
		{"names have states of their own", brakeNames},
		{"a cancelled context is an error", brakeCancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

func brakeState() brake.State {
	return brake.State{
		Phase: brake.On, Cause: brake.Cause{Name: "alarm", Text: "Alarm „alarm“: 2 > 1"}, Since: at,
		Previous:   map[string]int{"a": brake.Unreserved, "b": 0, "c": 5},
		ReleasedAt: at.Add(-time.Hour), Announced: at.Add(time.Second),
	}
}

func brakeRoundTrip(t *testing.T, memory func(string) brake.Memory) {
	m := memory("x")
	if s := must[brake.State](t)(m.Load(t.Context())); !reflect.DeepEqual(s, brake.State{}) {
		t.Fatalf("a fresh store holds %+v", s)
	}
	want := brakeState()
	saved := must[brake.State](t)(m.Save(t.Context(), want))
	want.Version = 1
	if got := must[brake.State](t)(m.Load(t.Context())); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(saved, want) {
		t.Errorf("saved as %+v and read as %+v, want %+v", saved, got, want)
	}
	want.Phase, want.Previous = brake.Off, nil
	want = must[brake.State](t)(m.Save(t.Context(), want))
	if got := must[brake.State](t)(m.Load(t.Context())); !reflect.DeepEqual(got, want) || want.Version != 2 {
		t.Errorf("read %+v, want %+v of version 2", got, want)
	}
}

func brakeVersions(t *testing.T, memory func(string) brake.Memory) {
	m := memory("x")
	first := must[brake.State](t)(m.Save(t.Context(), brakeState()))
	second := must[brake.State](t)(m.Save(t.Context(), first))
	for _, version := range []int64{0, first.Version, second.Version + 1} {
		stale := brakeState()
		stale.Version, stale.Phase = version, brake.Braking
		if _, err := m.Save(t.Context(), stale); !errors.Is(err, brake.ErrChanged) {
			t.Errorf("version %d over %d: %v, want %v", version, second.Version, err, brake.ErrChanged)
		}
	}
	if got := must[brake.State](t)(m.Load(t.Context())); !reflect.DeepEqual(got, second) {
		t.Errorf("read %+v, want %+v", got, second)
	}
}

func brakeRace(t *testing.T, memory func(string) brake.Memory) {
	m := memory("x")
	for version := range int64(3) {
		var saved atomic.Int64
		together(8, func(int) {
			s := brakeState()
			s.Version = version
			switch _, err := m.Save(context.Background(), s); {
			case err == nil:
				saved.Add(1)
			case !errors.Is(err, brake.ErrChanged):
				t.Error(err)
			}
		})
		if saved.Load() != 1 {
			t.Errorf("version %d: %d were saved, want 1", version, saved.Load())
		}
	}
}

func brakeNames(t *testing.T, memory func(string) brake.Memory) {
	must[brake.State](t)(memory("x").Save(t.Context(), brakeState()))
	if s := must[brake.State](t)(memory("y").Load(t.Context())); s.Version != 0 {
		t.Errorf("y holds %+v, which is that of x", s)
	}
}

func brakeCancelled(t *testing.T, memory func(string) brake.Memory) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := memory("x").Load(ctx); err == nil {
		t.Error("Load succeeded")
	}
	if _, err := memory("x").Save(ctx, brakeState()); err == nil || errors.Is(err, brake.ErrChanged) {
		t.Errorf("Save: %v", err)
	}
}
