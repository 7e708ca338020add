package brake

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// hook runs do at the nth call of that name, once, before the call.
func (w *world) hook(call string, nth int, do func()) {
	w.fail = func(c string) error {
		if c == call {
			if nth--; nth == 0 {
				w.fail = nil
				do()
			}
		}
		return nil
	}
}

// TestTwoRunsTellOnce: a run that comes while another one is telling finance leaves it to that one.
func TestTwoRunsTellOnce(t *testing.T) {
	for name, at := range map[string]struct {
		call string
		nth  int
	}{"while it tells": {"tell", 1}, "before it claims": {"save on", 2}} {
		w, b := newWorld()
		w.hook(at.call, at.nth, func() {
			if _, err := b.Trip(context.Background(), cause, w.now()); err != nil {
				t.Errorf("%s: the second run: %v", name, err)
			}
		})
		if _, err := b.Trip(t.Context(), cause, began); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if w.fail != nil || len(w.told) != 1 {
			t.Errorf("%s: finance was told %d times, want once", name, len(w.told))
		}
		w.wantBraked(t)
	}
}

// TestFinanceIsToldAfterAFailure, by the next run, however soon it comes.
func TestFinanceIsToldAfterAFailure(t *testing.T) {
	w, b := newWorld()
	w.fail = func(call string) error {
		if call == "tell" {
			return errDown
		}
		return nil
	}
	if _, err := b.Trip(t.Context(), cause, began); !errors.Is(err, errDown) {
		t.Errorf("the run says %v", err)
	}
	w.fail = nil
	trip(t, b)
	if len(w.told) != 1 {
		t.Errorf("finance was told %d times, want once", len(w.told))
	}
}

// TestAFailingBrakeIsToldOnce: Lambda repeats the message, and every repetition fails.
func TestAFailingBrakeIsToldOnce(t *testing.T) {
	w, b := newWorld()
	w.fail = func(call string) error {
		if call == "set calendar 0" {
			return errDown
		}
		return nil
	}
	for range 3 {
		if _, err := b.Trip(t.Context(), cause, began); !errors.Is(err, errDown) {
			t.Errorf("the run says %v", err)
		}
	}
	if len(w.told) != 1 || !strings.HasPrefix(w.told[0], "Sekisho demo: spending could not be fully stopped\nThe brake tried to stop spending by demo at ") {
		t.Errorf("finance was told %q", w.told)
	}
}

// TestARunThatLowersAgainMayBeLate: a release that comes meanwhile stays.
func TestARunThatLowersAgainMayBeLate(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	w.hook("set mcp 0", 1, func() {
		if _, err := b.Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.Trip(t.Context(), cause, w.now()); err != nil {
		t.Error(err)
	}
	w.wantOpen(t)
}

// TestABrakeAfterHalfARelease keeps what that release still had to put back, however long ago.
func TestABrakeAfterHalfARelease(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	w.fail = func(call string) error {
		if strings.HasPrefix(call, "set external") {
			return errDown
		}
		return nil
	}
	if _, err := b.Release(t.Context()); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	w.fail, w.clock = nil, w.clock.Add(time.Hour)
	trip(t, b)
	w.wantBraked(t)
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantOpen(t)
}

// TestBrakedByOtherMeans: what callers are told says that the brake is on, and no run recorded it. A
// release opens the service and puts back nothing of an older brake.
func TestBrakedByOtherMeans(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Hour)
	w.braked, w.ceilings["external"] = true, 0
	w.fail = func(call string) error {
		if call == "read stage" {
			return errDown
		}
		return nil
	}
	if effect, err := b.Release(t.Context()); !errors.Is(err, errDown) || effect != Nothing {
		t.Errorf("%s, %v", effect, err)
	}
	w.fail = nil
	effect, err := b.Release(t.Context())
	wantEffect(t, effect, err, Released)
	if w.braked || w.ceilings["external"] != 0 {
		t.Errorf("braked %t, external has %d; want it open, and the 0 that somebody declared", w.braked, w.ceilings["external"])
	}
}

// TestWhatIsNoLongerStopped: a deployment that takes a function off the list while the brake is half
// on neither stops it again nor forgets to restore it. One that is still on the list and was given
// another ceiling gets that one back.
func TestWhatIsNoLongerStopped(t *testing.T) {
	w, b := newWorld()
	w.fail = func(call string) error {
		if call == "set external 0" {
			return errDown
		}
		return nil
	}
	if _, err := b.Trip(t.Context(), cause, began); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	w.fail = nil
	b.Functions = []string{"external", "mcp", "postal"}
	w.ceilings["external"] = 9
	w.calls = nil
	effect, err := b.Trip(t.Context(), cause, w.now())
	wantEffect(t, effect, err, Completed)
	for _, call := range w.calls {
		if strings.HasPrefix(call, "set calendar") {
			t.Errorf("%s, which is not on the list any more", call)
		}
	}
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ceilings["external"] -= 4 // 5 before
	w.wantOpen(t)
}

func TestACeilingOfOneIsRestored(t *testing.T) {
	w, b := newWorld()
	w.ceilings["external"] = 1
	trip(t, b)
	if _, err := b.Release(t.Context()); err != nil || w.ceilings["external"] != 1 {
		t.Errorf("%v, external has %d", err, w.ceilings["external"])
	}
}

// TestRestart: its errors are its own, and a release that was under way is over.
func TestRestart(t *testing.T) {
	for _, call := range []string{"load", "save braking", "save on", "set stage true"} {
		w, b := newWorld()
		trip(t, b)
		w.reset()
		w.fail = func(c string) error {
			if c == call {
				return errDown
			}
			return nil
		}
		if err := b.Restart(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("%s fails: %v", call, err)
		}
	}
	w, b := newWorld()
	trip(t, b)
	w.hook("save braking", 1, func() { w.state.Version++ })
	if err := b.Restart(t.Context()); err != nil {
		t.Errorf("another run came first: %v", err)
	}
	w.wantBraked(t)

	w, b = newWorld()
	w.state = State{Phase: Releasing, Version: 1}
	if err := b.Restart(t.Context()); err != nil || w.state.Phase != Off {
		t.Errorf("%v; %q after a release that a restart cut off", err, w.state.Phase)
	}
}

// TestRacesEnd: a run that others keep getting in the way of gives up, and says so.
func TestRacesEnd(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Brake) error{
		"trip":    func(ctx context.Context, b *Brake) error { _, err := b.Trip(ctx, cause, b.Now()); return err },
		"release": func(ctx context.Context, b *Brake) error { _, err := b.Release(ctx); return err },
		"restart": func(ctx context.Context, b *Brake) error { return b.Restart(ctx) },
	} {
		for _, saves := range []string{"save", "save on", "save off"} {
			w, b := newWorld()
			trip(t, b)
			w.reset()
			w.fail = func(call string) error {
				if strings.HasPrefix(call, saves) || saves == "save off" && call == "save " {
					return ErrChanged
				}
				return nil
			}
			want := saves == "save" || (saves == "save on") == (name != "release")
			if err := run(t.Context(), b); errors.Is(err, errRaces) != want {
				t.Errorf("%s, every %s comes too late: %v", name, saves, err)
			}
			if len(w.calls) > 100*maxRaces {
				t.Errorf("%s: %d calls", name, len(w.calls))
			}
		}
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("a", 99)
	for subject, want := range map[string]string{
		"Sekisho ~ !": "Sekisho ~ !", "東京\n\x7f": "????", long + "bc": long + "b", long + "b": long + "b", long + "京x": long + "?",
	} {
		if got := clip(subject); got != want {
			t.Errorf("%q becomes %q, want %q", subject, got, want)
		}
	}
}
