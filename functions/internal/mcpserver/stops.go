package mcpserver

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/problem"
)

// brakeCache is how old what this server knows of the brake can be. While nothing is stopped it
// asks nothing: the brake is noticed by the first call that it stops.
const brakeCache = 10 * time.Second

// stops knows which functions the brake has stopped. It is safe for concurrent use.
type stops struct {
	ask func(context.Context) (bool, error)
	now func() time.Time

	mu    sync.Mutex
	on    bool
	asked time.Time
	// until is how long a function is taken to be stopped.
	until map[string]time.Time
}

func newStops(ask func(context.Context) (bool, error), now func() time.Time) *stops {
	return &stops{ask: ask, now: now, until: map[string]time.Time{}}
}

// stopped says that a call of the function would not start, so that nothing need be taken for it.
func (s *stops) stopped(function string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Before(s.until[function])
}

// why says why a function could not be started: the brake has stopped it, or it is busy.
func (s *stops) why(ctx context.Context, function string, log *zap.Logger) problem.Code {
	if !s.braked(ctx, log) {
		return problem.Unavailable
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until[function] = s.asked.Add(brakeCache)
	return problem.Braked
}

// braked says whether the brake is on. If nobody can tell, it is taken to be off: a busy function
// is worth another try.
func (s *stops) braked(ctx context.Context, log *zap.Logger) bool {
	if s.ask == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.asked.IsZero() || now.Sub(s.asked) >= brakeCache {
		on, err := s.ask(ctx)
		if err != nil {
			log.Warn("the brake's state could not be read", zap.Error(err))
		}
		s.on, s.asked = on && err == nil, now
	}
	return s.on
}
