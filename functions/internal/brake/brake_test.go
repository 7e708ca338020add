package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func wantEffect(t *testing.T, got Effect, err error, want Effect) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestTripAndRelease(t *testing.T) {
	w, b := newWorld()
	effect, err := b.Trip(t.Context(), cause, began)
	wantEffect(t, effect, err, Braked)
	w.wantBraked(t)
	// What is to be restored is saved, and deploys are told, before anything is changed.
	changed := slices.IndexFunc(w.calls, func(c string) bool { return strings.HasPrefix(c, "set ") })
	for _, first := range []string{"save braking", "hold true"} {
		if at := slices.Index(w.calls, first); at < 0 || at > changed {
			t.Errorf("changed before %s: %v", first, w.calls)
		}
	}
	if w.rearmed != 0 {
		t.Error("the alarms were armed again while the brake went on")
	}
	if len(w.told) != 1 {
		t.Fatalf("finance was told %d times, want 1: %v", len(w.told), w.told)
	}

	effect, err = b.Release(t.Context())
	wantEffect(t, effect, err, Released)
	w.wantOpen(t)
	if w.rearmed != 1 {
		t.Errorf("the alarms were armed again %d times, want once", w.rearmed)
	}
	effect, err = b.Release(t.Context())
	wantEffect(t, effect, err, Nothing)
	w.wantOpen(t)
	if len(w.told) != 1 {
		t.Errorf("finance was told %d times, want 1", len(w.told))
	}
}

func TestRepeatedMessage(t *testing.T) {
	w, b := newWorld()
	for i := range 3 {
		effect, err := b.Trip(t.Context(), cause, began)
		wantEffect(t, effect, err, []Effect{Braked, Already, Already}[i])
	}
	w.wantBraked(t)
	if len(w.told) != 1 {
		t.Errorf("finance was told %d times, want 1", len(w.told))
	}
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantOpen(t)
}

// TestARaisedCeilingIsLoweredAgain: an alarm while the brake is on means that money is
// still being spent.
func TestARaisedCeilingIsLoweredAgain(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	w.ceilings["external"] = 50
	effect, err := b.Trip(t.Context(), cause, w.now())
	wantEffect(t, effect, err, Already)
	w.wantBraked(t)
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantOpen(t)
}

func trip(t *testing.T, b *Brake) {
	t.Helper()
	if _, err := b.Trip(t.Context(), cause, b.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestOldMessagesHaveNoEffectAfterARelease(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	effect, err := b.Trip(t.Context(), cause, began)
	wantEffect(t, effect, err, Stale)
	w.wantOpen(t)
	effect, err = b.Trip(t.Context(), cause, w.now())
	wantEffect(t, effect, err, Braked)
	w.wantBraked(t)
	if len(w.told) != 2 {
		t.Errorf("finance was told %d times, want 2", len(w.told))
	}
}

// TestALateRunsZeroIsNotRemembered: soon after a release, a ceiling of 0 may be the work of
// a run that started before it; later on, somebody declared it.
func TestALateRunsZeroIsNotRemembered(t *testing.T) {
	for after, want := range map[time.Duration]int{time.Minute: 5, time.Hour: 0} {
		w, b := newWorld()
		trip(t, b)
		if _, err := b.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.ceilings["external"] = 0
		clock := b.Now
		b.Now = func() time.Time { return clock().Add(after) }
		trip(t, b)
		w.wantBraked(t)
		if _, err := b.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.ceilings["external"]; got != want {
			t.Errorf("%s after the release: external has %d, want %d", after, got, want)
		}
	}
}

func TestReleasedElsewhere(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	w.reset()
	w.ceilings["mcp"] = 3 // with another value
	status, err := b.Status(t.Context())
	if err != nil || status.On || status.State != ReleasedElsewhere {
		t.Errorf("status %+v, %v", status, err)
	}
	effect, err := b.Trip(t.Context(), cause, began)
	wantEffect(t, effect, err, Stale) // a redelivery of the message that put it on
	effect, err = b.Trip(t.Context(), cause, w.now())
	wantEffect(t, effect, err, Braked)
	w.wantBraked(t)
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.ceilings["mcp"] != 3 {
		t.Errorf("mcp has %d, want the 3 that it was given meanwhile", w.ceilings["mcp"])
	}
}

func TestReleaseLeavesWhatOthersChanged(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	w.ceilings["external"], w.own["GET /calendar"] = 9, Throttle{7, 7}
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := before()
	want["external"] = 9
	if !maps.Equal(w.ceilings, want) {
		t.Errorf("ceilings %v, want %v", w.ceilings, want)
	}
	if w.own["GET /calendar"] != (Throttle{7, 7}) {
		t.Errorf("the throttle that somebody changed is %v", w.own["GET /calendar"])
	}
}

var errDown = errors.New("down")

// TestEveryHalfDoneRunIsCompleted kills a run at each of its calls in turn, then repeats it.
func TestEveryHalfDoneRunIsCompleted(t *testing.T) {
	for _, command := range []string{"trip", "release"} {
		for dies := 0; ; dies++ {
			w, b := newWorld()
			run := func() error { _, err := b.Trip(t.Context(), cause, began); return err }
			if command == "release" {
				trip(t, b)
				run = func() error { _, err := b.Release(t.Context()); return err }
			}
			n, at := 0, ""
			w.fail = func(call string) error {
				if n++; n > dies {
					if at == "" {
						at = call
					}
					return errDown
				}
				return nil
			}
			failed := run()
			w.fail = nil
			if at == "" {
				break // the run finished before that call
			}
			if !errors.Is(failed, errDown) {
				t.Errorf("%s dead at call %d, %s: %v", command, dies, at, failed)
			}
			w.clock = w.clock.Add(time.Minute) // Lambda retries after a minute
			if err := run(); err != nil {
				t.Errorf("%s dead at call %d, %s, then repeated: %v", command, dies, at, err)
			}
			if command == "release" {
				w.wantOpen(t)
				continue
			}
			w.wantBraked(t)
			// The announcement may have been sent but not recorded.
			if len(w.told) != 1 && !(len(w.told) == 2 && strings.HasPrefix(at, "save")) {
				t.Errorf("dead at call %d, %s: finance was told %d times", dies, at, len(w.told))
			}
			if _, err := b.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.wantOpen(t)
		}
	}
}

// TestOneCallFails lets exactly one call fail, each in turn, and everything after it succeed:
// the run must say so, or a brake that stopped only half would look like one that is on.
func TestOneCallFails(t *testing.T) {
	for _, command := range []string{"trip", "release", "again"} {
		for fails := 0; ; fails++ {
			w, b := newWorld()
			run := func() error { _, err := b.Trip(t.Context(), cause, w.now()); return err }
			if command != "trip" {
				trip(t, b)
			}
			if command == "release" {
				run = func() error { _, err := b.Release(t.Context()); return err }
			}
			n, at := 0, ""
			w.fail = func(call string) error {
				if n++; n == fails+1 {
					at = call
					return errDown
				}
				return nil
			}
			failed := run()
			w.fail = nil
			if at == "" {
				break // the run has fewer calls
			}
			if !errors.Is(failed, errDown) {
				t.Errorf("%s, %s fails: %v, and it does not say so", command, at, failed)
			}
			w.clock = w.clock.Add(time.Minute)
			if err := run(); err != nil {
				t.Errorf("%s, %s failed, then repeated: %v", command, at, err)
			}
			if command == "release" {
				w.wantOpen(t)
			} else {
				w.wantBraked(t)
			}
			if want := map[bool]int{true: 1, false: 0}[command == "release"]; w.rearmed < want {
				t.Errorf("%s, %s failed: the alarms are not armed again", command, at)
			}
			if t.Failed() {
				t.Fatalf("calls %q", w.calls)
			}
		}
	}
}

// TestADeletedFunctionStopsNothing: neither the brake nor its release waits for a function that
// was deleted meanwhile.
func TestADeletedFunctionStopsNothing(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	delete(w.ceilings, "calendar")
	effect, err := b.Trip(t.Context(), cause, w.now())
	wantEffect(t, effect, err, Already)
	effect, err = b.Release(t.Context())
	wantEffect(t, effect, err, Released)
	want := before()
	delete(want, "calendar")
	if !maps.Equal(w.ceilings, want) || w.braked {
		t.Errorf("braked %t, ceilings %v, want %v", w.braked, w.ceilings, want)
	}
}

// TestOneFunctionCantBeStopped: all else is stopped, its methods too, finance is notified, and a
// repetition completes it.
func TestOneFunctionCantBeStopped(t *testing.T) {
	w, b := newWorld()
	w.fail = func(call string) error {
		if call == "set calendar 0" {
			return errDown
		}
		return nil
	}
	if _, err := b.Trip(t.Context(), cause, began); !errors.Is(err, errDown) || !strings.Contains(err.Error(), "calendar") {
		t.Errorf("error %v; want one that names calendar, so that the message is repeated", err)
	}
	if !w.braked || w.ceilings["external"] != 0 || w.ceilings["mcp"] != 0 || w.own["GET /calendar"] != (Throttle{}) {
		t.Errorf("braked %t, ceilings %v, throttles %v; want all else stopped", w.braked, w.ceilings, w.own)
	}
	if len(w.told) != 1 || !strings.Contains(w.told[0], "stop calendar: down") || !strings.Contains(w.told[0], "something could not be stopped") {
		t.Errorf("finance was told %q", w.told)
	}
	w.fail = nil
	effect, err := b.Trip(t.Context(), cause, began)
	wantEffect(t, effect, err, Completed)
	w.wantBraked(t)
	if len(w.told) != 1 {
		t.Errorf("finance was told %d times, want 1", len(w.told))
	}
}

// TestMessagesAtOnce: however many messages arrive together, the ceilings are remembered.
func TestMessagesAtOnce(t *testing.T) {
	for range 50 {
		w, b := newWorld()
		together(8, func(int) {
			if _, err := b.Trip(context.Background(), cause, began); err != nil {
				t.Error(err)
			}
		})
		w.wantBraked(t)
		if len(w.told) != 1 {
			t.Errorf("finance was told %d times, want 1", len(w.told))
		}
		if _, err := b.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantOpen(t)
	}
}

// TestTripsAndReleasesAtOnce: whichever wins, ceilings and stage agree with the state, and
// no recorded ceiling is lost.
func TestTripsAndReleasesAtOnce(t *testing.T) {
	for range 200 {
		w, b := newWorld()
		together(6, func(i int) {
			var err error
			if i%2 == 0 {
				_, err = b.Trip(context.Background(), cause, began.Add(time.Hour))
			} else {
				_, err = b.Release(context.Background())
			}
			if err != nil {
				t.Error(err)
			}
		})
		switch w.state.Phase {
		case On:
			w.wantBraked(t)
			if _, err := b.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.wantOpen(t)
		case Off:
			w.wantOpen(t)
		default:
			t.Errorf("left %s", w.state.Phase)
		}
		if t.Failed() {
			t.Fatalf("state %+v after %v", w.state, w.calls)
		}
	}
}

func together(n int, do func(i int)) {
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	done.Wait()
}

// TestALateRunUndoesNothing: a run that stops a function after the brake was released
// restores it.
func TestALateRunUndoesNothing(t *testing.T) {
	w, b := newWorld()
	w.fail = func(call string) error {
		if call != "set calendar 0" {
			return nil
		}
		w.fail = nil // ceilings are recorded, none has been changed yet
		_, err := b.Release(context.Background())
		return err
	}
	if _, err := b.Trip(t.Context(), cause, began); err != nil {
		t.Fatal(err)
	}
	w.wantOpen(t)
	if len(w.told) != 0 {
		t.Errorf("finance was told %q of a brake that is off", w.told)
	}
}

func TestRestartKeepsTheBrakeOverNewCeilings(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	w.reset() // a new process starts with fresh ceilings
	w.ceilings["mcp"] = 3
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantBraked(t)
	if _, err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := before()
	want["mcp"] = 3
	if !maps.Equal(w.ceilings, want) || w.braked {
		t.Errorf("ceilings %v, want %v", w.ceilings, want)
	}
	if err := b.Restart(t.Context()); err != nil || w.braked || len(w.told) != 1 {
		t.Errorf("restarted without a brake: %v, braked %t, told %d times", err, w.braked, len(w.told))
	}
}

// TestOffline: what is wanted while the service does not run, it does when it starts.
func TestOffline(t *testing.T) {
	w, b := newWorld()
	o := Offline{Memory: w, Now: w.now}
	want := func(state string, on bool) {
		t.Helper()
		if s, err := o.Status(t.Context()); err != nil || s.State != state || s.On != on {
			t.Errorf("%+v, %v; want %s, on %t", s, err, state, on)
		}
	}
	want("off", false)
	for range 2 { // the second one changes nothing
		if err := o.On(t.Context(), ByHand("drill")); err != nil {
			t.Fatal(err)
		}
		want("braking", true)
	}
	if w.state.Version != 1 {
		t.Errorf("asked for again, it was put on anew: %+v", w.state)
	}
	if w.braked {
		t.Error("asking alone braked")
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantBraked(t)
	if len(w.told) != 1 || !strings.Contains(w.told[0], "Put on by hand: drill") {
		t.Errorf("finance was told %q", w.told)
	}
	asked := w.state
	if err := o.On(t.Context(), ByHand("again")); err != nil || !reflect.DeepEqual(w.state, asked) {
		t.Errorf("asked for while it is on: %v, %+v, before %+v", err, w.state, asked)
	}
	if s, err := o.Status(t.Context()); err != nil || len(s.Functions) != 4 || optional(s.Functions[1].Before) != "5" || s.Functions[1].Now != nil {
		t.Errorf("%+v, %v; want what each function had", s, err)
	}
	for range 2 {
		if err := o.Off(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("off", false)
	}
	if w.state.Version != asked.Version+1 {
		t.Errorf("released twice: version %d after %d", w.state.Version, asked.Version)
	}
	for name, do := range map[string]func() error{
		"on":     func() error { return o.On(t.Context(), cause) },
		"status": func() error { _, err := o.Status(t.Context()); return err },
	} {
		w.fail = func(call string) error {
			if call == "load" {
				return errDown
			}
			return nil
		}
		if err := do(); !errors.Is(err, errDown) {
			t.Errorf("%s without a state: %v", name, err)
		}
	}
	for _, c := range []struct{ fails, want error }{{ErrChanged, errRaces}, {errDown, errDown}} {
		w.fail = func(call string) error {
			if strings.HasPrefix(call, "save") {
				return c.fails
			}
			return nil
		}
		if err := o.On(t.Context(), cause); !errors.Is(err, c.want) {
			t.Errorf("saving fails with %v: %v", c.fails, err)
		}
	}
	w.fail = nil
	w.reset() // the service starts with what it is configured with
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantOpen(t)
	if effect, err := b.Trip(t.Context(), cause, began); err != nil || effect != Stale {
		t.Errorf("a message from before the release: %s, %v", effect, err)
	}
}

func TestStatus(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	status, err := b.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range status.Functions {
		got = append(got, f.Name+" "+optional(f.Before)+" "+optional(f.Now))
	}
	want := []string{"calendar -1 0", "external 5 0", "gone - -", "mcp -1 0", "postal 0 0"}
	if methods := []string{"GET /calendar", "GET /off", "GET /postal", "POST /mcp"}; !slices.Equal(status.Methods, methods) {
		t.Errorf("stopped methods %q, want %q", status.Methods, methods)
	}
	if !status.On || status.State != "on" || status.Why != cause.Text || status.Since == nil || !slices.Equal(got, want) {
		t.Errorf("status %+v with %q, want %q", status, got, want)
	}
	for _, call := range []string{"load", "read stage", "read mcp", "read throttles"} {
		w.fail = func(c string) error {
			if c == call {
				return errDown
			}
			return nil
		}
		if _, err := b.Status(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("%s fails: %v", call, err)
		}
	}
}

// TestDescribe: the state in words, from what was recorded and what callers are told.
func TestDescribe(t *testing.T) {
	released := State{ReleasedAt: began, Previous: map[string]int{"mcp": 3}}
	on := State{Phase: On, Since: began, Cause: cause, Previous: map[string]int{"mcp": 3}}
	for _, c := range []struct {
		state                     State
		live                      bool
		words, why                string
		since, releasedAt, before bool
	}{
		{State{}, false, "off", "", false, false, false},
		{released, false, "off", "", false, true, false},
		{State{}, true, "on", "The stage variables say so, but no reason was recorded.", false, false, false},
		{on, true, "on", cause.Text, true, false, true},
		{on, false, ReleasedElsewhere, cause.Text, true, false, true},
		{State{Phase: Braking, Cause: cause}, false, "braking", cause.Text, true, false, false},
	} {
		s := c.state.Describe(c.live)
		if s.On != c.live || s.State != c.words || s.Why != c.why || (s.Since != nil) != c.since || (s.ReleasedAt != nil) != c.releasedAt {
			t.Errorf("%+v, live %t: %+v, want %+v", c.state, c.live, s, c)
		}
		if (c.state.before("mcp") != nil) != c.before {
			t.Errorf("%+v: before %v", c.state, c.state.before("mcp"))
		}
	}
	if StateName(true) != "braked" || StateName(false) != "open" || ByHand("").Text != "Put on by hand, with sekisho brake on." {
		t.Errorf("%s, %s, %q", StateName(true), StateName(false), ByHand("").Text)
	}
}

func optional(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// TestSays: the stage says "braked" when all variables of that state do, whatever others it has.
func TestSays(t *testing.T) {
	states := map[string]map[string]string{"braked": {"a": "1", "b": "2"}, "open": {"a": "0", "b": "0"}}
	for _, c := range []struct {
		live map[string]string
		want bool
	}{
		{map[string]string{"a": "1", "b": "2", "own": "x"}, true}, {map[string]string{"a": "1", "b": "0"}, false}, {map[string]string{"a": "0", "b": "2"}, false}, {nil, false},
	} {
		if got := Says(c.live, states); got != c.want {
			t.Errorf("%v: %t", c.live, got)
		}
	}
	if Says(map[string]string{"a": "1"}, nil) || !Says(map[string]string{"a": "1"}, map[string]map[string]string{"braked": {"a": "1"}}) {
		t.Error("a contract without the states is never braked, and one variable is enough")
	}
}

// TestMessageToFinance compares the announcement with the recorded one.
func TestMessageToFinance(t *testing.T) {
	w, b := newWorld()
	trip(t, b)
	golden(t, "announcement.txt", w.told[0])
}
