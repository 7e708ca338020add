package lambda

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
	// maxBatch is the most records in one delivery.
	maxBatch = 100
	// maxQueue is the most records that wait. Those beyond it are not delivered, and that is logged.
	maxQueue = 100_000
	// gathering is how long a record waits for others, to be delivered together.
	gathering = 20 * time.Millisecond
	// Waits between tries of a batch that the function did not take.
	firstRetry, lastRetry = 20 * time.Millisecond, 2 * time.Second
)

type logRecord struct {
	at   time.Time
	text string
}

// Subscription delivers log records to a function as a CloudWatch Logs subscription does:
// gzipped batches, in the background, again and again until they are taken. So each record
// arrives at least once.
type Subscription struct {
	functions *Functions
	function  string
	logGroup  string
	log       *zap.Logger
	delay     time.Duration

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

// NewSubscription subscribes a function to a log group. Start starts the delivery.
func NewSubscription(functions *Functions, function, logGroup string, log *zap.Logger) *Subscription {
	s := &Subscription{
		functions: functions, function: function, logGroup: logGroup, log: log, delay: gathering,
		idle: make(chan struct{}), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	close(s.idle)
	return s
}

// Start delivers in the background until Close.
func (s *Subscription) Start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.deliverAll(ctx)
}

// Add queues a record, which was written at an instant.
func (s *Subscription) Add(at time.Time, record string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= maxQueue {
		s.log.Error("log record not delivered: the function does not keep up, or the service stops", zap.String("function", s.function))
		return
	}
	if s.open == 0 {
		s.idle = make(chan struct{})
	}
	s.queue = append(s.queue, logRecord{at, record})
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
func (s *Subscription) deliverAll(ctx context.Context) {
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
func (s *Subscription) gather(ctx context.Context) {
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurry:
	case <-ctx.Done():
	}
}

// take removes the next batch from the queue.
func (s *Subscription) take() []events.CloudwatchLogsLogEvent {
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

func (s *Subscription) done(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open -= n; s.open == 0 {
		close(s.idle)
	}
}

// deliver invokes the function until it takes the batch; false when ctx ended first.
func (s *Subscription) deliver(ctx context.Context, batch []events.CloudwatchLogsLogEvent) bool {
	payload, err := subscriptionEvent(s.logGroup, s.function, batch)
	if err != nil {
		s.log.Error("log records could not be encoded", zap.Error(err))
		return true
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		_, err := s.functions.Invoke(s.function, payload, 0)
		if err == nil {
			return true
		}
		s.log.Warn("a subscribed function failed; the records are delivered again", zap.String("function", s.function),
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
func subscriptionEvent(logGroup, function string, batch []events.CloudwatchLogsLogEvent) ([]byte, error) {
	data := events.CloudwatchLogsData{
		Owner: AccountID, LogGroup: logGroup, LogStream: "local",
		SubscriptionFilters: []string{function}, MessageType: "DATA_MESSAGE", LogEvents: batch,
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

// Flush waits until every record up to now was taken. The error is that of ctx.
func (s *Subscription) Flush(ctx context.Context) error {
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
			return fmt.Errorf("%d log records are not delivered: %w", open, ctx.Err())
		}
	}
}

// Close takes no more records, delivers those it has, and ends the delivery.
func (s *Subscription) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.Flush(ctx)
	s.stop()
	if err != nil {
		return err // the delivery may hang in the function; it ends with that
	}
	<-s.ended
	return nil
}
