package lambda

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
)

// Where the laptop pretends to run. Both are in ARNs only.
const (
	AccountID = "000000000000"
	Region    = "us-east-1"
)

// Unreserved is the reserved concurrency of a function that shares the account's.
const Unreserved = -1

// defaultTimeout is Lambda's own.
const defaultTimeout = 3 * time.Second

// MaxPayload is Lambda's limit for the event and for the answer of a synchronous
// invocation: 6 MB and a little (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const MaxPayload = 6_291_556

// Invoker is what a function's Build makes. Many goroutines call it at once.
type Invoker = boot.Invoker

// Function is how one function is deployed.
type Function struct {
	Handler Invoker
	// DeployedName is its name in AWS, where that differs from its own.
	DeployedName string
	// MemoryMB is what it has in AWS, 0 where it is not deployed there. It is only shown:
	// here all functions share the memory of one process.
	MemoryMB int
	// Timeout ends an invocation; 0 means 3 s, as in Lambda.
	Timeout time.Duration
	// Reserved is the most invocations at once: Unreserved for no limit, 0 to switch the
	// function off.
	Reserved int
	// Ended, if not nil, is called at the end of each invocation, with its ID, before the caller gets
	// the answer; err says why there is none.
	Ended func(invocation string, err error)
}

// The ways in which an invocation gives no answer, beside a *Failure.
var (
	ErrThrottled = errors.New("no concurrency left")
	ErrTimedOut  = errors.New("task timed out")
	// ErrNotWaited: the caller's limit came before the function's own timeout.
	ErrNotWaited = errors.New("no answer within the caller's limit")
)

// Failure is an error that the handler returned, or its panic.
type Failure struct{ Message string }

func (e *Failure) Error() string { return e.Message }

// Counts of one function; the names are those of its CloudWatch metrics.
type Counts struct {
	Invocations int `json:"invocations"`
	Errors      int `json:"errors"`
	Throttles   int `json:"throttles"`
	Concurrent  int `json:"concurrent_executions"`
	Reserved    int `json:"reserved_concurrency"`
	// What it was deployed with; MemoryMB is 0 where nothing is known.
	MemoryMB       int     `json:"memory_mb,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
}

// Functions are the deployed functions by name. They are safe for concurrent use.
type Functions struct {
	log *zap.Logger

	mu       sync.Mutex
	byName   map[string]*function
	closed   bool
	handlers sync.WaitGroup
}

// function is one Lambda with its concurrency and its metrics.
type function struct {
	name, deployed string
	handler        Invoker
	timeout        time.Duration
	ended          func(invocation string, err error)

	mu sync.Mutex
	Counts
	// running is the context of every invocation until an interruption replaces it.
	running context.Context
	stop    context.CancelFunc
}

// New deploys functions. The error names the one that can't be deployed, and why.
func New(functions map[string]Function, log *zap.Logger) (*Functions, error) {
	fs := &Functions{log: log, byName: map[string]*function{}}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if err := fs.Add(name, functions[name]); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

// Add deploys one more function.
func (fs *Functions) Add(name string, f Function) error {
	if f.Handler == nil {
		return fmt.Errorf("function %s has no handler", name)
	}
	if f.Reserved < Unreserved {
		return fmt.Errorf("function %s: reserved concurrency must be -1 (unreserved), 0 (off) or more, not %d", name, f.Reserved)
	}
	if fmt.Sprintf("%T", f.Handler) == "*lambda.handlerOptions" {
		return fmt.Errorf("function %s: a handler made by lambda.NewHandler can't run twice at once, because its answers share a buffer", name)
	}
	if f.Timeout <= 0 {
		f.Timeout = defaultTimeout
	}
	deployed := &function{
		name: name, deployed: f.DeployedName, handler: f.Handler, timeout: f.Timeout, ended: f.Ended,
		Counts: Counts{Reserved: f.Reserved, MemoryMB: f.MemoryMB, TimeoutSeconds: f.Timeout.Seconds()},
	}
	deployed.running, deployed.stop = context.WithCancel(context.Background())
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.byName[name] = deployed
	return nil
}

func (fs *Functions) get(name string) *function {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.byName[name]
}

// Names of the functions, in order.
func (fs *Functions) Names() []string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Sorted(maps.Keys(fs.byName))
}

// Find returns a function's own name, given that or its name in AWS; "" if there is none.
// Where the configuration does not give the latter, a deployed function is taken to carry the
// deployment's name before its own; the longest name wins.
func (fs *Functions) Find(name string) string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	best := ""
	for own, f := range fs.byName {
		switch {
		case f.deployed != "":
			if name == f.deployed {
				return own
			}
		case name == own:
			return own
		case strings.HasSuffix(name, "-"+own) && len(own) > len(best):
			best = own
		}
	}
	return best
}

// Counts of every function, by name.
func (fs *Functions) Counts() map[string]Counts {
	counts := map[string]Counts{}
	for _, name := range fs.Names() {
		counts[name] = fs.get(name).snapshot()
	}
	return counts
}

// Reserved is the reserved concurrency of a function; ok is false if there is none of the name.
func (fs *Functions) Reserved(name string) (n int, ok bool) {
	f := fs.get(name)
	if f == nil {
		return 0, false
	}
	return f.snapshot().Reserved, true
}

// SetReserved changes the reserved concurrency of a function: -1 unreserved, 0 off. Calls
// that run go on.
func (fs *Functions) SetReserved(name string, n int) error {
	f := fs.get(name)
	if f == nil {
		return fmt.Errorf("there is no function %q; there are %s", name, strings.Join(fs.Names(), ", "))
	}
	if n < Unreserved {
		return fmt.Errorf("reserved concurrency of %s must be -1 (unreserved), 0 (off) or more, not %d", name, n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Counts.Reserved = n
	return nil
}

// Invoke runs a function once. It returns after limit at the latest, 0 for no limit; the
// function goes on until its own timeout. A caller that stops waiting does not stop it, as in
// Lambda.
func (fs *Functions) Invoke(name string, payload []byte, limit time.Duration) ([]byte, error) {
	f := fs.get(name)
	if f == nil {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	if limit <= 0 || limit > f.timeout {
		limit = f.timeout + time.Second // its own timeout comes first
	}
	ctx, cancel, err := fs.invocation(f)
	if err != nil {
		return nil, err
	}
	ended := make(chan outcome, 1)
	end := f.ending(ctx, cancel, func(o outcome) { ended <- o })
	go func() {
		defer fs.handlers.Done()
		growStack(false)
		end(f.run(ctx, payload, fs.log))
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-ended:
		return o.answer, o.err
	case <-timer.C:
		return nil, ErrNotWaited
	}
}

// invocation takes a place and makes the context to run under.
func (fs *Functions) invocation(f *function) (context.Context, context.CancelFunc, error) {
	ctx, err := fs.start(f)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID:       NewRequestID(),
		InvokedFunctionArn: "arn:aws:lambda:" + Region + ":" + AccountID + ":function:" + cmp.Or(f.deployed, f.name),
	}), cancel, nil
}

// start takes a place, unless the functions are closed.
func (fs *Functions) start(f *function) (context.Context, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil, ErrThrottled
	}
	ctx, ok := f.begin()
	if !ok {
		return nil, ErrThrottled
	}
	fs.handlers.Add(1)
	return ctx, nil
}

// Interrupt ends the invocations of a function that run now, as if their time were up. Those
// that start later are not affected.
func (fs *Functions) Interrupt(name string) {
	if f := fs.get(name); f != nil {
		f.interrupt()
	}
}

// Close ends what runs, starts nothing more, and waits for the handlers, but no longer than
// ctx. The error is that of ctx.
func (fs *Functions) Close(ctx context.Context) error {
	fs.mu.Lock()
	fs.closed = true
	for _, f := range fs.byName {
		f.interrupt()
	}
	fs.mu.Unlock()
	ended := make(chan struct{})
	go func() { fs.handlers.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a function does not heed the end of its time: %w", ctx.Err())
	}
}

// outcome of a handler.
type outcome struct {
	answer []byte
	err    error
}

// ending holds the function's place until the handler has ended, for which end is to be called, or its
// time is up, whichever comes first. The invocation's outcome then goes to report.
func (f *function) ending(ctx context.Context, cancel context.CancelFunc, report func(outcome)) (end func(outcome)) {
	var once sync.Once
	first := func(o outcome) {
		if ctx.Err() != nil {
			o = outcome{err: ErrTimedOut}
		}
		f.end(o.err)
		if f.ended != nil {
			f.ended(gateway.InvocationID(ctx), o.err)
		}
		report(o)
	}
	late := context.AfterFunc(ctx, func() { once.Do(func() { first(outcome{}) }) })
	return func(o outcome) {
		late()
		once.Do(func() { first(o) })
		cancel()
	}
}

// growStack gives a new goroutine the stack that most handlers need, while there is next to nothing on
// it to copy; otherwise it would grow in steps, deep within the handler. The frame includes room whether
// it is used or not.
//
//go:noinline
func growStack(use bool) {
	if use {
		var room [24 << 10]byte
		runtime.KeepAlive(&room)
	}
}

// run calls the handler; a panic becomes an error, as a crashed process would.
func (f *function) run(ctx context.Context, payload []byte, log *zap.Logger) (o outcome) {
	defer f.recover(log, &o)
	answer, err := f.handler.Invoke(ctx, payload)
	if err != nil {
		return outcome{err: failure(err)}
	}
	return outcome{answer: answer}
}

// recover makes a failure of a panic. Use it deferred.
func (f *function) recover(log *zap.Logger, o *outcome) {
	if p := recover(); p != nil {
		log.Error("function panicked", zap.String("function", f.name),
			zap.String("panic", boot.Panic(p)), zap.ByteString("stack", debug.Stack()))
		*o = outcome{err: &Failure{boot.Panic(p)}}
	}
}

// failure has what Lambda reports of an error: the text, or the message of the runtime's own error.
func failure(err error) *Failure {
	var reported messages.InvokeResponse_Error
	if errors.As(err, &reported) {
		return &Failure{reported.Message}
	}
	return &Failure{err.Error()}
}

// begin takes a place, and returns the context to run under.
func (f *function) begin() (context.Context, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Counts.Reserved != Unreserved && f.Concurrent >= f.Counts.Reserved {
		f.Throttles++
		return nil, false
	}
	f.Concurrent++
	f.Invocations++
	return f.running, true
}

func (f *function) interrupt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop()
	f.running, f.stop = context.WithCancel(context.Background())
}

func (f *function) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Concurrent--
	if err != nil {
		f.Errors++
	}
}

func (f *function) snapshot() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Counts
}

// NewRequestID makes a UUID, as AWS does for requests and messages.
func NewRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
