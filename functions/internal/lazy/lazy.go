// Package lazy leaves work undone at a program's start that may never be needed. A function that
// starts imports much more than it uses, and its first caller waits for all of it.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression, which must be valid, when it is first asked for.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
