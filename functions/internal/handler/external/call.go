package external

import (
	"bytes"
	"context"
	"encoding/json"
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

// call asks the upstream and notes what it took in the log line. A refusal of the token is
// tried again only if the token has changed meanwhile.
func (h *Handler) call(ctx context.Context, call rest.Call, r outbound.Request) (Object, error) {
	var tally outbound.Tally
	r.Observe, r.Gate = tally.Observe, h.Bucket.Wait
	var answer Object
	token, err := h.Token.Get(ctx)
	if err == nil {
		answer, err = h.send(ctx, r, token)
	}
	if refused(err) {
		if renewed, ok := h.Token.Renew(ctx, token); ok {
			answer, err = h.send(ctx, r, renewed)
		}
	}
	note(call, h.Base.Host, &tally, err)
	return answer, err
}

func (h *Handler) send(ctx context.Context, r outbound.Request, token string) (Object, error) {
	r.Token = token
	return outbound.Do(ctx, h.Client, r, func(resp outbound.Response) (Object, error) {
		resp.Body = withoutToken(resp.Body, token)
		answer, err := outbound.JSON[Object](resp)
		if err == nil && answer == nil {
			if resp.Status == http.StatusOK {
				return nil, errors.New("null where a JSON object was expected")
			}
			answer = Object{} // a status that says it all, such as 204
		}
		return answer, err
	})
}

// withoutToken takes the token out of an answer that repeats what it was sent.
func withoutToken(body []byte, token string) []byte {
	if token == "" {
		return body
	}
	removed := []byte("[removed]")
	body = bytes.ReplaceAll(body, []byte(token), removed)
	if quoted, err := json.Marshal(token); err == nil {
		body = bytes.ReplaceAll(body, quoted[1:len(quoted)-1], removed)
	}
	return body
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

// asProblem says what failed in the terms of the API. The cause stays with it, for the log.
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
