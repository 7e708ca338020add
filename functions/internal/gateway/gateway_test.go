package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/gateway"
)

// serve runs one event through a handler.
func serve(t *testing.T, h http.HandlerFunc, event events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	t.Helper()
	return invoke[events.APIGatewayProxyResponse](t, t.Context(), gateway.Handler(h, nil), event)
}

// invoke fails on an error, which must never come.
func invoke[Response any](t *testing.T, ctx context.Context, f *gateway.Function, event any) (response Response) {
	t.Helper()
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := f.Invoke(ctx, payload)
	if err == nil {
		err = json.Unmarshal(answer, &response)
	}
	if err != nil {
		t.Fatalf("the adapter returned an error: %v", err)
	}
	return response
}

func TestRequest(t *testing.T) {
	event := events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/v1/postal/%E6%9D%B1",
		Headers: map[string]string{"accept": "text/html", "X-Single": "s"},
		MultiValueHeaders: map[string][]string{
			"accept": {"application/json", "text/event-stream"}, "AUTHORIZATION": {"a"}, "authorization": {"b"},
		},
		QueryStringParameters:           map[string]string{"a": "2", "only": "é&="},
		MultiValueQueryStringParameters: map[string][]string{"a": {"1", "2"}},
		Body:                            base64.StdEncoding.EncodeToString([]byte("body\x00")), IsBase64Encoded: true,
		RequestContext: events.APIGatewayProxyRequestContext{
			DomainName: "api.example", Identity: events.APIGatewayRequestIdentity{SourceIP: "192.0.2.1"},
		},
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	defer cancel()
	var seen bool
	invoke[struct{}](t, ctx, gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = true
		body, _ := io.ReadAll(r.Body)
		checks := []struct{ what, got, want string }{
			{"method", r.Method, "POST"},
			{"path", r.URL.Path, "/v1/postal/東"},
			{"escaped path", r.URL.EscapedPath(), "/v1/postal/%E6%9D%B1"},
			{"query", strings.Join(r.URL.Query()["a"], ","), "1,2"},
			{"single query", r.URL.Query().Get("only"), "é&="},
			{"accept", strings.Join(r.Header.Values("Accept"), "|"), "application/json|text/event-stream"},
			{"authorization", strings.Join(r.Header.Values("authorization"), "|"), "a|b"},
			{"single header", r.Header.Get("x-single"), "s"},
			{"body", string(body), "body\x00"},
			{"host", r.Host, "api.example"},
			{"client", r.RemoteAddr, "192.0.2.1"},
		}
		for _, c := range checks {
			if c.got != c.want {
				t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
			}
		}
		if e, ok := gateway.Event(r.Context()); !ok || e.Path != event.Path {
			t.Error("the event is not in the context")
		}
		if d, ok := r.Context().Deadline(); !ok || d.Year() != 2100 {
			t.Error("the function's deadline is not in the context")
		}
	}), nil), event)
	if !seen {
		t.Fatal("the handler did not run")
	}
}

func TestResponse(t *testing.T) {
	response := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Add("Vary", "Origin")
		w.Header().Add("Vary", "Accept")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Late", "1") // taken: nothing has gone out yet
		_, _ = io.WriteString(w, "短い")
	}, events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/"})
	if response.StatusCode != http.StatusTeapot || response.Body != "短い" || response.IsBase64Encoded {
		t.Errorf("got %+v", response)
	}
	if response.Headers["Content-Type"] != "text/plain" || response.Headers["Late"] != "1" {
		t.Errorf("headers: %v", response.Headers)
	}
	if strings.Join(response.MultiValueHeaders["Vary"], ",") != "Origin,Accept" {
		t.Errorf("multi-value headers: %v", response.MultiValueHeaders)
	}
}

func TestBinaryBody(t *testing.T) {
	response := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) },
		events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/"})
	if !response.IsBase64Encoded || response.Body != "/wA=" {
		t.Errorf("got %+v", response)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	response := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") },
		events.APIGatewayProxyRequest{HTTPMethod: "HEAD", Path: "/"})
	if response.Body != "" || response.StatusCode != 200 {
		t.Errorf("got %+v", response)
	}
}

// TestAlwaysAResponse: what goes wrong is a problem body, never an error.
func TestAlwaysAResponse(t *testing.T) {
	var reported any
	h := gateway.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret inside") }),
		func(v any, stack []byte) {
			reported = v
			if len(stack) == 0 {
				t.Error("no stack was reported")
			}
		})
	response := invoke[events.APIGatewayProxyResponse](t, t.Context(), h, events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/"})
	if response.StatusCode != 500 || reported != "secret inside" {
		t.Fatalf("status %d, reported %v", response.StatusCode, reported)
	}
	if strings.Contains(response.Body, "secret") || !strings.Contains(response.Body, `"error":"internal"`) {
		t.Errorf("body: %s", response.Body)
	}

	response = serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a broken body reached the handler") },
		events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/", Body: "%%%", IsBase64Encoded: true})
	if response.StatusCode != 400 || !strings.Contains(response.Body, "base64") {
		t.Errorf("broken base64: %+v", response)
	}
}

// TestSameOrigin: the host is API Gateway's word, and never the client's.
func TestSameOrigin(t *testing.T) {
	const aws, laptop = "abc.execute-api.eu-west-1.amazonaws.com", "127.0.0.1:8787"
	for _, c := range []struct {
		domain, origin string
		want           bool
	}{
		{aws, "https://" + aws, true},
		{aws, "https://ABC.execute-api.eu-west-1.amazonaws.com", true},
		{aws, "http://" + aws, false},
		{aws, "https://" + aws + ":444", false},
		{aws, "https://" + aws + "/", false},
		{aws, "https://evil.example", false},
		{aws, "https://evil.example@" + aws, false},
		{aws, "http://localhost", false},
		{aws, "null", false},
		{aws, "", false},
		{laptop, "http://127.0.0.1:8787", true},
		{laptop, "http://localhost:8787", true},
		{laptop, "http://[::1]:8787", true},
		{laptop, "https://localhost:8787", true},
		{laptop, "http://localhost:6274", false},
		{laptop, "http://localhost", false},
		{laptop, "http://rebound.example:8787", false},
		{laptop, "http://localhost.evil.example:8787", false},
		{"[::]:8787", "http://localhost:8787", true},
		{"0.0.0.0:8787", "http://127.0.0.1:8787", true},
		{"0.0.0.0:8787", "http://192.0.2.1:8787", false},
		{"localhost", "https://localhost", true},
		{"", "https://", false},
	} {
		event := events.APIGatewayProxyRequest{Headers: map[string]string{"Host": "evil.example", "X-Forwarded-Host": "evil.example"}}
		event.RequestContext.DomainName = c.domain
		if got := gateway.SameOrigin(&event, c.origin); got != c.want {
			t.Errorf("at %q, %q: %v", c.domain, c.origin, got)
		}
	}
}

func TestBaseURL(t *testing.T) {
	type c struct{ name, domain, whole, resource, path, proto, want string }
	for _, c := range []c{
		{"stage", "abc.execute-api.eu-west-1.amazonaws.com", "/prod/mcp", "/mcp", "/mcp", "https", "https://abc.execute-api.eu-west-1.amazonaws.com/prod"},
		{"final slash", "a.example", "/prod/mcp/", "/mcp", "/mcp/", "", "https://a.example/prod"},
		{"custom domain", "a.example", "/mcp", "/mcp", "/mcp", "", "https://a.example"},
		{"base path", "a.example", "/base/mcp", "/mcp", "/base/mcp", "", "https://a.example/base"},
		{"no resource", "a.example", "/prod/mcp", "", "/mcp", "", "https://a.example/prod"},
		{"never plain to the outside", "a.example", "/prod/mcp", "/mcp", "/mcp", "http", "https://a.example/prod"},
		{"laptop", "127.0.0.1:8787", "/mcp", "/mcp", "/mcp", "http", "http://127.0.0.1:8787"},
		{"laptop, unsaid", "localhost:8787", "/local/mcp", "/mcp", "/mcp", "", "http://localhost:8787/local"},
		{"laptop, IPv6", "[::1]:8787", "/mcp", "/mcp", "/mcp", "", "http://[::1]:8787"},
		{"laptop behind TLS", "localhost", "/mcp", "/mcp", "/mcp", "https", "https://localhost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			event := events.APIGatewayProxyRequest{Resource: c.resource, Path: c.path, Headers: map[string]string{"x-forwarded-proto": c.proto, "host": "evil.example"}}
			event.RequestContext.DomainName, event.RequestContext.Path = c.domain, c.whole
			got, err := gateway.BaseURL(&event)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	event := events.APIGatewayProxyRequest{StageVariables: map[string]string{gateway.RESTAddress: "https://abc.example/live"}}
	event.RequestContext.DomainName = "mcp.example"
	if got, err := gateway.BaseURL(&event); err != nil || got != "https://abc.example/live" {
		t.Errorf("through an HTTP API: %q, %v", got, err)
	}
	for _, domain := range []string{"", "a@b", "a/b", "a b", "a?b", "[::1", "a:b"} {
		event := events.APIGatewayProxyRequest{Resource: "/mcp", Path: "/mcp"}
		event.RequestContext.DomainName, event.RequestContext.Path = domain, "/mcp"
		if got, err := gateway.BaseURL(&event); err == nil {
			t.Errorf("domain %q gave %q", domain, got)
		}
	}
}

// FuzzHandler: whatever an event holds, there is a well-formed response, and a text body
// reaches the handler unchanged.
func FuzzHandler(f *testing.F) {
	f.Add([]byte(`{"httpMethod":"POST","path":"/mcp","headers":{"Accept":"*/*"},"body":"{}"}`))
	f.Add([]byte(`{"httpMethod":"GET","path":"/%zz","multiValueHeaders":{"a":null,"A":["x"]},"queryStringParameters":{"":""}}`))
	f.Add([]byte(`{"path":"//evil.example/x","body":"AA==","isBase64Encoded":true}`))
	f.Add([]byte(`{"httpMethod":"\u0000 ","path":"","requestContext":{"domainName":"\n","path":"/"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var event events.APIGatewayProxyRequest
		if json.Unmarshal(data, &event) != nil {
			t.Skip()
		}
		var body []byte
		ran := false
		h := gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran = true
			body, _ = io.ReadAll(r.Body)
			_ = r.URL.String()
			for name, values := range r.Header {
				w.Header()[name] = values
			}
			_, _ = w.Write(body)
		}), nil)
		response := invoke[events.APIGatewayProxyResponse](t, t.Context(), h, event)
		if response.StatusCode < 200 || response.StatusCode > 599 {
			t.Fatalf("status %d", response.StatusCode)
		}
		if !utf8.ValidString(response.Body) {
			t.Fatal("the body is not text")
		}
		if ran && !event.IsBase64Encoded && string(body) != event.Body {
			t.Fatal("the body changed on the way in")
		}
		_, _ = gateway.BaseURL(&event)
	})
}

func TestSource(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64",
		"::ffff:192.0.2.1": "::ffff:192.0.2.1", "fe80::1%eth0": "fe80::/64", "": "", "test-invoke-source-ip": "test-invoke-source-ip",
	} {
		if got := gateway.Source(ip); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
}
