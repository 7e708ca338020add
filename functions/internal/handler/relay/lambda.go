package relay

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/trace"
)

// byInvocation asks a Lambda function, with the event that API Gateway would have made. It
// asks once: the function's author counts on what API Gateway does.
type byInvocation struct {
	function string
	invoker  backend.Invoker
	// most is the largest body that is taken, in bytes.
	most int64
}

func (b byInvocation) ask(ctx context.Context, call rest.Call, r request) (outbound.Response, error) {
	came, err := b.invoke(ctx, call, r)
	note(call, b.function, err)
	return came, err
}

func (b byInvocation) invoke(ctx context.Context, call rest.Call, r request) (_ outbound.Response, err error) {
	ctx, span := trace.Start(ctx, trace.Client, r.method)
	span.Set("faas.invoked_name", b.function)
	defer func() { span.End(reasonOf(err)) }()
	payload, err := json.Marshal(proxyEvent(ctx, call, r))
	if err != nil {
		return outbound.Response{}, err
	}
	ctx, cancel := withReserve(ctx)
	defer cancel()
	if r.gate != nil {
		if err := r.gate(ctx); err != nil {
			return outbound.Response{}, outbound.Held(b.function, r.method, err)
		}
	}
	raw, err := b.invoker.Invoke(ctx, payload)
	if err != nil {
		return outbound.Response{}, b.failed(call, r, err)
	}
	return b.read(r, raw)
}

// withReserve leaves the time to answer in.
func withReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-reserveTime))
	}
	return context.WithCancel(ctx)
}

// failed says what a call without an answer means. Of what a function says of its failure only
// the type is logged: the rest can hold what a caller sent, and stands in the function's own log.
func (b byInvocation) failed(call rest.Call, r request, err error) error {
	var ran *backend.FailedError
	var never *backend.NotInvokedError
	switch {
	case errors.Is(err, backend.ErrBusy):
		return problem.New(problem.BackendBusy, "")
	case errors.As(err, &never):
		return outbound.Impossible(b.function, r.method, err)
	case errors.As(err, &ran):
		call.Note(zap.String("backend_error", reply.Cut(ran.Type, mostLogged)))
		return b.useless(r, problem.New(problem.BackendFailed, ""), err)
	}
	return outbound.Unanswered(b.function, r.method, err)
}

// mostLogged is how long a type may be, in characters.
const mostLogged = 100

// useless is the failure of a function that ran, and gave nothing of use. Where the method
// doesn't promise that a second call does no harm, the caller must look before it repeats it.
func (b byInvocation) useless(r request, p *problem.Problem, cause error) error {
	e := outbound.Unanswered(b.function, r.method, cause)
	if e.MayHaveHappened {
		p.Classification, p.Retryable, p.RetryAfter = problem.Unknown, false, -1
		p.Hint = outbound.Advise(e).Hint
	}
	return &failure{p, e}
}

// read checks the answer as API Gateway does.
func (b byInvocation) read(r request, raw []byte) (outbound.Response, error) {
	answer, err := gateway.ParseProxyAnswer(raw)
	var body []byte
	if err == nil {
		body, err = answer.Bytes()
	}
	if err != nil {
		return outbound.Response{}, b.useless(r, problem.New(problem.BackendMalformed, "It is not what a Lambda proxy integration answers: "+err.Error()+"."), err)
	}
	if answer.Header.Get("Content-Type") == "" && len(body) > 0 {
		answer.Header.Set("Content-Type", "application/json") // as API Gateway has it
	}
	return outbound.Answered(b.function, r.method, outbound.Response{Status: answer.Status, Header: answer.Header, Body: body}, b.most)
}

// proxyEvent is the event of the backend's own API: its paths and names instead of ours.
func proxyEvent(ctx context.Context, call rest.Call, r request) events.APIGatewayProxyRequest {
	e := call.Event
	e.HTTPMethod, e.Resource, e.Path, e.PathParameters = r.method, r.template, r.path, orNull(r.params)
	e.StageVariables = nil // they are about this server's brake
	multi := map[string][]string{}
	for _, p := range r.query {
		multi[p.name] = append(multi[p.name], p.value)
	}
	e.MultiValueQueryStringParameters, e.QueryStringParameters = orNull(multi), last(multi)
	header := forwarded(gateway.Headers(call.Event.MultiValueHeaders, call.Event.Headers))
	for name, values := range r.header {
		header[name] = values
	}
	if r.sign != nil {
		for name, value := range r.sign(decodedTarget(r.path, multi)) {
			header.Set(name, value)
		}
	}
	trace.Inject(ctx, header)
	e.MultiValueHeaders, e.Headers = header, last(header)
	e.Body, e.IsBase64Encoded = string(r.body), false
	c := &e.RequestContext
	c.HTTPMethod, c.ResourcePath, c.Path = r.method, r.template, r.path
	c.Identity.APIKey, c.Identity.APIKeyID = "", ""
	return e
}

// forwarded are the client's headers without those that hold its credentials or claim an
// identity, and without those of the body, which is another one now.
func forwarded(from http.Header) http.Header {
	header := http.Header{}
	for name, values := range from {
		switch {
		case contract.ReservedHeader(name) && name != "Host":
		case slices.Contains([]string{"X-Api-Key", "Content-Type", "Accept"}, name):
		default:
			header[name] = values
		}
	}
	return header
}

// decodedTarget is what is signed where the backend sees a decoded query: its parameters by
// name, each as encodeURIComponent writes it.
func decodedTarget(path string, query map[string][]string) string {
	var pairs []pair
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			pairs = append(pairs, newPair(name, value))
		}
	}
	return message{path: path, query: pairs}.target()
}

// last is the single-value form of an event's maps; null where it would be empty.
func last(multi map[string][]string) map[string]string {
	single := map[string]string{}
	for name, values := range multi {
		if len(values) > 0 {
			single[name] = values[len(values)-1]
		}
	}
	return orNull(single)
}

// orNull is nil for an empty map: so it is in API Gateway's events.
func orNull[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return m
}
