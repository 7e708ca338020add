package gateway

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

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
// only texts, numbers and booleans, and makes text of them all. The admission is there twice: as one
// text for the log, and value by value for functions and the gateway's answers, so that whose call it
// is never depends on reading a text.
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
	if text, _ := c.Admission.MarshalText(); len(text) > 0 { // it never fails
		values[AdmissionField] = string(text)
	}
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

// visit calls f with every text of a struct, and with those of the structs in it.
func visit(pointer any, f func(reflect.StructField, reflect.Value)) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for field, value := range v.Fields() {
			switch value.Kind() {
			case reflect.Struct:
				walk(value)
			case reflect.String:
				f(field, value)
			}
		}
	}
	walk(reflect.ValueOf(pointer).Elem())
}
