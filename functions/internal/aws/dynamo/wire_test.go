package dynamo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/usage"
)

// fault is what happens to a request in transit.
type fault int

const (
	none          fault = iota
	lostRequest         // the connection breaks before the store sees the request
	lostAnswer          // the store applies it, then the connection breaks
	errorBefore         // HTTP 500, not applied
	errorAfter          // HTTP 500, applied
	refused             // no connection
	throttled           // turned away
	transactionIn       // turned away: a transaction holds the item
	conflict            // cancelled: another transaction holds the second of two items
	invalid             // HTTP 400
	page                // HTTP 403 from something else than the store
	swallowed           // no answer, ever
	late                // the connection breaks; deliver hands the request to the store later
	withoutItem         // the failed condition comes back without its item
)

var errWire = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// faultyWire sits between the SDK and a database. plan decides what happens to the nth
// request (from 0) of an operation.
type faultyWire struct {
	to   http.RoundTripper // the emulator if it is nil
	mu   sync.Mutex
	plan func(operation string, n int) fault
	seen []string
	held []*http.Request
	// after runs once the fault has happened, before the SDK notices.
	after func(operation string, n int)
}

func script(faults ...fault) func(string, int) fault {
	return func(_ string, n int) fault {
		if n < len(faults) {
			return faults[n]
		}
		return none
	}
}

func (w *faultyWire) reset(plan func(string, int) fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan, w.seen = plan, nil
}

func (w *faultyWire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

func (w *faultyWire) next(operation string) (fault, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.seen)
	w.seen = append(w.seen, operation)
	if w.plan == nil {
		return none, n
	}
	return w.plan(operation, n), n
}

func (w *faultyWire) RoundTrip(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	f, n := w.next(operation)
	res, err := w.apply(f, req)
	if w.after != nil {
		w.after(operation, n)
	}
	return res, err
}

func (w *faultyWire) apply(f fault, req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	switch f {
	case lostRequest:
		return nil, errWire
	case refused:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case errorBefore:
		return answer(req, 500, "InternalServerError"), nil
	case throttled:
		return answer(req, 400, "ThrottlingException"), nil
	case transactionIn:
		return answer(req, 400, "TransactionConflictException"), nil
	case conflict:
		return answerWith(req, 400, "TransactionCanceledException", `,"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}]`), nil
	case invalid:
		return answer(req, 400, "ValidationException"), nil
	case page:
		res := answer(req, 403, "")
		res.Body, res.ContentLength = io.NopCloser(strings.NewReader("<html>")), -1
		return res, nil
	case swallowed:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case late:
		w.hold(req, body)
		return nil, errWire
	}
	res, err := w.arrive(req)
	if err != nil {
		return nil, err
	}
	switch f {
	case lostAnswer:
		_ = res.Body.Close()
		return nil, errWire
	case errorAfter:
		_ = res.Body.Close()
		return answer(req, 500, "InternalServerError"), nil
	case withoutItem:
		return stripItem(res)
	}
	return res, nil
}

func (w *faultyWire) arrive(req *http.Request) (*http.Response, error) {
	return cmp.Or(w.to, http.DefaultTransport).RoundTrip(req)
}

// over makes a store of the double of DynamoDB, which takes a hundredth of the emulator's time and, as
// TestDoubleAgreesWithMoto shows, answers alike.
func over(transport http.RoundTripper) *Store {
	return New(dynamotest.Client(transport), Tables{Accounts: "accounts", Usage: "usage"})
}

// faulty makes a store of the double with a wire in between.
func faulty(plan func(string, int) fault) (*faultyWire, *Store) {
	wire := &faultyWire{to: dynamotest.New(), plan: plan}
	return wire, over(wire)
}

func (w *faultyWire) hold(req *http.Request, body []byte) {
	copied := req.Clone(context.WithoutCancel(req.Context()))
	copied.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, copied)
}

// deliver hands over the requests that were held up.
func (w *faultyWire) deliver(t *testing.T) (delivered int) {
	w.mu.Lock()
	held := w.held
	w.held = nil
	w.mu.Unlock()
	for _, req := range held {
		res, err := w.arrive(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	return len(held)
}

func answer(req *http.Request, status int, code string) *http.Response {
	return answerWith(req, status, code, "")
}

func answerWith(req *http.Request, status int, code, members string) *http.Response {
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"made by the test"` + members + `}`
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func stripItem(res *http.Response) (*http.Response, error) {
	defer func() { _ = res.Body.Close() }()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return nil, err
	}
	delete(body, "Item")
	if reasons, ok := body["CancellationReasons"].([]any); ok {
		for _, r := range reasons {
			delete(r.(map[string]any), "Item")
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	res.Header.Del("X-Amz-Crc32")
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return res, nil
}

// answers to each write, the first ones first and the last one for ever.
type answers struct {
	status int
	code   string
	member []string
	sent   int
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	member := a.member[min(a.sent, len(a.member)-1)]
	a.sent++
	return answerWith(req, a.status, a.code, member), nil
}

// start is the time at which the tests start.
var start = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func admissionAt(at time.Time, meter string, limit usage.Limit) usage.Admission {
	return admissionWith(at, meter, usage.Limits{Monthly: limit, Daily: usage.Unlimited})
}

func admissionWith(at time.Time, meter string, limits usage.Limits) usage.Admission {
	return usage.Admission{ID: usage.NewAdmissionID(at), At: at, Meter: meter, Operation: "pl", Units: 1, Limits: limits}
}

func refundOf(calls ...usage.Admission) usage.Refund {
	r := usage.Refund{Meter: calls[0].Meter, Period: calls[0].Period(), Cap: usage.Unlimited}
	for _, a := range calls {
		r.Calls = append(r.Calls, usage.FailedCall{AdmissionID: a.ID, Operation: a.Operation, Units: a.Units})
	}
	return r
}

// refund1 refunds one call.
func refund1(ctx context.Context, s *Store, r usage.Refund) (usage.Outcome, error) {
	o, err := s.Usage().Refund(ctx, r)
	if err != nil {
		return "", err
	}
	return o[0], nil
}

func mustAdmit(t testing.TB, s *Store, a usage.Admission) {
	t.Helper()
	if d, err := s.Usage().Admit(t.Context(), a); err != nil || !d.Admitted {
		t.Fatalf("admission: %+v, %v", d, err)
	}
}

func usedOf(t testing.TB, s *Store, meter string) int64 {
	t.Helper()
	months, err := s.Usage().Counts(t.Context(), meter, usage.PeriodOf(start))
	if err != nil {
		t.Fatal(err)
	}
	c := months[0]
	var net int64
	for _, o := range c.Operations {
		net += o.Charged - o.Refunded
	}
	if net != c.Used {
		t.Errorf("the operations' net sum is %d, used is %d", net, c.Used)
	}
	return c.Used
}
