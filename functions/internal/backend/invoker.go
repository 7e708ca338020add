package backend

import (
	"context"
	"errors"
)

// Invoker invokes one function of somebody else's, once: whether to try again is not for it to
// decide. Beside the errors below it returns that of ctx, or one after which nobody knows
// whether the function ran.
type Invoker interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// ErrBusy: the function has no free instance, and didn't run.
var ErrBusy = errors.New("the function is throttled")

// NotInvokedError: the function can't be invoked as configured, and didn't run.
type NotInvokedError struct{ Err error }

func (e *NotInvokedError) Error() string { return "the function can't be invoked: " + e.Err.Error() }
func (e *NotInvokedError) Unwrap() error { return e.Err }

// FailedError: the function ran and failed, or ran out of time or memory.
type FailedError struct {
	// Type is the runtime's word for it, such as Runtime.ExitError.
	Type string
}

func (e *FailedError) Error() string { return "the function failed: " + e.Type }
