package external

import (
	"context"
	"sync"
	"time"

	"sekisho/functions/internal/problem"
)

const (
	// renewEvery is how often at most a refused token is read again: an upstream that
	// refuses every call must not make every call read the parameter.
	renewEvery = time.Minute
	// fetchTimeout bounds one read of the token; it takes some ten milliseconds.
	fetchTimeout = 3 * time.Second
	// fetchPause is how long a failed read is remembered: the wait that the problem names.
	fetchPause = 5 * time.Second
)

// Token is the upstream's token, read once per instance, by the first call and not at start:
// if the parameter can't be read, the caller gets an error in words, and the instance is
// there to serve the next call.
type Token struct {
	// Fetch reads it. Its error holds no secret.
	Fetch func(context.Context) (string, error)
	Now   func() time.Time

	mu     sync.Mutex
	value  string
	err    error
	readAt time.Time
}

// Get returns the token, "" of a nil Token. The error is a problem.
func (t *Token) Get(ctx context.Context) (string, error) {
	if t == nil {
		return "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.readAt.IsZero() || t.err != nil && t.Now().Sub(t.readAt) >= fetchPause {
		t.read(ctx)
	}
	return t.value, t.err
}

// Renew is for a token that the upstream refused. It returns another one if there is one by
// now: the parameter may have been changed since it was read.
func (t *Token) Renew(ctx context.Context, refused string) (string, bool) {
	if t == nil {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == refused && t.Now().Sub(t.readAt) >= renewEvery {
		t.read(ctx)
	}
	return t.value, t.err == nil && t.value != refused
}

// read keeps the value that it has if there is no new one. A caller that goes away must not
// make a failure for all that follow.
func (t *Token) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	value, err := t.Fetch(ctx)
	t.readAt = t.Now()
	if err == nil {
		t.value, t.err = value, nil
	} else if t.value == "" {
		t.err = &tokenError{problem.New(problem.UpstreamTokenUnavailable, ""), err}
	}
}

// tokenError is what the caller reads, with the cause for the log.
type tokenError struct {
	problem *problem.Problem
	cause   error
}

func (e *tokenError) Error() string   { return e.problem.Error() + ": " + e.cause.Error() }
func (e *tokenError) Unwrap() []error { return []error{e.problem, e.cause} }
