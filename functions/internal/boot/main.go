package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"go.uber.org/zap"
)

// Runtime is what a function is built with, in Lambda and on a laptop.
type Runtime struct {
	// Function is its name in the contract.
	Function string
	Env      Env
	Log      *zap.Logger
	Now      func() time.Time
}

// Build makes a function's Invoker. What differs between deployments, such as the store, is
// given to whatever makes the Build.
type Build func(Runtime) (Invoker, error)

// Main serves a function in Lambda until the instance ends. Only here does a function read
// the environment of its process, and exit.
func Main(function string, build Build) {
	invoker, err := build.start(function, os.Getenv, os.Stdout, time.Now)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", function, err)
		os.Exit(1)
	}
	lambda.Start(handler(invoker))
}

// handler is what lambda.Start takes: an Invoker with nothing around it, or a function whose
// reader is sent while it is read.
func handler(i Invoker) any {
	s, ok := i.(Streamer)
	if !ok {
		return i
	}
	return func(ctx context.Context, payload json.RawMessage) (opaque, error) {
		stream, err := s.Stream(ctx, payload)
		return opaque{stream}, err
	}
}

// opaque is no JSON: aws-lambda-go sends what encodes as JSON in that form, readers too.
type opaque struct{ Stream }

func (opaque) MarshalJSON() ([]byte, error) { return nil, errors.New("a stream has no JSON") }

// start builds the function. Its log lines go to w.
func (b Build) start(function string, env Env, w io.Writer, now func() time.Time) (Invoker, error) {
	log, err := NewLogger(env, function, w)
	if err != nil {
		return nil, err
	}
	return b(Runtime{Function: function, Env: env, Log: log, Now: now})
}
