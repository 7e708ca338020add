package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// AccessRecord is one line of the access log. API Gateway writes it, by AccessLogFormat.
// Nothing in it is a caller's text: a client can choose $context.requestId and the method, so
// neither is here. Every byte is paid for twice in a call of MCP, whose own request has a record too:
// a field is here because something reads it.
type AccessRecord struct {
	// TimestampMs is when the record came in. CloudWatch Logs keeps it beside the record and
	// Logs Insights calls it so; a file has no other place for it.
	TimestampMs int64 `json:"@timestamp,omitempty"`

	RequestID    string    `json:"request_id" variable:"extendedRequestId"`
	Route        string    `json:"route" variable:"resourcePath"`
	Status       string    `json:"status" variable:"status"`
	ResponseType string    `json:"response_type" variable:"error.responseType"`
	LatencyMs    string    `json:"latency_ms" variable:"responseLatency"`
	Admission    Admission `json:"gate" variable:"authorizer.gate"`
}

// AdmissionField is the name of an admission's text, in a record and in the authorizer's context.
const AdmissionField = "gate"

// unset is what API Gateway writes for a variable without a value.
const unset = "-"

// ParseAccessRecord reads one line of the access log.
func ParseAccessRecord(line []byte) (AccessRecord, error) {
	var r AccessRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return AccessRecord{}, fmt.Errorf("access-log record is not a JSON object of texts: %w", err)
	}
	visit(&r, func(_ reflect.StructField, v reflect.Value) {
		if v.String() == unset {
			v.SetString("")
		}
	})
	return r, nil
}

// Stamped is a line of the access log with TimestampMs in it, for where the log is a file.
func Stamped(line []byte, at time.Time) []byte {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`))
	if !ok {
		return line
	}
	return append(fmt.Appendf(nil, `{"@timestamp":%d,"`, at.UnixMilli()), rest...)
}

// counted are the denials that settle counts: those by a limit of the plan.
var counted = []problem.Code{problem.LimitExceeded, problem.RateLimited}

// CountedDenials are the values of Denial that are counted for a key.
func CountedDenials() []problem.Code { return slices.Clone(counted) }

// IsCountedDenial says whether settle counts the record as a denial.
func (r AccessRecord) IsCountedDenial() bool {
	return slices.Contains(counted, problem.Code(r.Admission.Denial))
}

// Throttled is the ResponseType of a request that a throttle refused. A method that the brake
// closed has a throttle of 0, so the records of both look the same.
const Throttled = "THROTTLED"

// Refusal is why a limit or a throttle refused the call, "" if none did. Braked calls are
// Throttled ones.
func (r AccessRecord) Refusal() problem.Code {
	switch {
	case r.IsCountedDenial():
		return problem.Code(r.Admission.Denial)
	case r.ResponseType == Throttled:
		return problem.Throttled
	}
	return ""
}

// How the texts start of admissions that settle wants: one of a call that was admitted, if the call
// failed, and ones that it wants whatever became of the call.
func forSettle() (admitted, crossed string, denied []string) {
	names := RecordNames().Admission
	for _, code := range counted {
		denied = append(denied, pair(names.Denial, string(code)))
	}
	return pair(names.AdmissionID, usage.AdmissionIDPrefix), pair(names.Crossed, crossing), denied
}

// ForSettle says whether settle wants the record: of a call that was admitted and then failed,
// of one that a limit denied, or of one that crossed a threshold. SettleFilter says the same to
// CloudWatch Logs.
func (r AccessRecord) ForSettle() bool {
	text, _ := r.Admission.MarshalText() // never fails
	starts := func(with string) bool { return strings.HasPrefix(string(text), with) }
	admitted, crossed, denied := forSettle()
	failed := strings.HasPrefix(r.Status, "4") || strings.HasPrefix(r.Status, "5")
	return failed && starts(admitted) || starts(crossed) || slices.ContainsFunc(denied, starts)
}

// SettleFilter is the filter pattern of settle's subscription to the access log
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html).
func SettleFilter() string {
	admitted, crossed, denied := forSettle()
	status := RecordNames().Status
	filter := fmt.Sprintf(`{ (%s && ($.%s = "4*" || $.%s = "5*"))`, admissionStarts(admitted), status, status)
	for _, start := range append(denied, crossed) {
		filter += " || " + admissionStarts(start)
	}
	return filter + " }"
}

// admissionStarts is the term of a filter pattern for an admission whose text starts so.
func admissionStarts(start string) string { return fmt.Sprintf(`$.%s = "%s*"`, AdmissionField, start) }

// AccessLogFormat maps the fields of a record to API Gateway's variables.
func AccessLogFormat() map[string]string {
	format := map[string]string{}
	for f := range reflect.TypeFor[AccessRecord]().Fields() {
		if variable := f.Tag.Get("variable"); variable != "" {
			format[f.Tag.Get("json")] = "$context." + variable
		}
	}
	return format
}

// RecordNames is a record in which every text holds its own name.
func RecordNames() AccessRecord {
	return spell[AccessRecord](func(name string) string { return name })
}
