package relay

import (
	"context"
	"sync"
	"time"

	"sekisho/functions/internal/problem"
)

const (
	// renewEvery is how often at most a refused credential is read again: a backend that
	// refuses every call must not make every call read the parameter.
	renewEvery = time.Minute
	// fetchTimeout bounds one read of a secret; it takes some ten milliseconds.
	fetchTimeout = 3 * time.Second
	// fetchPause is how long a failed read is remembered: the wait that the problem names.
	fetchPause = 5 * time.Second
)

// Secret is a credential or a signing key, read once per instance, by the first call and not at
// start: if it can't be read, the caller gets an error in words, and the instance is there to
// serve the next call.
type Secret struct {
	// Fetch reads it. Its error holds no secret.
	Fetch func(context.Context) (string, error)
	Now   func() time.Time
	// MaxAge is how long one that nobody refuses is used before it is read again; 0 is for ever.
	MaxAge time.Duration

	mu     sync.Mutex
	value  string
	err    error
	readAt time.Time
}

// Get returns the secret, "" of a nil Secret. The error is a problem.
func (s *Secret) Get(ctx context.Context) (string, error) {
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.Now().Sub(s.readAt)
	if s.readAt.IsZero() || s.err != nil && age >= fetchPause || s.MaxAge > 0 && age >= s.MaxAge {
		s.read(ctx)
	}
	return s.value, s.err
}

// Renew is for a credential that the backend refused. It returns another one if there is one by
// now: the parameter may have been changed since it was read.
func (s *Secret) Renew(ctx context.Context, refused string) (string, bool) {
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value == refused && s.Now().Sub(s.readAt) >= renewEvery {
		s.read(ctx)
	}
	return s.value, s.err == nil && s.value != refused
}

// read keeps the value that it has if there is no new one. A caller that goes away must not
// make a failure for all that follow.
func (s *Secret) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	value, err := s.Fetch(ctx)
	s.readAt = s.Now()
	if err == nil {
		s.value, s.err = value, nil
	} else if s.value == "" {
		s.err = &failure{problem.New(problem.UpstreamTokenUnavailable, ""), err}
	}
}
