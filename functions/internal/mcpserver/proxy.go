package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/trace"
)

// proxy makes each call a request to the REST API with the caller's key, so that it passes the
// same authorizer as a direct call. Nothing is metered here.
type proxy struct{ *server }

// call makes one request. (net/http itself may send a GET again when a kept connection turns out
// to be closed before a byte of the answer came.) The access log has a record of it, in which only the
// caller's trace is missing.
func (d proxy) call(ctx context.Context, x *exchange, op *contract.Operation, args map[string]any) restAnswer {
	response, err := d.send(ctx, x, op, args)
	if err != nil {
		return restAnswer{problem: d.unreached(ctx, x, op, err)}
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it is wanted
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(d.API.Limits.AnswerBytes)+1))
	if err != nil {
		return restAnswer{status: response.StatusCode, header: response.Header, problem: d.unreached(ctx, x, op, err)}
	}
	answer := d.read(x, op, response.StatusCode, response.Header, body)
	answer.recorded = !trace.Traced(ctx)
	return answer
}

func (d proxy) send(ctx context.Context, x *exchange, op *contract.Operation, args map[string]any) (*http.Response, error) {
	base, err := d.BaseURL(x.request)
	if err != nil {
		return nil, err
	}
	request, err := op.Request(base, args)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", d.userAgent())
	if !op.Public {
		request.Header.Set("X-Api-Key", x.secret)
	}
	trace.Inject(ctx, request.Header)
	if op.Units > 0 {
		x.setSent(op)
	}
	return d.Client.Do(request.WithContext(ctx))
}

func (s *server) userAgent() string { return "sekisho-mcp/" + s.Version }

// unreached explains an answer that did not come. The error itself is for the log, without
// the URL, which has the caller's arguments in it.
func (d proxy) unreached(ctx context.Context, x *exchange, op *contract.Operation, err error) *problem.Problem {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		x.setSent(nil) // not a byte went out
	}
	return d.unanswered(ctx, x, op, err)
}

// unanswered explains, to the log and the caller, that a call has no answer.
func (s *server) unanswered(ctx context.Context, x *exchange, op *contract.Operation, err error) *problem.Problem {
	s.Log.Warn("no answer", zap.String("operation", op.ID), zap.Error(err))
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return s.unclear(x, problem.Timeout, "")
	}
	return s.unclear(x, problem.Unreachable, "")
}

func (proxy) end(*exchange) {}

// reserve is for writing the answer.
func (proxy) reserve() time.Duration { return writing }

func (proxy) endpoint(_ context.Context, answers map[string]restAnswer) check {
	k := newCheck("endpoint", answers[opHealth])
	if k.OK {
		k.Detail = "The REST API answers."
	} else {
		k.advice = "The REST API does not answer. Wait a minute and diagnose once more; if it stays so, tell your user to ask the owner of this server."
	}
	return k
}
