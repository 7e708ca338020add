package boot

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What Main builds a function with is its own environment, clock and log.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		env := Map(map[string]string{LogLevel: "warn", Stage: "prod"})
		built := invokerFunc(nil)
		var rt Runtime
		got, err := Build(func(r Runtime) (Invoker, error) { rt = r; return built, nil }).start("settle", env, &log, time.Now)
		if err != nil || got == nil {
			t.Fatalf("%v, %v", got, err)
		}
		if rt.Function != "settle" || rt.Env(Stage) != "prod" || !rt.Now().Equal(time.Now()) {
			t.Errorf("built with %+v", rt)
		}
		rt.Log.Info("unheard")
		rt.Log.Warn("heard")
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"function":"settle"`) {
			t.Errorf("logged %q, want one line that names the function", text)
		}
	})
}

func TestStartFails(t *testing.T) {
	broken := errors.New("no table")
	build := Build(func(Runtime) (Invoker, error) { return nil, broken })
	if _, err := build.start("settle", Map(nil), &strings.Builder{}, time.Now); !errors.Is(err, broken) {
		t.Errorf("%v, want what the build says", err)
	}
	if _, err := build.start("settle", Map(map[string]string{LogLevel: "loud"}), &strings.Builder{}, time.Now); err == nil || !strings.Contains(err.Error(), LogLevel) {
		t.Errorf("%v, want an error that names %s", err, LogLevel)
	}
}
