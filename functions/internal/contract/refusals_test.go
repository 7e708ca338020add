package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// rest is the part of the description that other packages determine.
type rest struct {
	StageVariables map[string]map[string]string `yaml:"x-sekisho-stage-variables"`
	AccessLog      map[string]string            `yaml:"x-sekisho-access-log"`
	SettleFilter   string                       `yaml:"x-sekisho-settle-filter"`
	DispatchFilter string                       `yaml:"x-sekisho-dispatch-filter"`
	QueryFields    map[string]string            `yaml:"x-sekisho-query-fields"`
	Responses      map[string]rendered          `yaml:"x-amazon-apigateway-gateway-responses"`
}

// rendered is a GatewayResponse as the description has it.
type rendered struct {
	StatusCode         string            `yaml:"statusCode,omitempty"`
	ResponseParameters map[string]string `yaml:"responseParameters,omitempty"`
	ResponseTemplates  map[string]string `yaml:"responseTemplates"`
}

// generated makes the end of base.yaml out of what is written above it.
func generated(t *testing.T, written []byte) []byte {
	t.Helper()
	var table struct {
		NotStarted struct {
			Open   []problem.Code
			Braked problem.Code
		} `yaml:"x-sekisho-not-started"`
		Refusals map[string]problem.Code `yaml:"x-sekisho-refusals"`
	}
	if err := yaml.Unmarshal(written, &table); err != nil {
		t.Fatal(err)
	}
	out := rest{
		StageVariables: map[string]map[string]string{"open": {}, "braked": {}}, AccessLog: gateway.AccessLogFormat(),
		SettleFilter: gateway.SettleFilter(), DispatchFilter: gateway.DispatchFilter(), QueryFields: gateway.QueryFields(), Responses: map[string]rendered{},
	}
	braked := known(t, table.NotStarted.Braked)
	for _, code := range table.NotStarted.Open {
		maps.Copy(out.StageVariables["open"], stageVariables(code, known(t, code)))
		maps.Copy(out.StageVariables["braked"], stageVariables(code, braked))
	}
	for kind, code := range table.Refusals {
		p := known(t, code)
		switch {
		case code == problem.LimitExceeded:
			out.Responses[kind] = ofDenial(t, p)
		case slices.Contains(table.NotStarted.Open, code):
			out.Responses[kind] = ofNotStarted(t, p, braked)
		default:
			out.Responses[kind] = of(t, p, strings.HasPrefix(kind, "DEFAULT_"))
		}
		readableByPages(out.Responses[kind].ResponseParameters)
	}
	var encoded bytes.Buffer
	encoder := yaml.NewEncoder(&encoded)
	encoder.SetIndent(2)
	if err := encoder.Encode(out); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

func known(t *testing.T, code problem.Code) *problem.Problem {
	t.Helper()
	p := problem.New(code, "")
	if p.Code != code {
		t.Fatalf("the package problem has no code %q", code)
	}
	return p
}

// stageVariables say p where the response of a code is rendered.
func stageVariables(code problem.Code, p *problem.Problem) map[string]string {
	body := p.Body()
	n := gateway.NotStarted{
		Error: string(body.Error), Classification: string(body.Classification),
		Retryable: strconv.FormatBool(body.Retryable), RetryAfterMs: "null",
	}
	if body.RetryAfterMs != nil {
		n.RetryAfterMs = gateway.Number(*body.RetryAfterMs)
	}
	return n.Variables(string(code))
}

// of renders a problem that is the same for every call. A default keeps the status that API
// Gateway gives each case of it.
func of(t *testing.T, p *problem.Problem, isDefault bool) rendered {
	t.Helper()
	body := p.Body()
	r := rendered{StatusCode: strconv.Itoa(p.Status), ResponseParameters: map[string]string{}}
	if isDefault {
		r.StatusCode, body.Status = "", 0
	}
	if seconds, ok := p.RetryAfterSeconds(); ok {
		r.ResponseParameters = retryAfter("'" + gateway.Number(seconds) + "'")
	}
	r.ResponseTemplates = template(t, body)
	return r
}

// ofDenial renders the one answer to every denied call, which the authorizer completes: the
// gateway has no other way to answer 429 from there.
func ofDenial(t *testing.T, p *problem.Problem) rendered {
	t.Helper()
	v := gateway.ContextVariables()
	body := problem.Denial(p.Code, &problem.Quota{Period: v.LimitPeriod, ResetAt: v.ResetAt, UpgradeURL: v.UpgradeURL}, 0).Body()
	body.Type = strings.ReplaceAll(body.Type, string(p.Code), v.Denial)
	body.Error, body.Title, body.Hint = problem.Code(v.Denial), v.Title, v.Hint
	body.Classification, body.Retryable = problem.Classification(v.Classification), false
	parameters := retryAfter(strings.TrimPrefix(v.RetryAfter, "$"))
	parameters["gatewayresponse.header.RateLimit"] = strings.TrimPrefix(v.RateLimit, "$")
	parameters["gatewayresponse.header.RateLimit-Policy"] = strings.TrimPrefix(v.RateLimitPolicy, "$")
	return rendered{
		StatusCode:         strconv.Itoa(p.Status),
		ResponseParameters: parameters,
		ResponseTemplates: template(t, body, `"retryable":false`, `"retryable":`+v.Retryable, `"retryAfterMs":0`, `"retryAfterMs":`+v.RetryAfterMs,
			`"limit":0`, `"limit":`+v.Limit, `"used":0`, `"used":`+v.Used),
	}
}

// ofNotStarted renders one answer for two kinds of problem. The stage variables say which of
// them it is, and can't hold sentences. A type of response has one status, and no header that
// varies: the status is that of the open state, and Retry-After is left out.
func ofNotStarted(t *testing.T, open, braked *problem.Problem) rendered {
	t.Helper()
	if open.Title != braked.Title {
		t.Fatalf("%s and %s share an answer of the gateway, so they need the same title", open.Code, braked.Code)
	}
	v := gateway.NotStartedVariables(string(open.Code))
	body := open.Body()
	body.Type = strings.ReplaceAll(body.Type, string(open.Code), v.Error)
	body.Error, body.Classification = problem.Code(v.Error), problem.Classification(v.Classification)
	body.Retryable, body.RetryAfterMs = false, nil
	body.Hint = "If error is " + string(open.Code) + ": " + open.Hint + " If error is " + string(braked.Code) + ": " + braked.Hint
	return rendered{
		StatusCode:         strconv.Itoa(open.Status),
		ResponseParameters: map[string]string{},
		ResponseTemplates: template(t, body, `"retryable":false`, `"retryable":`+v.Retryable,
			`"retryAfterMs":null`, `"retryAfterMs":`+v.RetryAfterMs),
	}
}

// readableByPages keeps a browser from hiding the answer from the page that called.
func readableByPages(parameters map[string]string) {
	parameters["gatewayresponse.header.Access-Control-Allow-Origin"] = "'" + gateway.AnyOrigin + "'"
	parameters["gatewayresponse.header.Access-Control-Expose-Headers"] = "'" + gateway.ExposedHeaders + "'"
}

func retryAfter(source string) map[string]string {
	return map[string]string{"gatewayresponse.header.Retry-After": source}
}

// template writes a body. Pairs are what a body of Go can't say: a variable where a number or a
// boolean is.
func template(t *testing.T, body problem.Body, pairs ...string) map[string]string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%s: want one %s", text, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return map[string]string{problem.ContentType: text}
}
