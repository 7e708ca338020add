package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
)

// Admissions finds the lines that an invocation of mcp wrote of what it admitted. It waits a little
// for lines that are on their way. at is when the platform reported the end of the invocation.
type Admissions interface {
	Admitted(ctx context.Context, invocation string, at time.Time) ([]string, error)
}

// records reads a delivery: records of an access log, the like of mcp, and reports of invocations
// of mcp that gave their callers no answer. What those had admitted is looked up only now.
func (h *Handler) records(ctx context.Context, lines []events.CloudwatchLogsLogEvent) (records []gateway.AccessRecord, err error) {
	for _, line := range lines {
		if report, ok := gateway.ParseReport([]byte(line.Message)); ok {
			unanswered, err := h.unanswered(ctx, report, time.UnixMilli(line.Timestamp))
			if err != nil {
				return nil, fmt.Errorf("find what invocation %s admitted: %w", report.Record.RequestID, err)
			}
			records = append(records, unanswered...)
			continue
		}
		record, err := gateway.ParseAccessRecord([]byte(line.Message))
		if err != nil {
			h.Log.Warn("settle: record left", zap.Error(err))
			continue
		}
		records = append(records, record)
	}
	return records, nil
}

// unanswered are the records of the calls that an invocation had admitted, as failed: whatever
// became of them, nobody heard. A denial or a crossing among them was delivered by itself.
func (h *Handler) unanswered(ctx context.Context, report gateway.Report, at time.Time) (records []gateway.AccessRecord, err error) {
	switch {
	case !report.Failed():
		return nil, nil
	case h.Admissions == nil: // it must not be taken for settled
		return nil, errors.New("the log group of mcp is not known")
	}
	lines, err := h.Admissions.Admitted(ctx, report.Record.RequestID, at)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if d, ok := gateway.ParseDispatched([]byte(line)); ok && d.Invocation == report.Record.RequestID {
			d.Crossed, d.Denial = "", ""
			records = append(records, d.AccessRecord.Failed())
		}
	}
	return records, nil
}
