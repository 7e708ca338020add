// Package settle gives failed calls their units back. It reads the API's access log, so
// that crashes, timeouts and throttles are covered like any other failure, and business
// functions contain no metering.
package settle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Store takes refunds and counts denials.
type Store interface {
	Refund(ctx context.Context, r usage.Refund) ([]usage.Outcome, error)
	AddDenied(ctx context.Context, meter string, p usage.Period, n int64) error
	Once(ctx context.Context, name string, p usage.Period) (bool, error)
	Again(ctx context.Context, name string, p usage.Period) error
}

// Handler is the Lambda that the access log is subscribed to.
type Handler struct {
	API   *contract.API
	Store Store
	// Topic hears of crossed thresholds; nil where there is none.
	Topic Publisher
	// Admissions finds what an invocation of mcp admitted; nil where mcp admits nothing.
	Admissions Admissions
	Log        *zap.Logger
	Now        func() time.Time
}

// atOnce is how many meters are settled at the same time.
const atOnce = 8

// Handle settles one delivery of log records, all records of a meter together: each of
// thousands that fail in a storm would otherwise cost a round trip of its own. It fails, so that
// the delivery is repeated, when the store could not be written: refunds are applied once
// however often they come. A record that can't be read is logged and left: repeating it would
// not help.
func (h *Handler) Handle(ctx context.Context, event events.CloudwatchLogsEvent) error {
	data, err := event.AWSLogs.Parse()
	if err != nil {
		h.Log.Error("settle: delivery is not a CloudWatch Logs event", zap.Error(err))
		return nil
	}
	if data.MessageType == "CONTROL_MESSAGE" {
		return nil
	}
	start := h.Now()
	records, err := h.records(ctx, data.LogEvents)
	if err != nil { // before anything is counted: the delivery comes again as a whole
		return err
	}
	due := h.group(records)
	tally, failed := h.settleAll(ctx, due)
	h.Log.Info("settle",
		zap.Int("records", len(data.LogEvents)), zap.Int("meters", len(due)), zap.Any("outcomes", tally),
		zap.Int64("ms", h.Now().Sub(start).Milliseconds()), zap.Error(failed))
	return failed
}

// account is a meter in a month.
type account struct {
	meter  string
	period usage.Period
}

// owed is what a delivery holds of one account.
type owed struct {
	refund usage.Refund
	denied int64
	// crossed are the admissions that crossed a threshold.
	crossed []gateway.Admission
}

// group sorts the records by account.
func (h *Handler) group(records []gateway.AccessRecord) map[account]*owed {
	due := map[account]*owed{}
	of := func(meter string, p usage.Period) *owed {
		a := account{meter, p}
		if due[a] == nil {
			due[a] = &owed{}
		}
		return due[a]
	}
	for _, record := range records {
		meter := record.Admission.Meter
		if p, err := usage.ParsePeriod(record.Admission.Period); err == nil && meter != "" {
			if record.IsCountedDenial() {
				of(meter, p).denied++
			}
			if _, ok := record.Admission.Crossing(); ok {
				of(meter, p).crossed = append(of(meter, p).crossed, record.Admission)
			}
		}
		if record.Status == "" { // the line of an admission whose call goes on
			continue
		}
		refund, isDue, err := record.Refund(h.API.CodeOf)
		if err != nil {
			h.Log.Warn("settle: record left", zap.String("request_id", record.RequestID), zap.Error(err))
			continue
		}
		if isDue {
			o := of(refund.Meter, refund.Period)
			refund.Calls = append(o.refund.Calls, refund.Calls...)
			o.refund = refund
		}
	}
	return due
}

// settleAll settles some accounts at the same time, each in its own order.
func (h *Handler) settleAll(ctx context.Context, due map[account]*owed) (map[usage.Outcome]int, error) {
	var (
		mu      sync.Mutex
		failed  error
		tally   = map[usage.Outcome]int{}
		running sync.WaitGroup
		places  = make(chan struct{}, atOnce)
	)
	for a, o := range due {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			outcomes, err := h.settle(ctx, a, o)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			for _, outcome := range outcomes {
				tally[outcome]++
			}
		})
	}
	running.Wait()
	return tally, failed
}

// settle counts the denials last, and only when all else went through: a repeated delivery
// would count them again.
func (h *Handler) settle(ctx context.Context, a account, o *owed) (outcomes []usage.Outcome, err error) {
	if len(o.refund.Calls) > 0 {
		if outcomes, err = h.Store.Refund(ctx, o.refund); err != nil {
			return outcomes, err
		}
		admission.LogRefund(h.Log, h.API, o.refund, outcomes)
	}
	for _, admitted := range o.crossed {
		if err := h.tell(ctx, a, admitted); err != nil {
			return outcomes, err
		}
	}
	if o.denied > 0 {
		if err := h.Store.AddDenied(ctx, a.meter, a.period, o.denied); err != nil {
			return outcomes, fmt.Errorf("count denials of %s: %w", a.meter, err)
		}
	}
	return outcomes, nil
}

// Platform is what settle has of the cloud that it runs in. Each makes nil where the variable is
// not set.
type Platform struct {
	Topic      func(env boot.Env, variable string) (Publisher, error)
	Admissions func(env boot.Env, variable string) (Admissions, error)
}

// FromEnv builds the function of a deployment.
func FromEnv(open store.Open, platform Platform) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		s, err := open(rt.Env, boot.UsageTable)
		if err != nil {
			return nil, err
		}
		api, err := contract.Load(rt.Env)
		if err != nil {
			return nil, err
		}
		h := &Handler{API: api, Store: s.Usage(), Log: rt.Log, Now: rt.Now}
		if h.Topic, err = platform.Topic(rt.Env, boot.UsageTopicARN); err != nil {
			return nil, err
		}
		if h.Admissions, err = platform.Admissions(rt.Env, boot.DispatchLogGroup); err != nil {
			return nil, err
		}
		return boot.Consume(h.Handle), nil
	}
}
