package boot

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
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

// typed is what a stream of a function is, with a field that would encode as JSON.
type typed struct{ io.ReadCloser }

func (typed) ContentType() string { return "text/plain" }

// TestHandler: aws-lambda-go takes both kinds, and sends a stream as it is.
func TestHandler(t *testing.T) {
	plain := invokerFunc(func(context.Context, []byte) ([]byte, error) { return []byte("whole"), nil })
	stream := HandleStream(plain, func(_ context.Context, payload []byte) (typed, error) {
		if string(payload) == `"bad"` {
			return typed{}, errors.New("bad")
		}
		return typed{io.NopCloser(strings.NewReader("as it is: " + string(payload)))}, nil
	})
	for _, c := range []struct {
		invoker       Invoker
		payload, want string
	}{
		{plain, `{}`, "whole"}, {stream, `{"a":1}`, `as it is: {"a":1}`}, {stream, `"bad"`, "bad"},
	} {
		got, err := lambda.NewHandler(handler(c.invoker)).Invoke(t.Context(), []byte(c.payload))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.payload, got, c.want)
		}
	}
}
