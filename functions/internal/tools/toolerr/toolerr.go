// Package toolerr is the one error type of the domain tools: what went wrong as
// a machine-readable code, which parameter was at fault, and a message that tells
// an agent what to send instead. It knows nothing of HTTP or MCP.
package toolerr

import (
	"fmt"

	"sekisho/functions/internal/reply"
)

// Code says what kind of mistake was made.
type Code string

const (
	// InvalidArgument: the parameter can't be read or contradicts another one.
	InvalidArgument Code = "invalid_argument"
	// NotFound: the parameter is well formed, but names nothing that exists.
	NotFound Code = "not_found"
	// OutOfRange: the parameter, or the result, lies outside what the data covers.
	OutOfRange Code = "out_of_range"
)

// Error is an answer to the caller, safe to show as it is.
type Error struct {
	Code    Code
	Param   string // name of the parameter at fault, as in the API description
	Message string // what is wrong and what to do, for an agent to read
}

// Error gives the message alone: Param and Code are for machines.
func (e *Error) Error() string { return e.Message }

// Invalid reports a parameter that can't be used as it is.
func Invalid(param, format string, args ...any) error {
	return &Error{Code: InvalidArgument, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Missing reports something that does not exist.
func Missing(param, format string, args ...any) error {
	return &Error{Code: NotFound, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Outside reports a value that the data does not cover.
func Outside(param, format string, args ...any) error {
	return &Error{Code: OutOfRange, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Quote shows in a message what was sent.
func Quote(text string) string { return reply.Quote(text) }
