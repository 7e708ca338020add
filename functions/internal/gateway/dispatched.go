package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Dispatched is the line that mcp writes of a call that it admits or denies itself. The fields are
// those of the access log, so that the same readers understand both.
type Dispatched struct {
	AccessRecord
	// Invocation is Lambda's ID of the invocation that admitted the call.
	Invocation string `json:"invocation"`
}

// ParseDispatched reads a line; ok is false for any other.
func ParseDispatched(line []byte) (d Dispatched, ok bool) {
	err := json.Unmarshal(line, &d)
	return d, err == nil && (d.Admission.AdmissionID != "" || d.Admission.Denial != "")
}

// MostInvocations are as many as AdmittedBy has room for: a pattern takes 1,024 characters.
const MostInvocations = 15

// AdmittedBy is the filter pattern of the lines about what some invocations admitted.
func AdmittedBy(invocations []string) string {
	terms := make([]string, len(invocations))
	for i, invocation := range invocations {
		terms[i] = fmt.Sprintf(`$.invocation = %q`, invocation)
	}
	admitted, crossed, _ := forSettle()
	return fmt.Sprintf(`{ (%s) && (%s || %s) }`, strings.Join(terms, " || "), admissionStarts(admitted), admissionStarts(crossed))
}

// Report is the platform's record of an invocation, as Lambda writes it into a function's log
// (docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html, platform.report).
type Report struct {
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`
	Record struct {
		RequestID string `json:"requestId"`
		Status    string `json:"status"`
		Metrics   struct {
			DurationMs float64 `json:"durationMs"`
		} `json:"metrics"`
	} `json:"record"`
}

const reportType = "platform.report"

// failures are what Lambda calls an invocation that gave its caller no answer.
var failures = []string{"error", "failure", "timeout"}

// NewReport is the report of an invocation; status is success or one of the failures.
func NewReport(at time.Time, invocation, status string) (r Report) {
	r.Time, r.Type, r.Record.RequestID, r.Record.Status = at, reportType, invocation, status
	return r
}

// ParseReport reads a line; ok is false for any other.
func ParseReport(line []byte) (r Report, ok bool) {
	err := json.Unmarshal(line, &r)
	return r, err == nil && r.Type == reportType && r.Record.RequestID != ""
}

// longest is how long Lambda runs a function at most.
const longest = 15 * time.Minute

// Window is when the lines of the invocation were written: from its start to a little after the
// report, as clocks differ and lines take a while.
func (r Report) Window() (from, to time.Time) {
	took := time.Duration(r.Record.Metrics.DurationMs * float64(time.Millisecond))
	if took <= 0 || took > longest {
		took = longest
	}
	return r.Time.Add(-took - 10*time.Second), r.Time.Add(time.Minute)
}

// Failed says that the invocation's caller got no answer.
func (r Report) Failed() bool { return slices.Contains(failures, r.Record.Status) }

// DispatchFilter is the filter pattern of settle's subscription to the log of mcp, where that
// dispatches calls itself: what SettleFilter wants of an access log, and invocations that failed.
func DispatchFilter() string {
	statuses := make([]string, len(failures))
	for i, status := range failures {
		statuses[i] = `$.record.status = "` + status + `"`
	}
	return strings.TrimSuffix(SettleFilter(), " }") + ` || ($.type = "` + reportType + `" && (` + strings.Join(statuses, " || ") + `)) }`
}
