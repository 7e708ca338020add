package apigateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"sekisho/functions/internal/laptop/lambda"
)

const typeOnly = `{"text/plain":"$context.error.responseType $context.authorizer.reason"}`

// allTypes shows the type of every refusal; only ACCESS_DENIED changes its status.
const allTypes = `"DEFAULT_4XX":{"responseTemplates":` + typeOnly + `},"DEFAULT_5XX":{"responseTemplates":` + typeOnly + `},
"ACCESS_DENIED":{"statusCode":"429","responseTemplates":` + typeOnly + `,"responseParameters":{
 "gatewayresponse.header.Retry-After":"context.authorizer.retry_after","gatewayresponse.header.X-Static":"'5'",
 "gatewayresponse.header.X-Stage":"stageVariables.state","gatewayresponse.header.X-Mine":"method.request.header.X-Mine",
 "gatewayresponse.header.X-Unset":"context.authorizer.unset","gatewayresponse.header.X-Unquoted":"static"}}`

// TestDescribedAuthorizer: what Terraform applied names its authorizer, and that is asked.
func TestDescribedAuthorizer(t *testing.T) {
	gate := lambda.Function{Handler: answers(`{}`), DeployedName: "stack-gate", Reserved: lambda.Unreserved}
	functions, err := lambda.New(map[string]lambda.Function{"gate": gate}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	g := &Gateway{config: Config{Functions: functions}}
	describe := func(authorizer, ttl string) []byte {
		return []byte(`{"components":{"securitySchemes":{"key":{"x-amazon-apigateway-authorizer":{` + ttl + `"authorizerUri":"` + uri(authorizer) + `"}}}}}`)
	}
	if name, err := g.describedAuthorizer(describe("stack-gate", `"authorizerResultTtlInSeconds":0,`)); err != nil || name != "gate" {
		t.Errorf("%q, %v", name, err)
	}
	for says, description := range map[string][]byte{
		"set authorizerResultTtlInSeconds to 0": describe("stack-gate", `"authorizerResultTtlInSeconds":300,`),
		"cached":                                describe("stack-gate", ""), // left out it is 300
		"not among the functions":               describe("stack-door", `"authorizerResultTtlInSeconds":0,`),
	} {
		if _, err := g.describedAuthorizer(description); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	if name, err := g.describedAuthorizer([]byte(`{}`)); name != "" || err != nil {
		t.Errorf("an authorizer out of nothing: %q, %v", name, err)
	}
}

func TestAuthorizerOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		authorizer Invoker
		status     int
		body       string
	}{
		"allow":                 {answers(policy("Allow", "*", `{}`)), 200, `{"ok":true}`},
		"unauthorized":          {fails("Unauthorized"), 401, "UNAUTHORIZED "},
		"reported error":        {reports("Unauthorized"), 401, "UNAUTHORIZED "},
		"not to the letter":     {fails("unauthorized"), 500, "AUTHORIZER_FAILURE "},
		"wrapped":               {fails("authorizer: Unauthorized"), 500, "AUTHORIZER_FAILURE "},
		"another error":         {fails("store down"), 500, "AUTHORIZER_FAILURE "},
		"panic":                 {invokerFunc(func(context.Context, []byte) ([]byte, error) { panic("Unauthorized!") }), 500, "AUTHORIZER_FAILURE "},
		"deny with context":     {answers(policy("Deny", "*", `{"reason":"used_up"}`)), 429, "ACCESS_DENIED used_up"},
		"allow of another":      {answers(policy("Allow", "*/POST/*", `{"reason":"elsewhere"}`)), 429, "ACCESS_DENIED elsewhere"},
		"numbers and booleans":  {answers(policy("Deny", "*", `{"reason":7.50,"b":true}`)), 429, "ACCESS_DENIED 7.50"},
		"object in the context": {answers(policy("Allow", "*", `{"reason":{"a":1}}`)), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
		"array in the context":  {answers(policy("Allow", "*", `{"reason":["a"]}`)), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
		"no policy":             {answers(`{"principalId":"p"}`), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
		"no statement":          {answers(`{"principalId":"p","policyDocument":{}}`), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
		"no principal":          {answers(strings.Replace(policy("Allow", "*", `{}`), "key_1", "", 1)), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
		"not JSON":              {answers(`allow`), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
		"null":                  {answers(`null`), 500, "AUTHORIZER_CONFIGURATION_ERROR "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, script{authorizer: tc.authorizer, refusals: allTypes})
			w := f.call("GET", "/things/7", "")
			wantStatus(t, w, tc.status)
			if w.Body.String() != tc.body {
				t.Errorf("body %q, want %q", w.Body, tc.body)
			}
			if invoked := len(f.proxied) > 0; invoked != (tc.status == 200) {
				t.Errorf("function invoked: %v", invoked)
			}
		})
	}
}

// reports fails the way the Lambda runtime writes it down.
func reports(text string) Invoker {
	return invokerFunc(func(context.Context, []byte) ([]byte, error) {
		return nil, messages.InvokeResponse_Error{Message: text, Type: "errorString"}
	})
}

func TestRefusalHeaders(t *testing.T) {
	f := newFixture(t, script{
		authorizer: answers(policy("Deny", "*", `{"retry_after":17}`)), refusals: allTypes,
		change: func(c *setup) { c.StageVariables = map[string]string{"state": "open"} },
	})
	h := f.call("GET", "/things/7", "", "X-Mine", "mine").Header()
	wantHeader(t, h, "Retry-After", "17")
	wantHeader(t, h, "X-Static", "5")
	wantHeader(t, h, "X-Stage", "open")
	wantHeader(t, h, "X-Mine", "mine")
	wantHeader(t, h, "Content-Type", "text/plain")
	wantHeader(t, h, "x-amzn-ErrorType", "AccessDeniedException")
	if h.Get("x-amzn-RequestId") == "" || h.Get("x-amz-apigw-id") == "" {
		t.Error("request IDs are missing")
	}
	for _, name := range []string{"X-Unset", "X-Unquoted"} {
		if h.Values(name) != nil {
			t.Errorf("%s is set: %q", name, h.Values(name))
		}
	}
}

func TestAuthorizerTimeoutAndThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := invokerFunc(func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return []byte(policy("Allow", "*", `{}`)), nil // too late
		})
		f := newFixture(t, script{authorizer: hangs, refusals: allTypes})
		wantStatus(t, f.call("GET", "/things/7", ""), 500)
		if err := f.functions.SetReserved("authorizer", 0); err != nil {
			t.Fatal(err)
		}
		w := f.call("GET", "/things/7", "")
		if w.Body.String() != "AUTHORIZER_FAILURE " || len(f.proxied) != 0 {
			t.Errorf("throttled authorizer: %s", w.Body)
		}
	})
}

func TestPublicOperationsSkipTheAuthorizer(t *testing.T) {
	f := newFixture(t, script{authorizer: fails("Unauthorized")})
	wantStatus(t, f.call("POST", "/open", "x"), 200)
	if len(f.authorized) != 0 {
		t.Error("the authorizer was asked")
	}
	if e := f.lastEvent(t); e.RequestContext.Authorizer != nil {
		t.Errorf("authorizer context %v", e.RequestContext.Authorizer)
	}
}

// TestNothingIsCached: the authorizer is asked for every call.
func TestNothingIsCached(t *testing.T) {
	f := newFixture(t, script{})
	for range 3 {
		wantStatus(t, f.call("GET", "/things/7", "", "X-Api-Key", "k"), 200)
	}
	if len(f.authorized) != 3 {
		t.Errorf("asked %d times", len(f.authorized))
	}
}

func TestAuthorizerEvent(t *testing.T) {
	f := newFixture(t, script{change: func(c *setup) { c.StageVariables = map[string]string{"state": "open"} }})
	f.call("GET", "/things/a%2Fb/?q=1&q=x%20y", "", "X-Api-Key", "k", "X-Two", "1", "X-Two", "2")
	e := f.authorized[0]
	want := events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type: "REQUEST", Resource: "/things/{id}", Path: "/things/a%2Fb/", HTTPMethod: "GET",
		MethodArn: "arn:aws:execute-api:us-east-1:000000000000:local/dev/GET/things/a%2Fb/",
	}
	if e.Type != want.Type || e.Resource != want.Resource || e.Path != want.Path ||
		e.HTTPMethod != want.HTTPMethod || e.MethodArn != want.MethodArn {
		t.Errorf("event %+v", e)
	}
	if e.Headers["X-Api-Key"] != "k" || e.Headers["X-Two"] != "2" || len(e.MultiValueHeaders["X-Two"]) != 2 {
		t.Errorf("headers %v", e.MultiValueHeaders)
	}
	if e.QueryStringParameters["q"] != "x y" || len(e.MultiValueQueryStringParameters["q"]) != 2 {
		t.Errorf("query %v", e.MultiValueQueryStringParameters)
	}
	if e.PathParameters["id"] != "a%2Fb" || e.StageVariables["state"] != "open" {
		t.Errorf("path %v, stage variables %v", e.PathParameters, e.StageVariables)
	}
	c := e.RequestContext
	if c.Stage != "dev" || c.ResourcePath != "/things/{id}" || c.RequestID == "" || c.Identity.SourceIP != "192.0.2.1" {
		t.Errorf("context %+v", c)
	}
}

// TestAuthorizerContextInEvent: strings, the principal, and the gateway's own number.
func TestAuthorizerContextInEvent(t *testing.T) {
	f := newFixture(t, script{authorizer: answers(policy("Allow", "*", `{"units":1,"ok":true,"plan":"free"}`))})
	f.call("GET", "/things/7", "")
	got := f.lastEvent(t).RequestContext.Authorizer
	if _, ok := got["integrationLatency"].(float64); !ok {
		t.Errorf("integrationLatency is %T", got["integrationLatency"])
	}
	delete(got, "integrationLatency")
	want := map[string]any{"units": "1", "ok": "true", "plan": "free", "principalId": "key_1"}
	if !maps.Equal(got, want) {
		t.Errorf("authorizer %v, want %v", got, want)
	}
}

// TestInvocationContext: functions know their deadline and who they are.
func TestInvocationContext(t *testing.T) {
	f := newFixture(t, script{things: func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		deadline, ok := ctx.Deadline()
		lc, _ := lambdacontext.FromContext(ctx)
		body := fmt.Sprint(ok, time.Until(deadline) > 0, len(lc.AwsRequestID), lc.InvokedFunctionArn)
		return events.APIGatewayProxyResponse{StatusCode: 200, Body: body}, nil
	}})
	if got := f.call("GET", "/open", "").Body.String(); got != "true true 36arn:aws:lambda:us-east-1:000000000000:function:things" {
		t.Error(got)
	}
}

func TestMethodARNTooLong(t *testing.T) {
	f := newFixture(t, script{})
	wantStatus(t, f.call("GET", "/things/"+strings.Repeat("x", 1600), ""), http.StatusRequestURITooLong)
	if len(f.authorized) != 0 {
		t.Error("the authorizer was asked")
	}
	wantStatus(t, f.call("GET", "/things/"+strings.Repeat("x", 1500), ""), http.StatusOK)
}
