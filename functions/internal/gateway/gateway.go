// Package gateway is what API Gateway hands over, and to whom: the authorizer's context, the
// record of the access log, the stage variables, and events. Their names are written here and
// nowhere else in Go; the contract's are generated from them.
//
// Handler lets an http.Handler serve REST proxy events. The public adapters drag in every web
// framework that they serve; this is the part that a net/http handler needs. Header names are
// case-insensitive, headers and query parameters keep all their values, bodies may be base64,
// and whatever happens there is a response: an error returned to Lambda becomes a 502 without
// a readable body (aws/aws-lambda-go#72).
package gateway

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/problem"
)

// Func is what lambda.Start takes for a REST proxy integration. Its error is always nil.
type Func func(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)

// Panicked gets what a panic in the handler left. That may be anything, so it is for the log
// and never for the caller.
type Panicked func(recovered any, stack []byte)

// Handler adapts a handler. A panic in it is answered 500 and reported to panicked, which
// may be nil. The handler finds the event by Event, and the function's deadline in the
// request's context.
func Handler(h http.Handler, panicked Panicked) Func {
	return func(ctx context.Context, event events.APIGatewayProxyRequest) (response events.APIGatewayProxyResponse, _ error) {
		defer func() {
			if v := recover(); v != nil {
				if panicked != nil {
					panicked(v, debug.Stack())
				}
				response = refusal(problem.New(problem.Internal, ""))
			}
		}()
		r, err := request(ctx, &event)
		if err != nil {
			return refusal(problem.From(err)), nil
		}
		a := NewAnswer()
		h.ServeHTTP(a, r)
		return a.response(r.Method), nil
	}
}

type eventKey struct{}

// Event returns the event that a request was made from; ok is false outside Lambda.
func Event(ctx context.Context) (event *events.APIGatewayProxyRequest, ok bool) {
	event, ok = ctx.Value(eventKey{}).(*events.APIGatewayProxyRequest)
	return event, ok
}

func refusal(p *problem.Problem) events.APIGatewayProxyResponse {
	return events.APIGatewayProxyResponse{
		StatusCode: p.Status,
		Headers:    map[string]string{"Content-Type": problem.ContentType},
		Body:       string(p.JSON()),
	}
}
