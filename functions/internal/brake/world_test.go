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
	braked   bool
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
	s.Previous = maps.Clone(s.Previous)
	return s, nil
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
	w.state = s
	w.state.Previous = maps.Clone(s.Previous)
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

func (w *world) SetBraked(_ context.Context, on bool) error {
	if err := w.call("set stage %t", on); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.braked = on
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

func newWorld() (*world, *Brake) {
	w := &world{ceilings: before(), clock: began}
	return w, &Brake{
		Name: "demo", Functions: []string{"calendar", "external", "gone", "mcp", "postal"},
		ReleaseCommand: "sekisho brake off --function demo-brake",
		Memory:         w, Ceilings: w, Switch: w, Announcer: w, Now: w.now,
	}
}

var cause = Cause{Name: "demo-spend-rate", Text: "Alarm demo-spend-rate. 2.31 > 1."}

func (w *world) wantBraked(t *testing.T) {
	t.Helper()
	want := map[string]int{"calendar": 0, "external": 0, "mcp": 0, "postal": 0, "authorizer": 7}
	if !w.braked || !maps.Equal(w.ceilings, want) {
		t.Errorf("braked %t, ceilings %v; want true and %v", w.braked, w.ceilings, want)
	}
}

func (w *world) wantOpen(t *testing.T) {
	t.Helper()
	if w.braked || !maps.Equal(w.ceilings, before()) {
		t.Errorf("braked %t, ceilings %v; want false and %v", w.braked, w.ceilings, before())
	}
}

// apply restores the declared values, as `terraform apply` does.
func (w *world) apply() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.braked, w.ceilings = false, before()
}
