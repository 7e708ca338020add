package external

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// call asks the upstream and notes in the log line what that took. A refusal of the token is
// tried again only if the token has changed meanwhile, and with what is left of the attempts.
func (h *Handler) call(ctx context.Context, call rest.Call, r outbound.Request) (Object, error) {
	var tally outbound.Tally
	r.Observe, r.Gate = tally.Observe, h.Bucket.Wait
	var answer Object
	token, err := h.Token.Get(ctx)
	if err == nil {
		answer, err = h.send(ctx, r, token)
	}
	if left := tally.Left(); refused(err) && left > 0 {
		if renewed, ok := h.Token.Renew(ctx, token); ok {
			r.Attempts = left
			answer, err = h.send(ctx, r, renewed)
		}
	}
	note(call, h.Base.Host, &tally, err)
	return answer, err
}

func (h *Handler) send(ctx context.Context, r outbound.Request, token string) (Object, error) {
	r.Token = token
	return outbound.Do(ctx, h.Client, r, func(resp outbound.Response) (Object, error) {
		if resp.Write {
			return written(resp), nil
		}
		return read(resp)
	})
}

// read is what an answer to a read must be: a JSON object, or a status that says that there
// is nothing to read, such as 204.
func read(resp outbound.Response) (Object, error) {
	answer, err := outbound.JSON[Object](resp)
	if err == nil && answer == nil {
		if resp.Status == http.StatusOK {
			return nil, errors.New("null where a JSON object was expected")
		}
		answer = Object{}
	}
	return answer, err
}

// refused: 401 and nothing else. A 403 refuses the call, not the token.
func refused(err error) bool {
	var e *outbound.Error
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}

func note(call rest.Call, upstream string, tally *outbound.Tally, err error) {
	call.Note(zap.String("upstream", upstream))
	call.Note(zap.Int("attempts", tally.Attempts))
	call.Note(zap.Int("retries", tally.Retries))
	call.Note(zap.Int64("waited_ms", tally.Waited.Milliseconds()))
	var e *outbound.Error
	if errors.As(err, &e) {
		call.Note(zap.String("upstream_failure", string(e.Reason)))
		call.Note(zap.String("stopped", string(e.Stop)))
		call.Note(zap.Int("upstream_status", e.Status))
	}
}

// asProblem puts a failure in the terms of the API. The cause stays with it, for the log.
func asProblem(err error) error {
	var p *problem.Problem
	var quota *ratelimit.QuotaError
	var call *outbound.Error
	switch {
	case errors.As(err, &p):
		return err
	case errors.As(err, &quota):
		p = problem.DailyLimit(problem.Quota{
			Limit: int64(quota.Limit), Used: int64(quota.Used), ResetAt: usage.FormatReset(quota.ResetAt),
		}, quota.RetryAfter())
	case errors.As(err, &call):
		return upstreamProblem(outbound.Advise(call)) // its text can quote the upstream; note has the reason
	default:
		p = problem.New(problem.StoreUnavailable, "")
	}
	return fmt.Errorf("%w: %w", p, err)
}
