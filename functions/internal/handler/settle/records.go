package settle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
)

// Admissions finds the lines that invocations of mcp wrote of what they admitted. It waits a little
// for lines that are on their way.
type Admissions interface {
	Admitted(ctx context.Context, failed []gateway.Report) (lines []string, err error)
}

// records reads a delivery: records of an access log, the like of mcp, and reports of invocations
// of mcp that gave their callers no answer. What those had admitted is looked up only now.
func (h *Handler) records(ctx context.Context, lines []events.CloudwatchLogsLogEvent) (records []gateway.AccessRecord, err error) {
	failed := map[string]gateway.Report{}
	for _, line := range lines {
		if report, ok := gateway.ParseReport([]byte(line.Message)); ok {
			if report.Time.IsZero() {
				report.Time = time.UnixMilli(line.Timestamp)
			}
			if report.Failed() {
				failed[report.Record.RequestID] = report
			}
			continue
		}
		record, err := gateway.ParseAccessRecord([]byte(line.Message))
		if err != nil {
			h.Log.Warn("settle: record left", zap.Error(err))
			continue
		}
		records = append(records, record)
	}
	unanswered, err := h.unanswered(ctx, failed)
	return append(records, unanswered...), err
}

// unanswered are the records of the calls that failed invocations had admitted, as failed: whatever
// became of them, nobody heard. A denial or a crossing among them was delivered by itself.
func (h *Handler) unanswered(ctx context.Context, failed map[string]gateway.Report) (records []gateway.AccessRecord, err error) {
	switch {
	case len(failed) == 0:
		return nil, nil
	case h.Admissions == nil: // they must not be taken for settled
		return nil, errors.New("the log group of mcp is not known")
	}
	lines, err := h.Admissions.Admitted(ctx, slices.Collect(maps.Values(failed)))
	if err != nil {
		return nil, fmt.Errorf("find what %d invocations admitted: %w", len(failed), err)
	}
	for _, line := range lines {
		d, ok := gateway.ParseDispatched([]byte(line))
		if _, due := failed[d.Invocation]; ok && due {
			d.Admission.Crossed, d.Admission.Denial = "", ""
			records = append(records, d.AccessRecord.Failed())
		}
	}
	return records, nil
}
