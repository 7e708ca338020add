package apigateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
)

// Unreserved is the reserved concurrency of a function that shares the account's.
const Unreserved = -1

// defaultTimeout is Lambda's own.
const defaultTimeout = 3 * time.Second

// maxPayload is Lambda's limit for the event and for the answer of a synchronous
// invocation: 6 MB and a little (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const maxPayload = 6_291_556

// Invoker is what a function's Build makes.
type Invoker = boot.Invoker

// Function is one Lambda.
type Function struct {
	Handler Invoker
	// DeployedName is its name in AWS, where that is another than its own. When it is set,
	// an integration must name exactly this function.
	DeployedName string
	// MemoryMB is what it has in AWS. It is shown with the function's figures: here all
	// functions share the memory of one process.
	MemoryMB int
	// Timeout ends an invocation; 0 means 3 s, as in Lambda.
	Timeout time.Duration
	// Reserved is the most invocations at once: Unreserved for no limit, 0 to switch the
	// function off.
	Reserved int
}

// The ways in which an invocation gives no answer.
var (
	errThrottled        = errors.New("no concurrency left")
	errTimedOut         = errors.New("task timed out")
	errIntegrationLimit = errors.New("no answer within the integration timeout")
)

// functionError is an error that the handler returned, or its panic.
type functionError struct{ message string }

func (e *functionError) Error() string { return e.message }

// counts of one function; the names are those of its CloudWatch metrics.
type counts struct {
	Invocations int `json:"invocations"`
	Errors      int `json:"errors"`
	Throttles   int `json:"throttles"`
	Concurrent  int `json:"concurrent_executions"`
	Reserved    int `json:"reserved_concurrency"`
	// What it was deployed with; 0 where nothing is known.
	MemoryMB       int     `json:"memory_mb,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
}

// function is a Lambda with its concurrency and its metrics.
type function struct {
	name     string
	deployed string
	handler  Invoker
	timeout  time.Duration
	gateway  *Gateway

	mu sync.Mutex
	counts
}

func newFunction(name string, f Function, g *Gateway) (*function, error) {
	if f.Handler == nil {
		return nil, fmt.Errorf("function %s has no handler", name)
	}
	if f.Reserved < Unreserved {
		return nil, fmt.Errorf("function %s: reserved concurrency must be -1 (unreserved), 0 (off) or more, not %d", name, f.Reserved)
	}
	if fmt.Sprintf("%T", f.Handler) == "*lambda.handlerOptions" {
		return nil, fmt.Errorf("function %s: a handler made by lambda.NewHandler can't run twice at once: "+
			"its answers share a buffer; use local.Handle", name)
	}
	if f.Timeout <= 0 {
		f.Timeout = defaultTimeout
	}
	return &function{
		name: name, deployed: f.DeployedName, handler: f.Handler, timeout: f.Timeout, gateway: g,
		counts: counts{Reserved: f.Reserved, MemoryMB: f.MemoryMB, TimeoutSeconds: f.Timeout.Seconds()},
	}, nil
}

func (f *function) arn() string {
	return "arn:aws:lambda:" + region + ":" + accountID + ":function:" + cmp.Or(f.deployed, f.name)
}

// invoke runs the function once. It returns after limit at the latest, the function goes on
// until its own timeout. A caller who stops waiting does not stop it, as in Lambda.
func (f *function) invoke(payload []byte, limit time.Duration) ([]byte, error) {
	if !f.begin() {
		return nil, errThrottled
	}
	ctx, cancel := context.WithTimeout(f.gateway.running, f.timeout)
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: newUUID(), InvokedFunctionArn: f.arn(),
	})
	done := make(chan outcome, 1)
	go func() { done <- f.run(ctx, payload) }()
	// The slot is held until the function ends or its time is up, whichever comes first.
	end := func(o outcome) ([]byte, error) {
		if ctx.Err() != nil {
			o = outcome{err: errTimedOut}
		}
		cancel()
		f.end(o.err)
		return o.answer, o.err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-done:
		return end(o)
	case <-ctx.Done():
		return end(outcome{})
	case <-timer.C:
		go func() {
			select {
			case o := <-done:
				_, _ = end(o)
			case <-ctx.Done():
				_, _ = end(outcome{})
			}
		}()
		return nil, errIntegrationLimit
	}
}

// outcome of a handler.
type outcome struct {
	answer []byte
	err    error
}

// run calls the handler; a panic becomes an error, as a crashed process would.
func (f *function) run(ctx context.Context, payload []byte) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			f.gateway.log.Error("function panicked", zap.String("function", f.name),
				zap.String("panic", boot.Panic(p)), zap.ByteString("stack", debug.Stack()))
			o = outcome{err: &functionError{message: boot.Panic(p)}}
		}
	}()
	answer, err := f.handler.Invoke(ctx, payload)
	if err != nil {
		// What Lambda reports is the text, or the message of the runtime's own error.
		var reported messages.InvokeResponse_Error
		if errors.As(err, &reported) {
			return outcome{err: &functionError{message: reported.Message}}
		}
		return outcome{err: &functionError{message: err.Error()}}
	}
	return outcome{answer: answer}
}

func (f *function) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Reserved != Unreserved && f.Concurrent >= f.Reserved {
		f.Throttles++
		return false
	}
	f.Concurrent++
	f.Invocations++
	return true
}

func (f *function) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Concurrent--
	if err != nil {
		f.Errors++
	}
}

func (f *function) setReserved(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Reserved = n
}

func (f *function) snapshot() counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}
