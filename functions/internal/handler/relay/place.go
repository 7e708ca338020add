package relay

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
)

// reserveTime is what a call leaves of the function's time: enough to settle the day's place and to
// write the answer.
const reserveTime = time.Second

// reserve takes a place in the operation's day; nil where its days aren't limited.
func (h *Handler) reserve(ctx context.Context, op *contract.Operation) (*ratelimit.Reservation, error) {
	daily := h.PerDay[op.ID]
	if daily == nil {
		return nil, nil
	}
	return daily.Reserve(ctx)
}

// settle uses the place up after a success and gives it back after a failure. A call that may
// have taken effect keeps it: the place then lapses by itself, see ratelimit.DefaultLease. The
// caller gets its answer even if this fails, as it asked about the call.
func (h *Handler) settle(ctx context.Context, place *ratelimit.Reservation, err error) {
	var failed *outbound.Error
	if place == nil || errors.As(err, &failed) && failed.MayHaveHappened {
		return
	}
	// The caller may have gone; the place must not go with it. A busy store gets all the
	// time that the function still has.
	limit := reserveTime
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
