package lambda

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is an Invoker that takes no notice of its payload.
type handler func(context.Context) (string, error)

func (h handler) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	answer, err := h(ctx)
	return []byte(answer), err
}

func deploy(t *testing.T, functions map[string]Function) *Functions {
	t.Helper()
	fs, err := New(functions, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := fs.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return fs
}

// TestTimeout: the place is free again when the time is up, and what comes too late is thrown
// away.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var stuck atomic.Bool
		stuck.Store(true)
		fs := deploy(t, map[string]Function{"f": {Timeout: 5 * time.Second, Reserved: 1, Handler: handler(func(context.Context) (string, error) {
			if stuck.Load() {
				<-release // deaf to its context
			}
			return "answer", nil
		})}})
		began := time.Now()
		if _, err := fs.Invoke("f", nil, time.Minute); !errors.Is(err, ErrTimedOut) || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		stuck.Store(false)
		if answer, err := fs.Invoke("f", nil, 0); err != nil || string(answer) != "answer" {
			t.Errorf("the place is not free: %s, %v", answer, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := fs.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close does not say that a handler goes on: %v", err)
		}
		close(release)
		synctest.Wait()
		if got := fs.Counts()["f"]; got.Invocations != 2 || got.Errors != 1 || got.Concurrent != 0 {
			t.Errorf("counts %+v", got)
		}
	})
}

// TestInterrupt ends what runs, and nothing else.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := handler(func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Second):
				return "done", nil
			}
		})
		fs := deploy(t, map[string]Function{
			"one": {Handler: waits, Timeout: time.Minute, Reserved: Unreserved}, "other": {Handler: waits, Timeout: time.Minute, Reserved: Unreserved},
		})
		errs := map[string]chan error{"one": make(chan error, 1), "other": make(chan error, 1)}
		for name, err := range errs {
			go func() { _, e := fs.Invoke(name, nil, 0); err <- e }()
		}
		synctest.Wait()
		fs.Interrupt("one")
		if err := <-errs["one"]; !errors.Is(err, ErrTimedOut) {
			t.Errorf("one: %v", err)
		}
		if err := <-errs["other"]; err != nil {
			t.Errorf("other: %v", err)
		}
		if answer, err := fs.Invoke("one", nil, 0); string(answer) != "done" {
			t.Errorf("afterwards: %s, %v", answer, err)
		}
	})
}

// TestReservedConcurrency: exactly n run, the rest is refused at once, without a queue.
func TestReservedConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := deploy(t, map[string]Function{"f": {Reserved: Unreserved, Handler: handler(func(context.Context) (string, error) {
			time.Sleep(time.Second)
			return "", nil
		})}})
		reserve := func(n int) {
			t.Helper()
			if err := fs.SetReserved("f", n); err != nil {
				t.Fatal(err)
			}
		}
		reserve(3)
		results := make(chan error, 20)
		for range 20 {
			go func() { _, err := fs.Invoke("f", nil, 0); results <- err }()
		}
		passed := 0
		for range 20 {
			if err := <-results; err == nil {
				passed++
			} else if !errors.Is(err, ErrThrottled) {
				t.Error(err)
			}
		}
		if got := fs.Counts()["f"]; passed != 3 || got.Throttles != 17 || got.Invocations != 3 {
			t.Errorf("%d passed, counts %+v", passed, got)
		}
		for n, want := range map[int]error{0: ErrThrottled, 1: nil, Unreserved: nil} {
			reserve(n)
			if _, err := fs.Invoke("f", nil, 0); !errors.Is(err, want) {
				t.Errorf("%d reserved: %v, want %v", n, err, want)
			}
		}
		if fs.SetReserved("nothing", 1) == nil || fs.SetReserved("f", -2) == nil {
			t.Error("nonsense is taken")
		}
	})
}

func TestBadFunctions(t *testing.T) {
	ok := handler(func(context.Context) (string, error) { return "", nil })
	for name, f := range map[string]Function{
		"no handler":    {},
		"reserved":      {Handler: ok, Reserved: -2},
		"shared buffer": {Handler: awslambda.NewHandler(func() {})},
	} {
		if _, err := New(map[string]Function{"f": f}, zap.NewNop()); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestFind: a name in AWS is meant exactly where it is known; else the longest own name that
// it ends with.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		deployed map[string]string
		found    map[string]string
	}{
		{map[string]string{"tool": "", "big-tool": ""},
			map[string]string{"tool": "tool", "stack-tool": "tool", "stack-big-tool": "big-tool", "stool": "", "other": "", "": ""}},
		{map[string]string{"tool": "stack-tool", "other": "stack-extra-tool"},
			map[string]string{"stack-tool": "tool", "stack-extra-tool": "other", "other-tool": "", "tool": "", "": ""}},
	} {
		functions := map[string]Function{}
		for own, deployed := range c.deployed {
			functions[own] = Function{DeployedName: deployed, Handler: handler(nil), Reserved: Unreserved}
		}
		fs := deploy(t, functions)
		for name, want := range c.found {
			if got := fs.Find(name); got != want {
				t.Errorf("%v: %q found %q, want %q", fs.Names(), name, got, want)
			}
		}
		if !slices.IsSorted(fs.Names()) || len(fs.Names()) != 2 {
			t.Errorf("names %v", fs.Names())
		}
	}
}
