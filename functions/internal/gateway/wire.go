package gateway

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// Admission is what the authorizer says of a call to both its readers: the function behind it
// and the access log. Every value is text; an empty one says nothing.
type Admission struct {
	Operation string `json:"operation"`
	KeyID     string `json:"key_id"`
	Meter     string `json:"meter"`
	UserID    string `json:"user_id"`
	Plan      string `json:"plan"`
	Period    string `json:"period"`
	// AdmissionID, Units and RefundCap are set when units were taken; settle gives them back.
	AdmissionID string `json:"admission_id"`
	Units       string `json:"units"`
	RefundCap   string `json:"refund_cap"`
	// Denial is the problem code of a denied call.
	Denial string `json:"denial"`
}

// Quota has the figures of a counted call, in units and seconds.
type Quota struct {
	Limit         string `json:"limit"`
	Used          string `json:"used"`
	ResetSeconds  string `json:"reset_seconds"`
	WindowSeconds string `json:"window_seconds"`
}

// Refusal is what the gateway's answer to a denied call substitutes. The values go into JSON
// as they are, so they must need no escaping.
type Refusal struct {
	RetryAfter   string `json:"retry_after"`
	RetryAfterMs string `json:"retry_after_ms"`
	ResetAt      string `json:"reset_at"`
	UpgradeURL   string `json:"upgrade_url"`
}

// AuthorizerContext is all that the authorizer hands on with its decision. API Gateway takes
// only texts, numbers and booleans, and makes text of them all.
type AuthorizerContext struct {
	Admission
	Quota
	Refusal
}

// Values is the context as an authorizer returns it. Empty values are left out, except those
// of a refusal, all of which the gateway's answer substitutes.
func (c AuthorizerContext) Values() map[string]any {
	values := map[string]any{}
	add := func(f reflect.StructField, v reflect.Value) {
		if v.String() != "" {
			values[f.Tag.Get("json")] = v.String()
		}
	}
	visit(&c.Admission, add)
	visit(&c.Quota, add)
	if c.Denial != "" {
		visit(&c.Refusal, func(f reflect.StructField, v reflect.Value) { values[f.Tag.Get("json")] = v.String() })
	}
	return values
}

// ParseAuthorizerContext reads the context as a function finds it in its event. API Gateway
// adds values of its own there, which are passed over.
func ParseAuthorizerContext(values map[string]any) AuthorizerContext {
	var c AuthorizerContext
	visit(&c, func(f reflect.StructField, v reflect.Value) {
		if text, ok := values[f.Tag.Get("json")].(string); ok {
			v.SetString(text)
		}
	})
	return c
}

// SetQuota writes the figures of a decision: until the reset, and the length of the period.
func (c *AuthorizerContext) SetQuota(limit, used int64, reset, window time.Duration) {
	c.Limit, c.Used = Number(limit), Number(used)
	c.ResetSeconds, c.WindowSeconds = Number(int64(reset/time.Second)), Number(int64(window/time.Second))
}

// Figures reads back what SetQuota wrote; ok is false where nothing was counted or the limit is
// usage.Unlimited.
func (q Quota) Figures() (limit, used, resetSeconds, windowSeconds int64, ok bool) {
	ok = true
	read := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	limit, used, resetSeconds, windowSeconds = read(q.Limit), read(q.Used), read(q.ResetSeconds), read(q.WindowSeconds)
	return limit, used, resetSeconds, windowSeconds, ok
}

// Number writes a number as the wire has it.
func Number(n int64) string { return strconv.FormatInt(n, 10) }

// AccessRecord is one line of the access log. API Gateway writes it, by AccessLogFormat.
// Nothing in it is a caller's text: a client can choose $context.requestId and the method, so
// neither is here.
type AccessRecord struct {
	RequestID    string `json:"request_id" variable:"extendedRequestId"`
	TimeEpochMs  string `json:"time_epoch_ms" variable:"requestTimeEpoch"`
	Route        string `json:"route" variable:"resourcePath"`
	Status       string `json:"status" variable:"status"`
	ResponseType string `json:"response_type" variable:"error.responseType"`
	LatencyMs    string `json:"latency_ms" variable:"responseLatency"`
	Admission
}

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

// ForSettle says whether settle wants the record: a call that was admitted and then failed, or
// one that was denied. SettleFilter says the same to CloudWatch Logs.
func (r AccessRecord) ForSettle() bool {
	failed := strings.HasPrefix(r.Status, "4") || strings.HasPrefix(r.Status, "5")
	return failed && strings.HasPrefix(r.AdmissionID, usage.AdmissionIDPrefix) || r.Denial == string(problem.LimitExceeded)
}

// SettleFilter is the filter pattern of settle's subscription to the access log
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html).
func SettleFilter() string {
	n := RecordNames()
	return fmt.Sprintf(`{ ($.%s = "%s*" && ($.%s = "4*" || $.%s = "5*")) || $.%s = "%s" }`,
		n.AdmissionID, usage.AdmissionIDPrefix, n.Status, n.Status, n.Denial, problem.LimitExceeded)
}

// AccessLogFormat maps the fields of a record to API Gateway's variables.
func AccessLogFormat() map[string]string {
	format := map[string]string{}
	visit(new(AccessRecord), func(f reflect.StructField, _ reflect.Value) {
		name := f.Tag.Get("json")
		if variable := f.Tag.Get("variable"); variable != "" {
			format[name] = "$context." + variable
		} else {
			format[name] = authorizerVariable(name)
		}
	})
	return format
}

// RecordNames is a record in which every field holds its own name.
func RecordNames() AccessRecord {
	return spell[AccessRecord](func(name string) string { return name })
}

// ContextVariables is a context in which every value is the variable that a gateway response
// substitutes with it.
func ContextVariables() AuthorizerContext { return spell[AuthorizerContext](authorizerVariable) }

func authorizerVariable(name string) string { return "$context.authorizer." + name }

// NotStarted is what stage variables say of calls that were not started: the brake changes
// them, so that one gateway response serves both states. The names of the variables begin with
// the code that the response has while the brake is off, such as unavailable_error.
type NotStarted struct {
	Error          string `json:"error"`
	Classification string `json:"classification"`
	Retryable      string `json:"retryable"`
	RetryAfterMs   string `json:"retry_after_ms"`
}

// Variables are the stage variables for the response of a code.
func (n NotStarted) Variables(code string) map[string]string {
	variables := map[string]string{}
	visit(&n, func(f reflect.StructField, v reflect.Value) { variables[code+"_"+f.Tag.Get("json")] = v.String() })
	return variables
}

// NotStartedVariables has for every value the variable that the gateway response of a code
// substitutes with it.
func NotStartedVariables(code string) NotStarted {
	return spell[NotStarted](func(name string) string { return "$stageVariables." + code + "_" + name })
}

// spell makes a T of texts, each made from its name.
func spell[T any](text func(name string) string) T {
	var t T
	visit(&t, func(f reflect.StructField, v reflect.Value) { v.SetString(text(f.Tag.Get("json"))) })
	return t
}

// visit calls f with every text of a struct, those of embedded structs among them.
func visit(pointer any, f func(reflect.StructField, reflect.Value)) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Anonymous {
				walk(v.Field(i))
			} else {
				f(field, v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(pointer).Elem())
}
