// Package settle gives failed calls their units back. It reads the API's access log, so
// that crashes, timeouts and throttles are covered like any other failure, and business
// functions contain no metering.
package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
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

// Record is one line of the access log, as the contract's x-sekisho-access-log names its
// fields. Every value is text; API Gateway writes "-" for what has no value.
type Record struct {
	RequestID   string `json:"request_id"`
	Status      string `json:"status"`
	AdmissionID string `json:"admission_id"`
	Operation   string `json:"operation"`
	KeyID       string `json:"key_id"`
	Meter       string `json:"meter"`
	Period      string `json:"period"`
	Units       string `json:"units"`
	RefundCap   string `json:"refund_cap"`
	Denial      string `json:"denial"`
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
	record, err := ParseRecord(line)
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
	refund, due, err := record.Refund()
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

// ParseRecord reads one line of the access log.
func ParseRecord(line string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return Record{}, fmt.Errorf("access-log record is not a JSON object of texts: %w", err)
	}
	for _, field := range []*string{
		&r.RequestID, &r.Status, &r.AdmissionID, &r.Operation, &r.KeyID, &r.Meter, &r.Period, &r.Units,
		&r.RefundCap, &r.Denial,
	} {
		if *field == "-" {
			*field = ""
		}
	}
	return r, nil
}

// Refund returns what a record gives back. due is false when the call succeeded or took
// nothing. An error means that a field can't be what the authorizer wrote.
func (r Record) Refund() (refund usage.Refund, due bool, err error) {
	if r.AdmissionID == "" {
		return usage.Refund{}, false, nil
	}
	status, err := strconv.Atoi(r.Status)
	if err != nil || status < 100 || status > 599 {
		return usage.Refund{}, false, fmt.Errorf("status %q is no HTTP status", r.Status)
	}
	if status < 400 {
		return usage.Refund{}, false, nil
	}
	if _, ok := usage.AdmissionTime(r.AdmissionID); !ok {
		return usage.Refund{}, false, fmt.Errorf("admission_id %q is none", clip(r.AdmissionID))
	}
	if !strings.HasPrefix(r.Meter, "key_") {
		return usage.Refund{}, false, fmt.Errorf("meter %q is none", clip(r.Meter))
	}
	period, err := usage.ParsePeriod(r.Period)
	if err != nil {
		return usage.Refund{}, false, err
	}
	units, err := strconv.ParseInt(r.Units, 10, 64)
	if err != nil || units < 1 {
		return usage.Refund{}, false, fmt.Errorf("units %q are not a whole number of 1 or more", clip(r.Units))
	}
	cap, err := strconv.ParseInt(r.RefundCap, 10, 64)
	if err != nil || cap < int64(usage.Unlimited) {
		return usage.Refund{}, false, fmt.Errorf("refund_cap %q is not a whole number of -1 or more", clip(r.RefundCap))
	}
	return usage.Refund{
		AdmissionID: r.AdmissionID, Meter: r.Meter, Period: period, Operation: r.Operation,
		Units: units, Cap: usage.Limit(cap),
	}, true, nil
}

func clip(text string) string { return fmt.Sprintf("%.40s", text) }

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
