// Package rest serves operations of the contract as a Lambda proxy integration: it binds
// and checks arguments, calls the operation, writes the answer or the problem, and logs
// one line per call that fails. It contains no metering: that is the gate's and settle's.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/tools/toolerr"
	"sekisho/functions/internal/trace"
)

// Call is what an operation may want to know beside its arguments.
type Call struct {
	// Caller is what the authorizer says of the call.
	Caller gateway.AuthorizerContext
	Event  events.APIGatewayProxyRequest
	// SetHeader sets a header of the answer, if the call succeeds.
	SetHeader func(name, value string)
	// Note adds a field to the call's log line. It must hold nothing secret.
	Note func(zap.Field)
}

// Operation serves one operation of the contract. Make it with Typed or Raw.
type Operation struct {
	// In and Out are the Go types of arguments and answer, for the test that compares them
	// with the schemas; nil of a Raw operation.
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

// Answer is an answer that somebody else wrote, to be passed on as it is.
type Answer struct {
	Status int
	Header map[string]string
	Body   []byte
}

// Raw makes an operation of a function that takes the arguments as they are, and passes answers on.
func Raw(serve func(context.Context, Call, map[string]any) (Answer, error)) Operation {
	return Operation{serve: func(ctx context.Context, call Call, args map[string]any) (any, error) {
		return serve(ctx, call, args)
	}}
}

// FromEnv builds a function that is nothing but its operations: it needs no store.
func FromEnv(operations func() map[string]Operation) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) { return Serve(rt, operations()) }
}

// Serve makes the Invoker of a function that serves operations of the contract.
func Serve(rt boot.Runtime, operations map[string]Operation) (boot.Invoker, error) {
	api, err := contract.Load(rt.Env)
	if err != nil {
		return nil, err
	}
	server, err := New(api, rt.Function, operations, rt.Log, rt.Now)
	if err != nil {
		return nil, err
	}
	return boot.Handle(server.Handle), nil
}

// Server is the handler of one Lambda.
type Server struct {
	api        *contract.API
	operations map[string]Operation
	// function is its name.
	function string
	log      *zap.Logger
	now      func() time.Time
}

// mostCompiled is how many operations have their schemas compiled at a cold start, so that their first
// calls needn't wait. Of more, each is compiled by its first call: a thousand take ten times as long
// as the rest of the start. They were checked when the contract was merged.
const mostCompiled = 20

// New makes a server for the operations that the contract gives to a function. It fails
// when one of them is not among ops, or ops holds one that is not the function's.
func New(api *contract.API, function string, ops map[string]Operation, log *zap.Logger, now func() time.Time) (*Server, error) {
	if api.Limits.AnswerBytes <= 0 {
		return nil, fmt.Errorf("function %s: the contract has no x-sekisho-limits.answer_bytes", function)
	}
	own := api.ByFunction(function)
	for _, op := range own {
		if _, ok := ops[op.ID]; !ok {
			return nil, fmt.Errorf("function %s: the contract gives it operation %s, which it does not serve", function, op.ID)
		}
		if len(own) > mostCompiled {
			continue
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
	return &Server{api: api, operations: ops, function: function, log: log, now: now}, nil
}

// Handle answers one event. It never returns an error: API Gateway would make a bare 502
// of it (aws-lambda-go#72).
func (s *Server) Handle(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	start := s.now()
	if parent := gateway.Header(&event, trace.Parent); parent != "" {
		ctx = trace.Continue(ctx, parent, gateway.Header(&event, trace.State))
	}
	ctx, span := trace.Start(ctx, trace.Server, s.function)
	fields := append(make([]zap.Field, 0, 13), trace.Field(ctx))
	headers := map[string]string{"Cache-Control": "no-store"}
	call := Call{
		Caller:    gateway.ParseAuthorizerContext(event.RequestContext.Authorizer),
		Event:     event,
		SetHeader: func(name, value string) { headers[name] = value },
		Note:      func(f zap.Field) { fields = append(fields, f) },
	}
	op, path := s.api.Resolve(event.HTTPMethod, event.Resource, event.PathParameters)
	answer, err := s.serve(ctx, op, path, call)
	var encoded Answer
	if err == nil {
		encoded, err = s.encode(op, answer)
	}
	response := respond(call, headers, encoded, err)
	fields = append(fields,
		zap.String("request_id", event.RequestContext.ExtendedRequestID),
		zap.String("key_id", call.Caller.KeyID),
		zap.Int("status", response.StatusCode),
		zap.Int64("ms", s.now().Sub(start).Milliseconds()),
	)
	if op != nil {
		fields = append(fields, zap.String("operation", op.ID))
		span.Name(op.ID)
	}
	span.SetInt("http.response.status_code", response.StatusCode)
	span.End(code(err))
	level := zap.DebugLevel // of a call that went well the access log, or mcp, says as much
	if err != nil {
		level, fields = zap.InfoLevel, append(fields, failure(op, err)...)
	}
	s.log.Log(level, "call", fields...)
	return response, nil
}

func (s *Server) serve(ctx context.Context, op *contract.Operation, path map[string]string, call Call) (answer any, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("panic: %s\n%s", boot.Panic(r), debug.Stack())
		}
	}()
	if op == nil {
		return nil, problem.New(problem.RouteNotFound, "")
	}
	operation, ok := s.operations[op.ID]
	if !ok {
		return nil, problem.New(problem.RouteNotFound, "")
	}
	body, err := gateway.Body(&call.Event)
	if err != nil {
		return nil, err
	}
	if op.HasBody && len(body) > contract.MaxBody {
		return nil, problem.Newf(problem.TooLarge, "the body has %d bytes; at most %d are taken", len(body), contract.MaxBody)
	}
	args, err := op.Bind(path, gateway.Query(&call.Event), body)
	if err != nil {
		return nil, err
	}
	return operation.serve(ctx, call, args)
}

// failure is what the log gets of a failed call. The text of a refusal can quote what the caller
// sent, whole keys included, so below 500 the code and the parameter are all. The name of a
// parameter is the contract's, never one that a caller made up.
func failure(op *contract.Operation, err error) []zap.Field {
	p, parameter := asProblem(err)
	fields := []zap.Field{zap.String("problem", string(p.Code))}
	if op != nil && op.Takes(parameter) {
		fields = append(fields, zap.String("parameter", parameter))
	}
	if p.Status >= 500 {
		fields = append(fields, zap.Error(err))
	}
	return fields
}

// code is the problem's, "" for none.
func code(err error) string {
	if err == nil {
		return ""
	}
	p, _ := asProblem(err)
	return string(p.Code)
}

// encode writes an answer, and holds it to the contract's limit.
func (s *Server) encode(op *contract.Operation, answer any) (Answer, error) {
	a, raw := answer.(Answer)
	if !raw {
		body, err := reply.JSON(answer)
		if err != nil {
			return Answer{}, fmt.Errorf("encode answer: %w", err)
		}
		a = Answer{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: body}
	}
	if !s.api.Limits.Fits(a.Body) {
		return Answer{}, TooLarge(op, fmt.Sprintf("The answer has %d bytes, which is more than this server sends.", len(a.Body)))
	}
	return a, nil
}

// TooLarge is the problem of an answer that can't be sent, though the call was carried out.
func TooLarge(op *contract.Operation, detail string) *problem.Problem {
	p := problem.New(problem.AnswerTooLarge, detail)
	if !op.Annotations.ReadOnlyHint {
		p.Hint = "The call was carried out; only what it answered is too large to send. Do not repeat it."
	}
	return p
}

func respond(call Call, headers map[string]string, a Answer, err error) events.APIGatewayProxyResponse {
	if err != nil {
		p, _ := asProblem(err)
		return problemResponse(p)
	}
	maps.Copy(headers, a.Header)
	if a.Status < 400 { // what fails is given back, and not what these would say
		addRateLimit(headers, call.Caller.Quota)
	}
	return events.APIGatewayProxyResponse{StatusCode: a.Status, Headers: headers, Body: string(a.Body)}
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

// asProblem also says which parameter is at fault, if one is.
func asProblem(err error) (p *problem.Problem, parameter string) {
	var argument *contract.ArgumentError
	if errors.As(err, &argument) {
		return problem.New(problem.InvalidArgument, argument.Error()), argument.Param
	}
	var tool *toolerr.Error
	if errors.As(err, &tool) {
		detail := tool.Message
		if tool.Param != "" {
			detail = tool.Param + ": " + detail
		}
		return problem.New(toolCodes[tool.Code], detail), tool.Param
	}
	return problem.From(err), ""
}

// addRateLimit says what is left. Where nothing is counted, there is nothing to say.
func addRateLimit(headers map[string]string, quota gateway.Quota) {
	if quota.RateLimit != "" {
		headers["RateLimit-Policy"], headers["RateLimit"] = quota.RateLimitPolicy, quota.RateLimit
	}
}
