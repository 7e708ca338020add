package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop/lambda"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// uri of the integration of a deployed function.
func uri(name string) string {
	return "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-west-1:123456789012:function:" + name + "/invocations"
}

// applied is a description as Terraform applies it: routes and integrations, no schemas and
// no x-sekisho.
func applied(refusals string) []byte {
	proxy := `"x-amazon-apigateway-integration":{"type":"aws_proxy","httpMethod":"POST","uri":"` + uri("stack-dev-things") + `"}`
	return []byte(`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"security":[{"key":[]}],
"paths":{
 "/things":{"get":{` + proxy + `}},
 "/things/{id}":{"get":{"operationId":"things.get",` + proxy + `},"put":{"operationId":"things.put",` + proxy + `}},
 "/things/special":{"get":{"operationId":"things.special",` + proxy + `}},
 "/files/{proxy+}":{"x-amazon-apigateway-any-method":{"operationId":"files.any",` + proxy + `}},
 "/open":{"x-amazon-apigateway-any-method":{"operationId":"open.any","security":[],` + proxy + `}},
 "/mock":{"post":{"operationId":"mock.post","security":[],"x-amazon-apigateway-integration":{"type":"mock","passthroughBehavior":"when_no_templates",
   "requestTemplates":{"application/json":"{\"statusCode\": $stageVariables.mock_status}"},
   "responses":{"default":{"statusCode":"200","responseTemplates":{"application/json":"{\"state\":\"fine\",\"id\":\"$context.requestId\"}"}},
                "4\\d{2}":{"statusCode":"418","responseTemplates":{"text/plain":"teapot"}}}}}}
},
"x-sekisho-access-log":{"status":"$context.status","gate":"$context.authorizer.gate","type":"$context.error.responseType","route":"$context.resourcePath","agent":"$context.identity.userAgent"},
"x-amazon-apigateway-gateway-responses":{` + refusals + `}}`)
}

// script is what the functions of a fixture do.
type script struct {
	authorizer Invoker
	things     func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)
	refusals   string
	change     func(*setup)
}

// setup is a gateway's configuration, with the functions behind it.
type setup struct {
	Config
	Functions map[string]lambda.Function
}

// fixture is a gateway whose functions remember their events.
type fixture struct {
	*Gateway
	functions  *lambda.Functions
	mu         sync.Mutex
	proxied    []events.APIGatewayProxyRequest
	authorized []events.APIGatewayCustomAuthorizerRequestTypeRequest
	records    []map[string]string
}

func newFixture(t *testing.T, s script) *fixture {
	t.Helper()
	f := &fixture{}
	c := setup{
		Config: Config{
			Description: applied(s.refusals), Authorizer: "authorizer", Domain: "127.0.0.1:8787", Stage: "dev", Subscription: f,
		},
		Functions: map[string]lambda.Function{
			"things":     {Handler: f.things(s), Timeout: 5 * time.Second, Reserved: lambda.Unreserved},
			"authorizer": {Handler: f.authorizer(s), Timeout: 5 * time.Second, Reserved: lambda.Unreserved},
		},
	}
	if s.change != nil {
		s.change(&c)
	}
	f.open(t, c)
	return f
}

func (f *fixture) open(t testing.TB, c setup) {
	t.Helper()
	var err error
	if f.functions, err = lambda.New(c.Functions, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	c.Config.Functions = f.functions
	if f.Gateway, err = New(c.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := f.functions.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Add takes the records of the access log that the subscription lets through.
func (f *fixture) Add(_ time.Time, record string) {
	var fields map[string]string
	if err := json.Unmarshal([]byte(record), &fields); err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records = append(f.records, fields)
}

func (f *fixture) things(s script) Invoker {
	return boot.Handle(func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		f.mu.Lock()
		f.proxied = append(f.proxied, e)
		f.mu.Unlock()
		if s.things != nil {
			return s.things(ctx, e)
		}
		return events.APIGatewayProxyResponse{StatusCode: 200, Body: `{"ok":true}`}, nil
	})
}

func (f *fixture) authorizer(s script) Invoker {
	return invokerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
		var e events.APIGatewayCustomAuthorizerRequestTypeRequest
		if err := json.Unmarshal(payload, &e); err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.authorized = append(f.authorized, e)
		f.mu.Unlock()
		if s.authorizer != nil {
			return s.authorizer.Invoke(ctx, payload)
		}
		return []byte(policy("Allow", "*", `{"admission_id":"adm_1","units":1,"free":false,"gate":"admission_id=adm_1"}`)), nil
	})
}

// policy is the answer of an authorizer with one statement.
func policy(effect, resource, context string) string {
	return `{"principalId":"key_1","policyDocument":{"Version":"2012-10-17","Statement":[{"Action":"execute-api:Invoke","Effect":"` +
		effect + `","Resource":["` + resource + `"]}]},"context":` + context + `}`
}

type invokerFunc func(context.Context, []byte) ([]byte, error)

func (f invokerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

func answers(text string) Invoker {
	return invokerFunc(func(context.Context, []byte) ([]byte, error) { return []byte(text), nil })
}

func fails(text string) Invoker {
	return invokerFunc(func(context.Context, []byte) ([]byte, error) { return nil, errors.New(text) })
}

// call sends a request in process; the headers are pairs of name and value.
func (f *fixture) call(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://client-chosen.example/", strings.NewReader(body))
	r.RequestURI = target
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

func (f *fixture) lastEvent(t *testing.T) events.APIGatewayProxyRequest {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.proxied) == 0 {
		t.Fatal("the function was not invoked")
	}
	return f.proxied[len(f.proxied)-1]
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d; body %s", w.Code, status, w.Body)
	}
}

func wantHeader(t *testing.T, h http.Header, name, want string) {
	t.Helper()
	if got := h.Get(name); got != want {
		t.Errorf("header %s is %q, want %q", name, got, want)
	}
}
