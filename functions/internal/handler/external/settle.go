package external

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
)

// reserve is what an upstream call leaves of the function's time: enough to settle the
// day's place and to write the answer.
const reserve = time.Second

// settle uses the place up after a success and gives it back after a failure. A call that
// may have published keeps it: the place then lapses by itself, see ratelimit.DefaultLease.
// The caller gets its answer even if this fails, as it asked about the publication.
func (h *Handler) settle(ctx context.Context, place *ratelimit.Reservation, err error) {
	var failed *outbound.Error
	if errors.As(err, &failed) && failed.MayHaveHappened {
		return
	}
	// The caller may have gone; the place must not go with it. A busy store gets all the
	// time that the function still has.
	limit := reserve
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(limit, time.Until(deadline))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	finish, what := place.Release, "release"
	if err == nil {
		finish, what = place.Commit, "commit"
	}
	if err := finish(ctx); err != nil {
		h.Log.Error("the place in the daily quota was not settled and lapses by itself", zap.String("meant", what), zap.Error(err))
	}
}
