package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/trace"
)

// exchange is one HTTP request, and what becomes of it. It travels to the tools as a value
// of the context, because the SDK passes on values and drops deadline and cancellation.
type exchange struct {
	request *http.Request
	// id and progressToken are the message's; nil until it is read.
	id, progressToken json.RawMessage
	// method is the protocol's, for the log.
	method string
	key    account.Key
	// secret is the key's text; "" by the OAuth door, where signedIn says how the caller has the key.
	secret   string
	signedIn SignedIn
	// live has the events of an answer that goes out while the call runs; nil for a whole answer.
	live *live
	// span is what is traced of it.
	span trace.Span
	// called is the tool that tools/call names.
	called *tool

	mu sync.Mutex // the SDK serves in goroutines of its own
	// tool is its canonical name; empty for other methods, and for an unknown tool.
	tool string
	// outcome is the word for the log: ok, or a problem's code.
	outcome string
	// header is what the caller sees of the operation's answer.
	header http.Header
	// sent is the counted operation that was called and has not failed.
	sent *contract.Operation
	// admission is what was taken for the call here, empty if nothing was; unstarted says that no
	// function ran for it.
	admission gateway.Admission
	unstarted bool
	// recorded is the outcome that a record gives: of an admission, that the call went well. Empty if
	// there is no record.
	recorded string
	// over: the answer is made.
	over bool
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// context is the request's own, with the deadline that the SDK dropped.
func (x *exchange) context() context.Context { return x.request.Context() }

// trace takes up the caller's trace. What _meta says comes before the headers, which may be those of
// a client that carries messages of others.
func (x *exchange) trace(m *message) {
	h := x.request.Header
	parent, state := m.traceParent, m.traceState
	if parent == "" {
		parent, state = h.Get(trace.Parent), h.Get(trace.State)
	}
	ctx := trace.Continue(x.context(), parent, state)
	ctx, x.span = trace.Start(ctx, trace.Server, x.method)
	if ctx != x.context() {
		x.request = x.request.WithContext(ctx)
	}
}

// endTrace ends the span, if one was begun.
func (x *exchange) endTrace() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tool != "" {
		x.span.Name(x.method + " " + x.tool)
	}
	x.span.Set("mcp.method.name", x.method)
	x.span.Set("gen_ai.tool.name", x.tool)
	x.span.End(strings.TrimPrefix(x.outcome, succeeded))
}

func (x *exchange) setTool(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tool = name
}

func (x *exchange) setOutcome(outcome string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outcome = outcome
}

func (x *exchange) ended() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.outcome != ""
}

// setSent notes that a counted operation is called; nil, that it failed and is given back.
func (x *exchange) setSent(op *contract.Operation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = op
}

// admitted notes that units were taken for a call of an operation. It is false when the answer was
// made meanwhile: nobody would give them back.
func (x *exchange) admitted(op *contract.Operation, a gateway.Admission) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.sent, x.admission = op, a
	}
	return !x.over
}

// setUnstarted notes that no function ran.
func (x *exchange) setUnstarted() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent, x.unstarted = nil, true
}

func (x *exchange) setRecorded(outcome string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.recorded = outcome
}

// owed is what was taken for a call that the caller is told has failed.
func (x *exchange) owed() (a gateway.Admission, unstarted, due bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	return x.admission, x.unstarted, x.admission.AdmissionID != "" && x.outcome != succeeded
}

// passed are the headers of the operation's answer that the caller sees too: what is left of
// the limit (draft-ietf-httpapi-ratelimit-headers), and when to come back.
var passed = []string{"Ratelimit", "Ratelimit-Policy", "Retry-After"}

func (x *exchange) keepHeaders(answer http.Header) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.header = http.Header{}
	for _, name := range passed {
		if v := answer.Get(name); v != "" {
			x.header.Set(name, v)
		}
	}
}

func (x *exchange) addHeaders(to http.Header) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, values := range x.header {
		to[name] = values
	}
}

// unclear makes the problem of a failure on this side of the operation. After a counted call
// was sent, nobody here knows yet whether it stays charged: only the operation's own answer says
// that it failed.
func (s *server) unclear(x *exchange, code problem.Code, detail string) *problem.Problem {
	x.mu.Lock()
	op := x.sent
	x.mu.Unlock()
	p := problem.New(code, detail)
	if op == nil {
		return p
	}
	p.Hint = s.tools.names.Replace("The call was sent and may be charged: utility.get_usage shows what is used. ")
	switch {
	case !op.Annotations.ReadOnlyHint:
		p.Classification, p.Retryable, p.RetryAfter = problem.Unknown, false, -1
		p.Hint += "It may have taken effect: check before you send it again."
	case p.Retryable:
		p.Hint += "Wait retryAfterMs, then retry once; if it fails again, stop and tell your user."
	default:
		p.Hint += "Do not retry as it is."
	}
	return p
}

// requestID is the one that API Gateway made; the plain requestId a client can choose.
func requestID(ctx context.Context) string {
	if event, ok := gateway.Event(ctx); ok {
		return event.RequestContext.ExtendedRequestID
	}
	return ""
}

// knownMethod keeps what a caller wrote out of the log.
func knownMethod(method string) string {
	switch method {
	case "notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed", listen:
		return method
	case "":
		return ""
	}
	if offered[method] != 0 {
		return method
	}
	return "other"
}

// succeeded is the outcome of what did not fail.
const succeeded = "ok"

// logExchange writes the one line of a request, for debugging only if a record says as much: a record of
// ours, or one of the access log. Nothing in it is the caller's text.
func (s *server) logExchange(x *exchange, status int, took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	level := zap.InfoLevel
	if x.outcome != "" && x.outcome == x.recorded {
		level = zap.DebugLevel
	}
	if !s.Log.Core().Enabled(level) {
		return
	}
	s.Log.Log(level, "mcp", append([]zap.Field{
		zap.String("request_id", requestID(x.context())),
		zap.String("key_id", x.key.ID),
		zap.String("method", x.method),
		zap.String("tool", x.tool),
		zap.Int("status", status),
		zap.String("outcome", x.outcome),
		zap.Int64("ms", took.Milliseconds()),
		trace.Field(x.context()),
	}, x.signedIn.fields()...)...)
}

// survive keeps a panic in a goroutine of ours from ending the process. Use it deferred.
func (s *server) survive() {
	if v := recover(); v != nil {
		logPanic(s.Log, v, debug.Stack())
	}
}

// logPanic writes what is needed to find a panic.
func logPanic(log *zap.Logger, v any, stack []byte) {
	log.Error("panic", zap.String("panic", boot.Panic(v)), zap.ByteString("stack", stack))
}
