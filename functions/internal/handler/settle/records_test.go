package settle

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/gateway"
)

// admitted are the lines of one invocation.
type admitted struct {
	invocation string
	lines      []string
	err        error
	asked      int
	at         time.Time
}

func (a *admitted) Admitted(_ context.Context, failed []gateway.Report) ([]string, error) {
	a.asked++
	a.at = failed[0].Time
	if len(failed) != 1 || failed[0].Record.RequestID != a.invocation {
		return nil, a.err
	}
	return a.lines, a.err
}

func report(t *testing.T, status string) string {
	t.Helper()
	line, err := json.Marshal(gateway.NewReport(time.Now(), "i1", status))
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestUnanswered: what an invocation of mcp had admitted is given back when its caller got no answer,
// once, and looked up only then. What else its lines say was delivered by itself.
func TestUnanswered(t *testing.T) {
	for _, status := range []string{"error", "timeout", "failure"} {
		m := newMemory()
		h, _ := handler(m)
		told := &topic{}
		h.Topic = told
		line := strings.Replace(record(map[string]string{"status": "", "crossed": "pct:80:8:10", "denial": "limit_exceeded"}), "{", `{"invocation":"i1",`, 1)
		other := strings.Replace(record(map[string]string{"admission_id": two}), "{", `{"invocation":"i2",`, 1)
		found := &admitted{invocation: "i1", lines: []string{line, other, "not JSON"}}
		h.Admissions = found
		for range 2 {
			if err := h.Handle(t.Context(), delivery(t, report(t, status))); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.refunds) != 1 || m.refunds[0].Calls[0].AdmissionID != one || m.refunds[0].Calls[0].Unstarted || len(told.messages) != 0 || len(m.denied) != 0 || found.asked != 2 {
			t.Errorf("%s: refunds %+v, told %v", status, m.refunds, m.told)
		}
	}
	h, _ := handler(newMemory())
	h.Admissions = &admitted{err: errors.New("asked for nothing")}
	if err := h.Handle(t.Context(), delivery(t, report(t, "success"), record(nil))); err != nil {
		t.Errorf("of an invocation that answered: %v", err)
	}
}

// TestAnAdmissionIsNoFailure: its line is delivered for what it says of the plan.
func TestAnAdmissionIsNoFailure(t *testing.T) {
	m := newMemory()
	h, logs := handler(m)
	if err := h.Handle(t.Context(), delivery(t, record(map[string]string{"status": "", "crossed": "pct:80:8:10"}))); err != nil {
		t.Fatal(err)
	}
	if len(m.refunds) != 0 || logs.FilterMessage("settle: record left").Len() != 0 {
		t.Errorf("refunds %+v, log %v", m.refunds, logs.All())
	}
}

// TestLookUpThatFails asks for the whole delivery again, and counts no denial before.
func TestLookUpThatFails(t *testing.T) {
	for _, log := range []Admissions{&admitted{err: errors.New("throttled")}, nil} {
		m := newMemory()
		h, _ := handler(m)
		h.Admissions = log
		denied := record(map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429", "period": "2026-11"})
		if err := h.Handle(t.Context(), delivery(t, denied, report(t, "error"))); err == nil || len(m.denied) != 0 {
			t.Errorf("%v; denied %v", err, m.denied)
		}
	}
}

// TestWhenAReportWasWritten: where it doesn't say, CloudWatch Logs does.
func TestWhenAReportWasWritten(t *testing.T) {
	at := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	written, err := json.Marshal(gateway.NewReport(at, "i1", "error"))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := json.Marshal(gateway.NewReport(time.Time{}, "i1", "error"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{string(written), string(silent)} {
		h, _ := handler(newMemory())
		found := &admitted{invocation: "i1"}
		h.Admissions = found
		if _, err := h.records(t.Context(), []events.CloudwatchLogsLogEvent{{Message: line, Timestamp: at.UnixMilli()}}); err != nil {
			t.Fatal(err)
		}
		if !found.at.Equal(at) {
			t.Errorf("%s was written at %s, want %s", line, found.at, at)
		}
	}
	h, _ := handler(newMemory())
	found := &admitted{invocation: "i1"}
	h.Admissions = found
	if _, err := h.records(t.Context(), []events.CloudwatchLogsLogEvent{{Message: string(written), Timestamp: at.Add(time.Minute).UnixMilli()}}); err != nil || !found.at.Equal(at) {
		t.Errorf("%v; the report's own time is %s, and %s was taken", err, at, found.at)
	}
}
