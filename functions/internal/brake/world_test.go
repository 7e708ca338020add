package brake

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"
)

// world is an in-memory service whose calls can be made to fail.
type world struct {
	mu       sync.Mutex
	state    State
	ceilings map[string]int
	own      map[string]Throttle // what methods have of their own
	braked   bool
	held     bool // deploys leave the brake on
	rearmed  int
	told     []string
	clock    time.Time
	calls    []string
	fail     func(call string) error // nil: nothing fails
}

func (w *world) call(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	w.mu.Lock()
	w.calls = append(w.calls, call)
	fail := w.fail
	w.mu.Unlock()
	if fail != nil {
		return fail(call)
	}
	return nil
}

func (w *world) Load(context.Context) (State, error) {
	if err := w.call("load"); err != nil {
		return State{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	return s.clone(), nil
}

func (s State) clone() State {
	s.Previous, s.Throttles = maps.Clone(s.Previous), maps.Clone(s.Throttles)
	return s
}

func (w *world) Save(_ context.Context, s State) (State, error) {
	if err := w.call("save %s", s.Phase); err != nil {
		return s, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Version != w.state.Version {
		return s, ErrChanged
	}
	s.Version++
	w.state = s.clone()
	return s, nil
}

func (w *world) Reserved(_ context.Context, function string) (int, error) {
	if err := w.call("read %s", function); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.ceilings[function]
	if !ok {
		return 0, ErrNoFunction
	}
	return n, nil
}

func (w *world) SetReserved(_ context.Context, function string, n int) error {
	if err := w.call("set %s %d", function, n); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.ceilings[function]; !ok {
		return ErrNoFunction
	}
	w.ceilings[function] = n
	return nil
}

func (w *world) Braked(context.Context) (bool, error) {
	if err := w.call("read stage"); err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.braked, nil
}

func (w *world) Throttles(context.Context) (map[string]Throttle, error) {
	if err := w.call("read throttles"); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.own), nil
}

func (w *world) Set(_ context.Context, braked bool, throttles map[string]*Throttle) error {
	if err := w.call("set stage %t", braked); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.braked = braked
	for method, t := range throttles {
		if delete(w.own, method); t != nil {
			w.own[method] = *t
		}
	}
	return nil
}

func (w *world) Hold(_ context.Context, on bool) error {
	if err := w.call("hold %t", on); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = on
	return nil
}

func (w *world) Rearm(context.Context) error {
	if err := w.call("rearm"); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rearmed++
	return nil
}

func (w *world) Announce(_ context.Context, subject, text string) error {
	if err := w.call("tell"); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, subject+"\n"+text)
	return nil
}

// now moves the clock on by a second each time.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(time.Second)
	return w.clock
}

var began = time.Date(2026, 11, 30, 7, 41, 0, 0, time.UTC)

// before is a mix of ceilings. The brake doesn't stop the authorizer.
func before() map[string]int {
	return map[string]int{"calendar": Unreserved, "external": 5, "mcp": Unreserved, "postal": 0, "authorizer": 7}
}

// ownBefore are the methods' own throttles: one of a method that the brake stops, one of a
// method that was off already, and one of a method that it leaves alone.
func ownBefore() map[string]Throttle {
	return map[string]Throttle{"GET /postal": {Rate: 2.5, Burst: 5}, "GET /off": {}, "GET /health": {Rate: 1, Burst: 2}}
}

func newWorld() (*world, *Brake) {
	w := &world{ceilings: before(), own: ownBefore(), clock: began}
	return w, &Brake{
		Name: "demo", Functions: []string{"calendar", "external", "gone", "mcp", "postal"},
		Methods:        []string{"GET /calendar", "GET /off", "GET /postal", "POST /mcp"},
		ReleaseCommand: "sekisho brake off --function demo-brake",
		Memory:         w, Ceilings: w, Stage: w, Alarms: w, Deploys: w, Announcer: w, Now: w.now,
	}
}

var cause = Cause{Name: "demo-spend-rate", Text: "Alarm demo-spend-rate. 2.31 > 1."}

func (w *world) wantBraked(t *testing.T) {
	t.Helper()
	want := map[string]int{"calendar": 0, "external": 0, "mcp": 0, "postal": 0, "authorizer": 7}
	if !w.braked || !w.held || !maps.Equal(w.ceilings, want) {
		t.Errorf("braked %t, deploys held %t, ceilings %v; want true, true and %v", w.braked, w.held, w.ceilings, want)
	}
	if want := map[string]Throttle{"GET /calendar": {}, "GET /off": {}, "GET /postal": {}, "POST /mcp": {}, "GET /health": {1, 2}}; !maps.Equal(w.own, want) {
		t.Errorf("throttles %v, want %v", w.own, want)
	}
}

func (w *world) wantOpen(t *testing.T) {
	t.Helper()
	if w.braked || w.held || !maps.Equal(w.ceilings, before()) {
		t.Errorf("braked %t, deploys held %t, ceilings %v; want false, false and %v", w.braked, w.held, w.ceilings, before())
	}
	if !maps.Equal(w.own, ownBefore()) {
		t.Errorf("throttles %v, want %v", w.own, ownBefore())
	}
}

// reset restores the declared values, as a new process does, or somebody by hand.
func (w *world) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.braked, w.held, w.ceilings, w.own = false, false, before(), ownBefore()
}
