// Package settle gives failed calls their units back. It reads the API's access log, so
// that crashes, timeouts and throttles are covered like any other failure, and business
// functions contain no metering.
package settle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

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
	Log   *zap.Logger
	Now   func() time.Time
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
	due := h.group(data.LogEvents)
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
	// crossed are the records of calls that crossed a threshold.
	crossed []gateway.AccessRecord
}

// group reads the records.
func (h *Handler) group(lines []events.CloudwatchLogsLogEvent) map[account]*owed {
	due := map[account]*owed{}
	of := func(meter string, p usage.Period) *owed {
		a := account{meter, p}
		if due[a] == nil {
			due[a] = &owed{}
		}
		return due[a]
	}
	for _, line := range lines {
		record, err := gateway.ParseAccessRecord([]byte(line.Message))
		if err != nil {
			h.Log.Warn("settle: record left", zap.Error(err))
			continue
		}
		if p, err := usage.ParsePeriod(record.Period); err == nil && record.Meter != "" {
			if record.IsCountedDenial() {
				of(record.Meter, p).denied++
			}
			if _, ok := record.Crossing(); ok {
				of(record.Meter, p).crossed = append(of(record.Meter, p).crossed, record)
			}
		}
		refund, isDue, err := RefundOf(h.API, record)
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
		for i, c := range o.refund.Calls {
			h.Log.Info("refund", zap.String("meter", a.meter), zap.String("admission_id", c.AdmissionID),
				zap.String("operation", h.operation(c.Operation)), zap.String("outcome", string(outcomes[i])))
		}
	}
	for _, record := range o.crossed {
		if err := h.tell(ctx, a, record); err != nil {
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

// operation is the ID that a code stands for.
func (h *Handler) operation(code string) string {
	if op := h.API.ByCode(code); op != nil {
		return op.ID
	}
	return code
}

// RefundOf returns what a record gives back: a refund of one call. due is false when the call
// succeeded or took nothing. An error means that a field can't be what the authorizer wrote; it
// names the field and quotes nothing.
func RefundOf(api *contract.API, r gateway.AccessRecord) (refund usage.Refund, due bool, err error) {
	if r.AdmissionID == "" {
		return usage.Refund{}, false, nil
	}
	status, err := strconv.Atoi(r.Status)
	if err != nil || status < 100 || status > 599 {
		return usage.Refund{}, false, errors.New("status is not an HTTP status")
	}
	if status < 400 {
		return usage.Refund{}, false, nil
	}
	if !strings.HasPrefix(r.Meter, "key_") {
		return usage.Refund{}, false, errors.New("the meter is not the ID of a key")
	}
	period, err := usage.ParsePeriod(r.Period)
	if err != nil {
		return usage.Refund{}, false, errors.New("the period is not a month")
	}
	units, err := strconv.ParseInt(r.Units, 10, 64)
	if err != nil {
		return usage.Refund{}, false, errors.New("the units are not a whole number")
	}
	cap, err := strconv.ParseInt(r.RefundCap, 10, 64)
	if err != nil || cap < int64(usage.Unlimited) {
		return usage.Refund{}, false, errors.New("the refund cap is not a whole number of -1 or more")
	}
	call := usage.FailedCall{AdmissionID: r.AdmissionID, Units: units, Unstarted: r.ResponseType == neverStarted}
	if op := api.Operation(r.Operation); op != nil {
		call.Operation = op.Code
	}
	refund = usage.Refund{Meter: r.Meter, Period: period, Cap: usage.Limit(cap), Calls: []usage.FailedCall{call}}
	if refund.Check() != nil {
		return usage.Refund{}, false, errors.New("the admission ID, its month or the units are not those of an admission")
	}
	return refund, true, nil
}

// neverStarted is the gateway response for a call whose function could not be invoked: it had
// no concurrency left, or the brake had stopped it. No caller can bring that about by what it
// sends, so the cap on free failures does not count it.
const neverStarted = "INTEGRATION_FAILURE"

// FromEnv builds the function of a deployment. topic opens what the variable names, nil where
// it is not set.
func FromEnv(open store.Open, topic func(env boot.Env, variable string) (Publisher, error)) boot.Build {
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
		if h.Topic, err = topic(rt.Env, boot.UsageTopicARN); err != nil {
			return nil, err
		}
		return boot.Consume(h.Handle), nil
	}
}
