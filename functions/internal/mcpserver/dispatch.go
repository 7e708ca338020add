package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
)

// dispatcher takes the calls of tools to the functions that serve them.
type dispatcher interface {
	// call calls an operation with valid arguments. It calls once: whether to try again is up to
	// the caller, who knows what it costs.
	call(ctx context.Context, x *exchange, op *contract.Operation, args map[string]any) restAnswer
	// end comes when the answer to the request is made, before it goes out.
	end(x *exchange)
	// endpoint checks for the diagnosis whether calls get through, given the answers that it has.
	endpoint(ctx context.Context, answers map[string]restAnswer) check
	// reserve is kept of the caller's time for what comes after a call.
	reserve() time.Duration
}

// restAnswer is what an operation answered: a JSON object, or a problem.
type restAnswer struct {
	// status is the HTTP status, 0 without an answer.
	status  int
	header  http.Header
	body    json.RawMessage
	problem *problem.Problem
	// recorded: if it is of a call that went well, a record elsewhere says all that a line of ours would.
	recorded bool
}

// read makes an answer of what came. body may be cut off one byte after what is allowed.
func (s *server) read(x *exchange, op *contract.Operation, status int, header http.Header, body []byte) restAnswer {
	body = bytes.TrimSpace(body)
	answer := restAnswer{status: status, header: header}
	switch {
	case status >= http.StatusBadRequest:
		x.setSent(nil)
		if answer.problem = refusedByBackend(op, status, header, body); answer.problem == nil {
			answer.problem = problem.Parse(status, body)
		}
	case status > 299 || status != http.StatusOK && !byBackend(op, header):
		answer.problem = s.unclear(x, problem.Internal, fmt.Sprintf("The API answered HTTP %d, which this server does not follow.", status))
	case byBackend(op, header):
		answer.body = backend.Shown(op, status, header.Get("Location"), body)
		if !s.API.Limits.Fits(answer.body) {
			answer.body, answer.problem = nil, s.unclear(x, problem.AnswerTooLarge, "The answer has more bytes than this server sends.")
		}
	case !s.API.Limits.Fits(body):
		answer.problem = s.unclear(x, problem.AnswerTooLarge, "The answer has more bytes than this server sends.")
	case !isObject(body):
		s.Log.Error("the answer is not a JSON object", zap.String("operation", op.ID))
		answer.problem = s.unclear(x, problem.Internal, "The API's answer could not be read.")
	default:
		answer.body = body
	}
	return answer
}

func isObject(body []byte) bool {
	return bytes.HasPrefix(body, []byte("{")) && utf8.Valid(body) && json.Valid(body)
}
