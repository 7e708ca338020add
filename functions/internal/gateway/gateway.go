// Package gateway is what API Gateway hands over, and to whom: the authorizer's context, the
// record of the access log, the stage variables, and events. Their names are written here and
// nowhere else in Go; the contract's are generated from them.
//
// Handler lets an http.Handler serve the events of a REST API (payload format 1.0), and those
// of an HTTP API or a function URL (2.0). The public adapters drag in every web framework that
// they serve; this is the part that a net/http handler needs. Header names are
// case-insensitive, headers and query parameters keep all their values, bodies may be base64,
// and whatever happens there is a response: an error returned to Lambda becomes a 502 without
// a readable body (aws/aws-lambda-go#72).
package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
)

// Panicked gets what a panic in the handler left. That may be anything, so it is for the log
// and never for the caller.
type Panicked func(recovered any, stack []byte)

// Function serves events with an http.Handler. It is safe for concurrent use.
type Function struct {
	handler  http.Handler
	panicked Panicked
}

// Handler adapts a handler. A panic in it is answered 500 and reported to panicked, which
// may be nil. The handler finds the event by Event, and the function's deadline in the
// request's context.
func Handler(h http.Handler, panicked Panicked) *Function {
	return &Function{handler: h, panicked: panicked}
}

// Invoke serves one event and gives the whole answer in the event's own format. The error is
// that of a payload that is not an event at all.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	a := NewAnswer()
	f.serve(ctx, &e, a)
	if e.second() {
		return reply.JSON(a.second(e.method()))
	}
	return reply.JSON(a.first(e.method()))
}

// serve fills in the answer whatever happens.
func (f *Function) serve(ctx context.Context, e *event, a *Answer) {
	defer func() {
		if v := recover(); v != nil {
			if f.panicked != nil {
				f.panicked(v, debug.Stack())
			}
			a.fail(problem.New(problem.Internal, ""))
		}
	}()
	r, err := request(ctx, e.rest())
	if err != nil {
		a.fail(problem.From(err))
		return
	}
	f.handler.ServeHTTP(a, r)
}

type eventKey struct{}

// Event returns the event that a request was made from, in the form of a REST API's; ok is
// false outside Lambda.
func Event(ctx context.Context) (event *events.APIGatewayProxyRequest, ok bool) {
	event, ok = ctx.Value(eventKey{}).(*events.APIGatewayProxyRequest)
	return event, ok
}
