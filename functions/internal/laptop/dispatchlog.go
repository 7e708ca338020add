package laptop

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/lambda"
)

// dispatchLog is the log of mcp where that dispatches calls itself. It does for settle what
// CloudWatch Logs does: it hands over what settle is subscribed to, and finds the lines of an
// invocation. What is needed after this process is killed goes to a file of its own.
type dispatchLog struct {
	log, file    io.Writer
	subscription *lambda.Subscription
	now          func() time.Time
	errors       *zap.Logger

	mu sync.Mutex
	// admitted are the lines of invocations that run, or failed.
	admitted map[string][]string
	failed   map[string]bool
}

// Write takes one line.
func (l *dispatchLog) Write(line []byte) (int, error) {
	if d, ok := gateway.ParseDispatched(line); ok {
		l.add(d, line)
	}
	return l.log.Write(line)
}

func (l *dispatchLog) add(d gateway.Dispatched, line []byte) {
	l.keep(line)
	if d.ForSettle() {
		l.subscription.Add(l.now(), string(line))
	}
	if d.Admission.AdmissionID == "" || d.Status != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.admitted[d.Invocation] = append(l.admitted[d.Invocation], string(line))
	if l.failed[d.Invocation] { // here its goroutine outlives it
		l.report(d.Invocation, "timeout")
	}
}

// keep writes to the file. One write for one line: several processes may append to it.
func (l *dispatchLog) keep(line []byte) {
	if l.file == nil {
		return
	}
	if _, err := l.file.Write(line); err != nil {
		l.errors.Error("the log of dispatched calls could not be written", zap.Error(err))
	}
}

// ended is the end of an invocation, before its caller has the answer.
func (l *dispatchLog) ended(invocation string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		if l.admitted[invocation] != nil {
			l.report(invocation, "success")
		}
		delete(l.admitted, invocation)
		return
	}
	l.failed[invocation] = true
	l.report(invocation, "error")
}

// report writes the platform's record of an invocation.
func (l *dispatchLog) report(invocation, status string) {
	r := gateway.NewReport(l.now(), invocation, status)
	line, _ := json.Marshal(r) // texts and a time always encode
	l.keep(append(line, '\n'))
	if r.Failed() {
		l.subscription.Add(r.Time, string(line))
	}
}

// Admitted returns the lines of invocations.
func (l *dispatchLog) Admitted(_ context.Context, failed []gateway.Report) (lines []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, report := range failed {
		lines = append(lines, l.admitted[report.Record.RequestID]...)
	}
	return lines, nil
}

// unsettled reads the lines of a log of an earlier run and finds what has still to be settled.
type unsettled struct {
	owes func(gateway.AccessRecord) bool
	// open are the admissions of invocations that have no report yet: their process was killed.
	open map[string][]gateway.AccessRecord
}

// add returns the records that a line makes due.
func (u *unsettled) add(line []byte) []gateway.AccessRecord {
	if r, ok := gateway.ParseReport(line); ok {
		records := u.open[r.Record.RequestID]
		delete(u.open, r.Record.RequestID)
		if !r.Failed() {
			return nil
		}
		return u.due(records)
	}
	if d, ok := gateway.ParseDispatched(line); ok && d.Invocation != "" && d.Status == "" {
		u.open[d.Invocation] = append(u.open[d.Invocation], d.AccessRecord)
		return nil
	}
	if record, err := gateway.ParseAccessRecord(line); err == nil && u.owes(record) {
		return []gateway.AccessRecord{record}
	}
	return nil
}

// rest is due when the log ends.
func (u *unsettled) rest() (records []gateway.AccessRecord) {
	for _, invocation := range slices.Sorted(maps.Keys(u.open)) {
		records = append(records, u.due(u.open[invocation])...)
	}
	return records
}

// due are the records that have units to give back if their calls failed, as these did.
func (u *unsettled) due(records []gateway.AccessRecord) (due []gateway.AccessRecord) {
	for _, record := range records {
		if record = record.Failed(); u.owes(record) {
			due = append(due, record)
		}
	}
	return due
}
