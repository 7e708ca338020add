package gateway

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
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
	// Crossed is set for the call that took the month's count over a threshold; see Crossing.
	Crossed string `json:"crossed"`
}

// Crossing is a share of the monthly limit that a call reached.
type Crossing struct {
	Percent     int
	Used, Limit int64
}

// crossing starts the text of a Crossing, for the filter of settle's subscription.
const crossing = "pct:"

func (c Crossing) String() string {
	return fmt.Sprintf("%s%d:%d:%d", crossing, c.Percent, c.Used, c.Limit)
}

// Crossing reads Crossed; ok is false where there is none.
func (a Admission) Crossing() (c Crossing, ok bool) {
	_, err := fmt.Sscanf(a.Crossed, crossing+"%d:%d:%d", &c.Percent, &c.Used, &c.Limit)
	return c, err == nil
}

// Quota is what every answer to a counted call says of its limits, as header fields
// (draft-ietf-httpapi-ratelimit-headers-10): see RenderQuotas.
type Quota struct {
	RateLimit       string `json:"ratelimit"`
	RateLimitPolicy string `json:"ratelimit_policy"`
}

// Refusal is what the gateway's answer to a denied call substitutes. The values go into JSON
// as they are, so they must need no escaping; those of numbers and booleans are JSON.
type Refusal struct {
	Title          string `json:"denial_title"`
	Classification string `json:"denial_classification"`
	Retryable      string `json:"denial_retryable"`
	Hint           string `json:"denial_hint"`
	Limit          string `json:"limit"`
	Used           string `json:"used"`
	LimitPeriod    string `json:"limit_period"`
	RetryAfter     string `json:"retry_after"`
	RetryAfterMs   string `json:"retry_after_ms"`
	ResetAt        string `json:"reset_at"`
	UpgradeURL     string `json:"upgrade_url"`
}

// RefusalOf takes a problem apart. The header and the body give the same wait, in whole seconds.
func RefusalOf(p *problem.Problem) Refusal {
	seconds, _ := p.RetryAfterSeconds()
	r := Refusal{
		Title: p.Title, Classification: string(p.Classification), Retryable: strconv.FormatBool(p.Retryable), Hint: p.Hint,
		Limit: "null", Used: "null", RetryAfter: Number(seconds), RetryAfterMs: Number(seconds * 1000),
	}
	if q := p.Quota; q != nil {
		r.Limit, r.Used, r.LimitPeriod, r.ResetAt, r.UpgradeURL = Number(q.Limit), Number(q.Used), q.Period, q.ResetAt, q.UpgradeURL
	}
	return r
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

// RenderQuotas writes where a caller stands: q units (for the rate, calls) in w seconds are
// allowed, r of them are left, and all of them in t seconds.
func RenderQuotas(quotas []usage.Quota) (q Quota) {
	var policies, limits []string
	for _, one := range quotas {
		policies = append(policies, fmt.Sprintf(`"%s";q=%d;w=%d`, one.Window, one.Limit, seconds(one.Length)))
		limits = append(limits, fmt.Sprintf(`"%s";r=%d;t=%d`, one.Window, one.Remaining, seconds(one.Reset)))
	}
	return Quota{RateLimit: strings.Join(limits, ", "), RateLimitPolicy: strings.Join(policies, ", ")}
}

// seconds rounds up: who comes back earlier comes too early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// ParseQuotas reads back what RenderQuotas wrote; what it can't read is left out.
func ParseQuotas(q Quota) (quotas []usage.Quota) {
	policies := strings.Split(q.RateLimitPolicy, ", ")
	for i, limit := range strings.Split(q.RateLimit, ", ") {
		if i >= len(policies) {
			break
		}
		var one usage.Quota
		var length, reset int64
		window, figures, _ := strings.Cut(limit, ";")
		_, errLimit := fmt.Sscanf(figures, "r=%d;t=%d", &one.Remaining, &reset)
		name, policy, _ := strings.Cut(policies[i], ";")
		_, errPolicy := fmt.Sscanf(policy, "q=%d;w=%d", &one.Limit, &length)
		if errLimit != nil || errPolicy != nil || name != window {
			continue
		}
		one.Window = usage.Window(strings.Trim(window, `"`))
		one.Length, one.Reset = time.Duration(length)*time.Second, time.Duration(reset)*time.Second
		quotas = append(quotas, one)
	}
	return quotas
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

// counted are the denials that settle counts: those by a limit of the plan.
var counted = []problem.Code{problem.LimitExceeded, problem.RateLimited}

// CountedDenials are the values of Denial that are counted for a key.
func CountedDenials() []problem.Code { return slices.Clone(counted) }

// IsCountedDenial says whether settle counts the record as a denial.
func (r AccessRecord) IsCountedDenial() bool { return slices.Contains(counted, problem.Code(r.Denial)) }

// Throttled is the ResponseType of a request that a throttle refused. A method that the brake
// closed has a throttle of 0, so the records of both look the same.
const Throttled = "THROTTLED"

// Refusal is why a limit or a throttle refused the call, "" if none did. Braked calls are
// Throttled ones.
func (r AccessRecord) Refusal() problem.Code {
	switch {
	case r.IsCountedDenial():
		return problem.Code(r.Denial)
	case r.ResponseType == Throttled:
		return problem.Throttled
	}
	return ""
}

// ForSettle says whether settle wants the record: of a call that was admitted and then failed,
// of one that a limit denied, or of one that crossed a threshold. SettleFilter says the same to
// CloudWatch Logs.
func (r AccessRecord) ForSettle() bool {
	failed := strings.HasPrefix(r.Status, "4") || strings.HasPrefix(r.Status, "5")
	return failed && strings.HasPrefix(r.AdmissionID, usage.AdmissionIDPrefix) ||
		r.IsCountedDenial() || strings.HasPrefix(r.Crossed, crossing)
}

// SettleFilter is the filter pattern of settle's subscription to the access log
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html).
func SettleFilter() string {
	n := RecordNames()
	filter := fmt.Sprintf(`{ ($.%s = "%s*" && ($.%s = "4*" || $.%s = "5*"))`, n.AdmissionID, usage.AdmissionIDPrefix, n.Status, n.Status)
	for _, code := range counted {
		filter += fmt.Sprintf(` || $.%s = "%s"`, n.Denial, code)
	}
	return filter + fmt.Sprintf(` || $.%s = "%s*" }`, n.Crossed, crossing)
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
