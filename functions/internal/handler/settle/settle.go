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
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Store takes refunds and counts denials.
type Store interface {
	Refund(ctx context.Context, r usage.Refund) (usage.Outcome, error)
	AddDenied(ctx context.Context, meter string, p usage.Period, n int64) error
}

// Handler is the Lambda that the access log is subscribed to.
type Handler struct {
	Store Store
	Log   *zap.Logger
	Now   func() time.Time
}

// Handle settles one delivery of log records. It fails, so that the delivery is repeated,
// when the store could not be written: refunds are applied once however often they come.
// A record that can't be read is logged and left: repeating it would not help.
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
	var failed error
	tally := map[usage.Outcome]int{}
	denials := map[denied]int64{}
	for _, line := range data.LogEvents {
		outcome, err := h.settle(ctx, line.Message, denials)
		if err != nil {
			failed = errors.Join(failed, err)
		}
		if outcome != "" {
			tally[outcome]++
		}
	}
	if failed == nil {
		failed = h.addDenials(ctx, denials)
	}
	h.Log.Info("settle",
		zap.Int("records", len(data.LogEvents)), zap.Any("outcomes", tally),
		zap.Int("denied_meters", len(denials)),
		zap.Int64("ms", h.Now().Sub(start).Milliseconds()), zap.Error(failed))
	return failed
}

// denied is a meter in a period, whose denials of one delivery are added up, so that a
// flood of them costs one write per delivery and not one each.
type denied struct {
	meter  string
	period usage.Period
}

func (h *Handler) settle(ctx context.Context, line string, denials map[denied]int64) (usage.Outcome, error) {
	record, err := gateway.ParseAccessRecord([]byte(line))
	if err != nil {
		h.Log.Warn("settle: record left", zap.Error(err))
		return "", nil
	}
	if record.Denial == string(problem.LimitExceeded) {
		if p, err := usage.ParsePeriod(record.Period); err == nil && record.Meter != "" {
			denials[denied{record.Meter, p}]++
		}
		return "", nil
	}
	refund, due, err := refundOf(record)
	if err != nil {
		h.Log.Warn("settle: record left", zap.String("request_id", record.RequestID), zap.Error(err))
		return "", nil
	}
	if !due {
		return "", nil
	}
	outcome, err := h.Store.Refund(ctx, refund)
	if err != nil {
		return "", fmt.Errorf("refund %s: %w", refund.AdmissionID, err)
	}
	h.Log.Info("refund", zap.String("key_id", record.KeyID), zap.String("admission_id", refund.AdmissionID),
		zap.String("operation", refund.Operation), zap.String("status", record.Status),
		zap.String("outcome", string(outcome)))
	return outcome, nil
}

// addDenials runs after the refunds, and only when they all went through: a repeated
// delivery would count them again.
func (h *Handler) addDenials(ctx context.Context, denials map[denied]int64) error {
	for d, n := range denials {
		if err := h.Store.AddDenied(ctx, d.meter, d.period, n); err != nil {
			return fmt.Errorf("count denials of %s: %w", d.meter, err)
		}
	}
	return nil
}

// refundOf returns what a record gives back. due is false when the call succeeded or took
// nothing. An error means that a field can't be what the authorizer wrote; it names the field
// and quotes nothing.
func refundOf(r gateway.AccessRecord) (refund usage.Refund, due bool, err error) {
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
	if _, ok := usage.AdmissionTime(r.AdmissionID); !ok {
		return usage.Refund{}, false, errors.New("the admission ID has a different form")
	}
	if !strings.HasPrefix(r.Meter, "key_") {
		return usage.Refund{}, false, errors.New("the meter is not the ID of a key")
	}
	period, err := usage.ParsePeriod(r.Period)
	if err != nil {
		return usage.Refund{}, false, errors.New("the period is not a month")
	}
	units, err := strconv.ParseInt(r.Units, 10, 64)
	if err != nil || units < 1 {
		return usage.Refund{}, false, errors.New("the units are not a whole number of 1 or more")
	}
	cap, err := strconv.ParseInt(r.RefundCap, 10, 64)
	if err != nil || cap < int64(usage.Unlimited) {
		return usage.Refund{}, false, errors.New("the refund cap is not a whole number of -1 or more")
	}
	return usage.Refund{
		AdmissionID: r.AdmissionID, Meter: r.Meter, Period: period, Operation: r.Operation,
		Units: units, Cap: usage.Limit(cap),
	}, true, nil
}

// FromEnv builds the function of a deployment.
func FromEnv(open store.Open) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		s, err := open(rt.Env, boot.UsageTable)
		if err != nil {
			return nil, err
		}
		h := &Handler{Store: s.Usage(), Log: rt.Log, Now: rt.Now}
		return boot.Consume(h.Handle), nil
	}
}
