package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
)

// subscriber is a function that keeps the records it takes. before may refuse a delivery.
type subscriber struct {
	*Subscription
	functions *Functions
	before    func() error
	records   []string
	ids       map[string]bool
	sizes     []int
}

func (s *subscriber) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return nil, err
		}
	}
	var e events.CloudwatchLogsEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	data, err := e.AWSLogs.Parse()
	if err != nil || data.MessageType != "DATA_MESSAGE" || data.LogGroup != "/group" {
		return nil, fmt.Errorf("%+v, %w", data, err)
	}
	s.sizes = append(s.sizes, len(data.LogEvents))
	for _, record := range data.LogEvents {
		s.records, s.ids[record.ID] = append(s.records, record.Message), true
	}
	return nil, nil
}

func subscribe(t *testing.T, delay time.Duration, before func() error) *subscriber {
	s := &subscriber{before: before, ids: map[string]bool{}}
	s.functions = deploy(t, map[string]Function{"settle": {Handler: s, Reserved: Unreserved}})
	s.Subscription = NewSubscription(s.functions, "settle", "/group", zap.NewNop())
	s.delay = delay
	s.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
	return s
}

func (s *subscriber) add(n int) {
	for i := range n {
		s.Add(time.Now(), strconv.Itoa(i))
	}
}

func (s *subscriber) taken(t *testing.T) int {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return len(s.records)
}

// TestRedelivery: a batch that the function refuses comes again until it is taken.
func TestRedelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		s := subscribe(t, time.Millisecond, func() error {
			if tries.Add(1) < 4 {
				return errors.New("store down")
			}
			return nil
		})
		s.add(5)
		if got := s.taken(t); got != 5 || tries.Load() != 4 {
			t.Errorf("%d records after %d tries", got, tries.Load())
		}
	})
}

// TestThrottledSubscriber: switched off, it gets its records once it is on again.
func TestThrottledSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subscribe(t, time.Millisecond, nil)
		if err := s.functions.SetReserved("settle", 0); err != nil {
			t.Fatal(err)
		}
		s.add(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 log records") {
			t.Errorf("Flush: %v", err)
		}
		if err := s.functions.SetReserved("settle", Unreserved); err != nil {
			t.Fatal(err)
		}
		if got := s.taken(t); got != 1 {
			t.Errorf("%d records", got)
		}
	})
}

// TestBatches: records that come together go together, at most 100 at once, each once, and
// their IDs differ.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subscribe(t, time.Minute, nil)
		s.add(250)
		if got := s.taken(t); got != 250 || len(s.ids) != 250 {
			t.Errorf("%d records, %d IDs", got, len(s.ids))
		}
		if fmt.Sprint(s.sizes) != "[100 100 50]" {
			t.Errorf("batches of %v", s.sizes)
		}
	})
}

// TestDeliveredWithoutFlush: the background does it too.
func TestDeliveredWithoutFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subscribe(t, gathering, nil)
		s.add(1)
		time.Sleep(2 * gathering)
		synctest.Wait()
		if len(s.records) != 1 {
			t.Errorf("records %v", s.records)
		}
	})
}

// TestCloseDelivers: nothing is lost by a clean stop; afterwards records are refused.
func TestCloseDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subscribe(t, time.Hour, nil)
		s.add(1)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.add(1)
		if len(s.records) != 1 {
			t.Errorf("records %v", s.records)
		}
	})
}

// TestCloseDoesNotWaitForEver: a function that does not take its records is left behind.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subscribe(t, time.Millisecond, func() error { return errors.New("down") })
		s.add(1)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if err := s.Close(ctx); err == nil || time.Since(began) != 2*time.Second {
			t.Errorf("Close: %v after %s", err, time.Since(began))
		}
	})
}

// TestConcurrentRecords: under load none is lost and none comes twice.
func TestConcurrentRecords(t *testing.T) {
	s := subscribe(t, time.Millisecond, nil)
	done := make(chan struct{})
	for range 8 {
		go func() { s.add(50); done <- struct{}{} }()
	}
	for range 8 {
		<-done
	}
	if got := s.taken(t); got != 400 || len(s.ids) != 400 {
		t.Errorf("%d records, %d IDs", got, len(s.ids))
	}
}
