package boot

import (
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
	lambda.Start(invoker)
}

// start builds the function. Its log lines go to w.
func (b Build) start(function string, env Env, w io.Writer, now func() time.Time) (Invoker, error) {
	log, err := NewLogger(env, function, w)
	if err != nil {
		return nil, err
	}
	return b(Runtime{Function: function, Env: env, Log: log, Now: now})
}
