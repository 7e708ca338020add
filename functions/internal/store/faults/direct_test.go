package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/usage"
)

// TestDirect is TestSeeds for calls that mcp dispatches itself, with its own code from the request
// to the answer: it gives back what failed, settle what it could not write or died over.
func TestDirect(t *testing.T) {
	var admitted, owed, killed, inProcess atomic.Int64
	for seed := uint64(1); seed <= min(seeds(t), 24); seed++ {
		r := of(seed)
		r.Direct, r.Calls = true, 100
		w := simulate(t, r, nil)
		if err := w.err(); err != nil {
			t.Fatalf("seed %d: %v\nshrunk to %s", seed, err, literal(shrink(t, r, nil)))
		}
		a, _, _ := w.tally()
		admitted.Add(a)
		for _, d := range w.servers {
			owed.Add(d.owed.Load())
			killed.Add(d.killed.Load())
			inProcess.Add(d.given.Load())
		}
	}
	t.Logf("%d calls admitted, %d given back in process, %d left to settle, %d invocations killed", admitted.Load(), inProcess.Load(), owed.Load(), killed.Load())
	if owed.Load() == 0 || killed.Load() == 0 || inProcess.Load() == 0 {
		t.Error("the runs lack a kind of call: they prove less than they should")
	}
}

// server is one instance of mcp that dispatches calls itself.
type server struct {
	w     *world
	gate  *usage.Gate
	store usage.Store
	http  http.Handler
	// What became of calls that failed.
	given, owed, killed atomic.Int64

	mu    sync.Mutex
	lines []string
}

const toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"postal_lookup","arguments":{"postal_code":"1000001"}}}`

func newServer(w *world, gate *usage.Gate, store usage.Store, now func() time.Time) *server {
	s := &server{w: w, gate: gate, store: store}
	api, err := contract.Default()
	if err != nil {
		panic(err)
	}
	invokers := map[string]backend.Invoker{}
	for _, name := range api.Functions() {
		invokers[name] = s
	}
	plans := account.Plans{}
	for meter, limits := range w.plans {
		plans[meter] = limits
	}
	s.http, err = mcpserver.New(mcpserver.Config{
		API: api, Authenticator: s, Now: now,
		Log: zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(s), zap.ErrorLevel)),
		Direct: &mcpserver.Direct{
			Gate:      &admission.Gate{Meter: s, Plans: plans, Now: now},
			Functions: invokers, Refunds: s,
		},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// Authenticate takes the meter for the key.
func (s *server) Authenticate(_ context.Context, text, _ string) (account.Key, error) {
	return account.Key{ID: text, Meter: text, Plan: text}, nil
}

func (s *server) Admit(ctx context.Context, meter, code string, _ int64, limits usage.Limits) (usage.Grant, error) {
	c := ctx.Value(callKey{}).(*call)
	c.operation = code
	c.grant, c.err = s.gate.Admit(ctx, meter, code, c.units, limits)
	if c.grant.AdmissionID != "" {
		c.grant.AdmissionID = c.id // as named has it
	}
	c.decided = s.w.now()
	return c.grant, c.err
}

// Invoke is the function.
func (s *server) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	c := ctx.Value(callKey{}).(*call)
	time.Sleep(c.lasts)
	c.ended = s.w.now()
	switch {
	case c.unstarted:
		return nil, backend.ErrBusy
	case c.failed:
		return nil, &backend.FailedError{Type: "Unhandled"}
	}
	return []byte(`{"statusCode":200,"body":"{}"}`), nil
}

func (s *server) Refund(ctx context.Context, r usage.Refund) ([]usage.Outcome, error) {
	r.Cap = freeFailures
	outcomes, err := s.store.Refund(ctx, r)
	if err == nil {
		s.given.Add(1)
		c := ctx.Value(callKey{}).(*call)
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		s.w.note(c, outcomes[0])
	}
	return outcomes, err
}

// Write takes a line of the log.
func (s *server) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(line))
	return len(line), nil
}

// record finds the line of an admission, or of what could not be given back.
func (s *server) record(message, id string) (gateway.Dispatched, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if strings.Contains(line, `"msg":"`+message+`"`) && strings.Contains(line, id) {
			return gateway.ParseDispatched([]byte(line))
		}
	}
	return gateway.Dispatched{}, false
}

// one is the life of a call by mcp.
func (s *server) one(c *call, random *rand.Rand) {
	c.asked = s.w.now()
	c.lasts = time.Duration(random.Int64N(int64(3 * time.Second)))
	c.failed = random.IntN(3) == 0
	c.unstarted = c.failed && random.IntN(4) == 0
	dies := !c.failed && random.IntN(8) == 0
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), callKey{}, c), 28*time.Second)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", bytes.NewReader([]byte(toolCall)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-api-key", c.meter)
	answer := httptest.NewRecorder()
	s.http.ServeHTTP(answer, request)
	if !c.admitted() {
		return
	}
	if isError := strings.Contains(answer.Body.String(), `"isError":true`); isError != c.failed {
		s.w.complain(fmt.Errorf("the caller is told %s of a call that failed: %t", answer.Body, c.failed))
	}
	switch record, ok := s.record("owed", c.id); {
	case dies: // the caller has no answer, and the platform says so
		s.killed.Add(1)
		c.failed, c.ended = true, s.w.now()
		s.settles(c, s.admitted(c).Failed())
	case ok:
		s.owed.Add(1)
		s.settles(c, record.AccessRecord)
	case c.failed && c.outcome == "":
		s.w.complain(errors.New("a call that failed was neither given back nor left to settle"))
	}
}

// admitted is the record of a call.
func (s *server) admitted(c *call) gateway.AccessRecord {
	record, ok := s.record("admitted", c.id)
	if !ok {
		s.w.complain(fmt.Errorf("no record of %s", c.id))
	}
	return record.AccessRecord
}

// settles compares what a record gives back with the call, and gives it back.
func (s *server) settles(c *call, record gateway.AccessRecord) {
	refund, due, err := record.Refund(func(string) string { return c.operation })
	if err != nil || !due || refund.Meter != c.meter || refund.Period != c.grant.Period() || refund.Calls[0].AdmissionID != c.id ||
		refund.Calls[0].Units != c.units || refund.Calls[0].Unstarted != c.unstarted {
		s.w.complain(fmt.Errorf("the record gives back %+v, %v; the call was %+v", refund, err, c))
		return
	}
	s.w.refund(c)
}

func (w *world) complain(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}
