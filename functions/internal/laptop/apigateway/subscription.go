package apigateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
)

const (
	// maxBatch is the most records that go to the settle function at once.
	maxBatch = 100
	// maxQueue is the most records that wait. More than that are lost, with a log line.
	maxQueue = 100_000
	// Waits between tries of a batch that the settle function did not take.
	firstRetry, lastRetry = 20 * time.Millisecond, 2 * time.Second
)

type logRecord struct {
	at   time.Time
	text string
}

// subscription delivers records to the settle function as a CloudWatch Logs subscription
// does: gzipped batches, in the background, again and again until they are taken. So each
// record arrives at least once.
type subscription struct {
	gateway *Gateway
	settle  *function

	mu    sync.Mutex
	queue []logRecord
	// open counts the records that are queued or under way.
	open int
	// idle is closed while open is 0.
	idle   chan struct{}
	closed bool
	next   int // number of the next record, for its ID

	// wake holds a token when there is something to do; hurry cuts the wait for others short.
	wake, hurry chan struct{}
	stop        context.CancelFunc
	ended       chan struct{}
}

// newSubscription starts the delivery; without a settle function it takes nothing.
func newSubscription(g *Gateway, settle *function) *subscription {
	s := &subscription{
		gateway: g, settle: settle,
		idle: make(chan struct{}), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	close(s.idle)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if settle == nil {
		close(s.ended)
		return s
	}
	go s.deliverAll(ctx)
	return s
}

func (s *subscription) add(r logRecord) {
	if s.settle == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= maxQueue {
		s.gateway.log.Error("access log record lost: the settle function does not keep up, or the gateway is closed")
		return
	}
	if s.open == 0 {
		s.idle = make(chan struct{})
	}
	s.queue = append(s.queue, r)
	s.open++
	poke(s.wake)
}

// poke leaves a token, unless there is one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// deliverAll runs until ctx ends.
func (s *subscription) deliverAll(ctx context.Context) {
	defer close(s.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.gather(ctx)
		for batch := s.take(); len(batch) > 0; batch = s.take() {
			if !s.deliver(ctx, batch) {
				return
			}
			s.done(len(batch))
		}
	}
}

// gather waits a little for more records, unless somebody waits for them.
func (s *subscription) gather(ctx context.Context) {
	timer := time.NewTimer(s.gateway.config.FlushDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurry:
	case <-ctx.Done():
	}
}

// take removes the next batch from the queue.
func (s *subscription) take() []events.CloudwatchLogsLogEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), maxBatch)
	batch := make([]events.CloudwatchLogsLogEvent, n)
	for i, r := range s.queue[:n] {
		batch[i] = events.CloudwatchLogsLogEvent{
			ID: fmt.Sprintf("%056d", s.next), Timestamp: r.at.UnixMilli(), Message: r.text,
		}
		s.next++
	}
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil // lets the array go
	}
	return batch
}

func (s *subscription) done(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open -= n; s.open == 0 {
		close(s.idle)
	}
}

// deliver invokes the settle function until it takes the batch; false when ctx ended first.
func (s *subscription) deliver(ctx context.Context, batch []events.CloudwatchLogsLogEvent) bool {
	payload, err := subscriptionEvent(s.gateway.config.Stage, batch)
	if err != nil {
		s.gateway.log.Error("access log could not be encoded", zap.Error(err))
		return true
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		_, err := s.settle.invoke(payload, s.settle.timeout)
		if err == nil {
			return true
		}
		s.gateway.log.Warn("settle function failed; the records are delivered again",
			zap.Int("records", len(batch)), zap.Duration("after", wait), zap.Error(err))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// subscriptionEvent encodes a batch: JSON, gzip, base64
// (docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html).
func subscriptionEvent(stage string, batch []events.CloudwatchLogsLogEvent) ([]byte, error) {
	data := events.CloudwatchLogsData{
		Owner: accountID, LogGroup: "/sekisho/" + stage + "/access", LogStream: "local",
		SubscriptionFilters: []string{"settle"}, MessageType: "DATA_MESSAGE", LogEvents: batch,
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if err := json.NewEncoder(w).Encode(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return json.Marshal(events.CloudwatchLogsEvent{
		AWSLogs: events.CloudwatchLogsRawData{Data: base64.StdEncoding.EncodeToString(zipped.Bytes())},
	})
}

// flush waits until no record is open.
func (s *subscription) flush(ctx context.Context) error {
	for {
		s.mu.Lock()
		idle, open := s.idle, s.open
		s.mu.Unlock()
		if open == 0 {
			return nil
		}
		poke(s.hurry)
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("local: %d access log records are not delivered: %w", open, ctx.Err())
		}
	}
}

// close takes no more records, delivers those it has, and ends the delivery.
func (s *subscription) close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.flush(ctx)
	s.stop()
	if err != nil {
		return err // the delivery may hang in the settle function; it ends with that
	}
	<-s.ended
	return nil
}
