package faults

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sekisho/functions/internal/aws/dynamo/dynamotest"
)

// fault is what happens to one request.
type fault int

const (
	none        fault = iota
	lostRequest       // the connection breaks, the store never saw it
	lostAnswer        // the store did it, the connection breaks before the answer
	errorBefore       // HTTP 500, not done
	errorAfter        // HTTP 500, done
	throttled         // turned away
	duplicate         // done, and done again much later
	late              // the connection breaks; the store does it much later
	slow              // done, after longer than anybody waits
	withoutItem       // a failed condition comes back without its item
	numberOfFaults
)

// wire is the way from one deployment to its store. Every request takes a moment that is its
// own, so that no two of them race and a run can be repeated.
type wire struct {
	store *dynamotest.Double
	// kinds are the faults that happen, share how many of a hundred requests meet one.
	kinds []fault
	share int
	seed  uint64
	// strip takes guards out of a request, to see whether the model notices.
	strip func(body string) string

	sent atomic.Uint64
	// unclear counts the updates whose sender did not learn what became of them, twice those
	// that the store saw again, or only much later.
	unclear, twice atomic.Int64
	late           sync.WaitGroup
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if w.strip != nil {
		body = []byte(w.strip(string(body)))
	}
	random := rand.New(rand.NewPCG(w.seed, w.sent.Add(1)))
	// Between 1 and 20 ms, with nanoseconds that make two of a kind unlikely.
	if err := sleep(r.Context(), time.Millisecond+time.Duration(random.Int64N(int64(19*time.Millisecond)))); err != nil {
		return nil, err
	}
	f := none
	if len(w.kinds) > 0 && random.IntN(100) < w.share {
		f = w.kinds[random.IntN(len(w.kinds))]
	}
	return w.apply(f, r, body, time.Duration(random.Int64N(int64(time.Second))))
}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

func (w *wire) apply(f fault, r *http.Request, body []byte, delay time.Duration) (*http.Response, error) {
	update := strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem")
	do := func() *http.Response {
		own := r.Clone(r.Context()) // a late one runs beside its sender
		own.Body = io.NopCloser(bytes.NewReader(body))
		response, _ := w.store.RoundTrip(own) // it has no connection to lose
		return response
	}
	if update && (f == lostAnswer || f == errorAfter || f == late || f == slow) {
		w.unclear.Add(1)
	}
	if update && (f == late || f == duplicate) {
		w.twice.Add(1)
	}
	switch f {
	case lostRequest:
		return nil, errReset
	case errorBefore:
		return dynamotest.Answer(r, http.StatusInternalServerError, dynamotest.Error("InternalServerError")), nil
	case throttled:
		return dynamotest.Answer(r, http.StatusBadRequest, dynamotest.Error("ThrottlingException")), nil
	case lostAnswer:
		do()
		return nil, errReset
	case errorAfter:
		do()
		return dynamotest.Answer(r, http.StatusInternalServerError, dynamotest.Error("InternalServerError")), nil
	case duplicate:
		w.later(delay, do)
	case late:
		w.later(delay, do)
		return nil, errReset
	case slow:
		response := do()
		if err := sleep(r.Context(), time.Minute); err != nil {
			return nil, err
		}
		return response, nil
	case withoutItem:
		response := do()
		return withoutItems(r, response), nil
	}
	return do(), nil
}

func (w *wire) later(delay time.Duration, do func() *http.Response) {
	w.late.Go(func() {
		time.Sleep(delay)
		do()
	})
}

func withoutItems(r *http.Request, response *http.Response) *http.Response {
	body, _ := io.ReadAll(response.Body)
	if !bytes.Contains(body, []byte("ConditionalCheckFailedException")) {
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response
	}
	return dynamotest.Answer(r, http.StatusBadRequest, dynamotest.Error("ConditionalCheckFailedException"))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
