// Package rest serves operations of the contract as a Lambda proxy integration: it binds
// and checks arguments, calls the operation, writes the answer or the problem, and logs
// one line per call. It contains no metering: that is the authorizer's and settle's.
package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/tools/toolerr"
)

// Caller is what the authorizer found out about the caller.
type Caller struct {
	KeyID, Meter, UserID, Plan string
}

// Call is what an operation may want to know beside its arguments.
type Call struct {
	Caller Caller
	Event  events.APIGatewayProxyRequest
	// Note adds a field to the call's log line. It must hold nothing secret.
	Note func(zap.Field)
}

// Operation serves one operation of the contract. Make it with Typed.
type Operation struct {
	// In and Out are the Go types of arguments and answer, for the test that compares them
	// with the schemas.
	In, Out reflect.Type
	serve   func(context.Context, Call, map[string]any) (any, error)
}

// Typed makes an operation of a function with typed arguments and answer.
func Typed[In, Out any](serve func(context.Context, Call, In) (Out, error)) Operation {
	return Operation{
		In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out](),
		serve: func(ctx context.Context, call Call, args map[string]any) (any, error) {
			var in In
			encoded, err := json.Marshal(args)
			if err != nil {
				return nil, fmt.Errorf("encode arguments: %w", err)
			}
			if err := json.Unmarshal(encoded, &in); err != nil {
				return nil, problem.Newf(problem.InvalidArgument, "arguments do not have the expected form: %v", err)
			}
			return serve(ctx, call, in)
		},
	}
}

// Simple is Typed for a function that needs nothing but its arguments.
func Simple[In, Out any](serve func(In) (Out, error)) Operation {
	return Typed(func(_ context.Context, _ Call, in In) (Out, error) { return serve(in) })
}

// Server is the handler of one Lambda.
type Server struct {
	api        *contract.API
	operations map[string]Operation
	log        *zap.Logger
	now        func() time.Time
}

// New makes a server for the operations that the contract gives to a function. It fails
// when one of them is not among ops, or ops holds one that is not the function's.
func New(api *contract.API, function string, ops map[string]Operation, log *zap.Logger, now func() time.Time) (*Server, error) {
	if api.Limits.AnswerBytes <= 0 {
		return nil, fmt.Errorf("function %s: the contract has no x-sekisho-limits.answer_bytes", function)
	}
	for _, op := range api.ByFunction(function) {
		if _, ok := ops[op.ID]; !ok {
			return nil, fmt.Errorf("function %s: the contract gives it operation %s, which it does not serve", function, op.ID)
		}
		if err := op.CheckSchemas(); err != nil {
			return nil, err
		}
	}
	for id := range ops {
		if op := api.Operation(id); op == nil || op.Function != function {
			return nil, fmt.Errorf("function %s: serves operation %s, which the contract does not give it", function, id)
		}
	}
	return &Server{api: api, operations: ops, log: log, now: now}, nil
}

// Handle answers one event. It never returns an error: API Gateway would make a bare 502
// of it (aws-lambda-go#72).
func (s *Server) Handle(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	start := s.now()
	fields := make([]zap.Field, 0, 12)
	call := Call{
		Caller: callerOf(event.RequestContext.Authorizer),
		Event:  event,
		Note:   func(f zap.Field) { fields = append(fields, f) },
	}
	op := s.api.Route(event.HTTPMethod, event.Resource)
	answer, err := s.serve(ctx, op, call)
	var body []byte
	if err == nil {
		body, err = s.encode(op, answer)
	}
	response := respond(event, body, err)
	fields = append(fields,
		zap.String("request_id", event.RequestContext.ExtendedRequestID),
		zap.String("key_id", call.Caller.KeyID),
		zap.Int("status", response.StatusCode),
		zap.Int64("ms", s.now().Sub(start).Milliseconds()),
	)
	if op != nil {
		fields = append(fields, zap.String("operation", op.ID))
	}
	if err != nil {
		fields = append(fields, zap.Error(err))
	}
	s.log.Info("call", fields...)
	return response, nil
}

func (s *Server) serve(ctx context.Context, op *contract.Operation, call Call) (answer any, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if op == nil {
		return nil, problem.New(problem.RouteNotFound, "")
	}
	operation, ok := s.operations[op.ID]
	if !ok {
		return nil, problem.New(problem.RouteNotFound, "")
	}
	body := []byte(call.Event.Body)
	if call.Event.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(call.Event.Body); err != nil {
			return nil, problem.New(problem.InvalidArgument, "the body is not base64")
		}
	}
	if op.HasBody && len(body) > contract.MaxBody {
		return nil, problem.Newf(problem.TooLarge, "the body has %d bytes; at most %d are taken", len(body), contract.MaxBody)
	}
	args, err := op.Bind(call.Event.PathParameters, query(call.Event), body)
	if err != nil {
		return nil, err
	}
	return operation.serve(ctx, call, args)
}

// query prefers the map with all values, and does with the single one where it is all
// that an event has.
func query(event events.APIGatewayProxyRequest) map[string][]string {
	if event.MultiValueQueryStringParameters != nil {
		return event.MultiValueQueryStringParameters
	}
	values := make(map[string][]string, len(event.QueryStringParameters))
	for name, value := range event.QueryStringParameters {
		values[name] = []string{value}
	}
	return values
}

// encode writes an answer, and holds it to the contract's limit.
func (s *Server) encode(op *contract.Operation, answer any) ([]byte, error) {
	body, err := reply.JSON(answer)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	if s.api.Limits.Fits(body) {
		return body, nil
	}
	p := problem.Newf(problem.AnswerTooLarge, "The answer has %d bytes, which is more than this server sends.", len(body))
	if !op.Annotations.ReadOnlyHint {
		p.Hint = "The call was carried out; only what it answered is too large to send. Do not repeat it."
	}
	return nil, p
}

func respond(event events.APIGatewayProxyRequest, body []byte, err error) events.APIGatewayProxyResponse {
	if err != nil {
		return problemResponse(asProblem(err))
	}
	headers := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}
	addRateLimit(headers, event.RequestContext.Authorizer)
	return events.APIGatewayProxyResponse{StatusCode: 200, Headers: headers, Body: string(body)}
}

func problemResponse(p *problem.Problem) events.APIGatewayProxyResponse {
	headers := map[string]string{"Content-Type": problem.ContentType, "Cache-Control": "no-store"}
	if seconds, ok := p.RetryAfterSeconds(); ok {
		headers["Retry-After"] = strconv.FormatInt(seconds, 10)
	}
	return events.APIGatewayProxyResponse{StatusCode: p.Status, Headers: headers, Body: string(p.JSON())}
}

// toolCodes maps what a tool says went wrong to the API's codes.
var toolCodes = map[toolerr.Code]problem.Code{
	toolerr.InvalidArgument: problem.InvalidArgument,
	toolerr.NotFound:        problem.NotFound,
	toolerr.OutOfRange:      problem.OutOfRange,
}

func asProblem(err error) *problem.Problem {
	var argument *contract.ArgumentError
	if errors.As(err, &argument) {
		return problem.New(problem.InvalidArgument, argument.Error())
	}
	var tool *toolerr.Error
	if errors.As(err, &tool) {
		detail := tool.Message
		if tool.Param != "" {
			detail = tool.Param + ": " + detail
		}
		return problem.New(toolCodes[tool.Code], detail)
	}
	return problem.From(err)
}

// Names of the values that the authorizer hands on in its context. API Gateway makes
// strings of them all.
const (
	CtxKeyID  = "key_id"
	CtxMeter  = "meter"
	CtxUserID = "user_id"
	CtxPlan   = "plan"
	CtxLimit  = "limit"
	CtxUsed   = "used"
	CtxReset  = "reset_seconds"
	CtxWindow = "window_seconds"
)

func callerOf(authorizer map[string]any) Caller {
	get := func(name string) string { v, _ := authorizer[name].(string); return v }
	return Caller{KeyID: get(CtxKeyID), Meter: get(CtxMeter), UserID: get(CtxUserID), Plan: get(CtxPlan)}
}

// addRateLimit says what is left, as the IETF draft on RateLimit header fields
// has it (draft-ietf-httpapi-ratelimit-headers-10): r units left, t seconds to the reset,
// q units per w seconds. Nothing is said where nothing is counted.
func addRateLimit(headers map[string]string, authorizer map[string]any) {
	number := func(name string) (int64, bool) {
		text, _ := authorizer[name].(string)
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && n >= 0
	}
	limit, hasLimit := number(CtxLimit)
	used, hasUsed := number(CtxUsed)
	reset, hasReset := number(CtxReset)
	window, hasWindow := number(CtxWindow)
	if !hasLimit || !hasUsed || !hasReset || !hasWindow {
		return
	}
	headers["RateLimit-Policy"] = fmt.Sprintf(`"monthly";q=%d;w=%d`, limit, window)
	headers["RateLimit"] = fmt.Sprintf(`"monthly";r=%d;t=%d`, max(0, limit-used), reset)
}
