package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/httpapi"
	"sekisho/functions/internal/laptop/lambda"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doors are both kinds before one function, which runs once at a time.
type doors struct {
	http, url *httpapi.Door
	functions *lambda.Functions
}

func open(t *testing.T, handler lambda.Invoker, throttle *front.Throttle) doors {
	t.Helper()
	functions, err := lambda.New(map[string]lambda.Function{"f": {Handler: handler, Timeout: time.Minute, Reserved: 1}}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := functions.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	c := httpapi.Config{Functions: functions, Function: "f", Domain: "127.0.0.1:8789"}
	return doors{
		http: httpapi.NewHTTPAPI(c, httpapi.HTTPAPI{
			Routes: []string{"ANY /mcp", "ANY /mcp/", "POST /register"}, Throttle: throttle,
			StageVariables: map[string]string{gateway.RESTAddress: "http://127.0.0.1:8787"},
		}),
		url: httpapi.NewFunctionURL(c), functions: functions,
	}
}

// serves is a function behind either door.
func serves(h http.HandlerFunc) lambda.Invoker {
	f := gateway.Handler(h, nil)
	return boot.HandleStream(f, gateway.Streaming{Function: f}.Stream)
}

// fails is a function that answers nothing, whichever way it is invoked.
func fails(message string) lambda.Invoker {
	return boot.HandleStream(boot.Handle(func(context.Context, json.RawMessage) (string, error) { return "", errors.New(message) }),
		func(context.Context, []byte) (*events.LambdaFunctionURLStreamingResponse, error) {
			return nil, errors.New(message)
		})
}

func call(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestEvent: the function gets the shape that AWS documents.
func TestEvent(t *testing.T) {
	var got events.APIGatewayV2HTTPRequest
	echo := boot.Handle(func(_ context.Context, e events.APIGatewayV2HTTPRequest) (any, error) {
		got = e
		return map[string]any{"statusCode": 204, "headers": map[string]string{"WWW-Authenticate": "Bearer", "Connection": "close"}, "cookies": []string{"a=1", "b=2"}}, nil
	})
	w := call(open(t, echo, nil).http, "POST", "/mcp?a=1&a=2", "{}",
		"Content-Type", "application/json", "Accept", "a/b", "Accept", "c/d", "Cookie", "x=1; y=2", "Connection", "close", "X-Forwarded-For", "198.51.100.9")
	if w.Code != 204 || w.Header().Get("Www-Authenticate") != "Bearer" || w.Header().Get("Connection") != "" || len(w.Header()["Set-Cookie"]) != 2 || w.Header().Get("Apigw-Requestid") != got.RequestContext.RequestID {
		t.Errorf("%d with %v", w.Code, w.Header())
	}
	for what, c := range map[string][2]string{
		"version":     {got.Version, "2.0"},
		"route":       {got.RouteKey + got.RequestContext.RouteKey, "ANY /mcpANY /mcp"},
		"path":        {got.RawPath + got.RequestContext.HTTP.Path, "/mcp/mcp"},
		"query":       {got.RawQueryString, "a=1&a=2"},
		"parameters":  {got.QueryStringParameters["a"], "1,2"},
		"accept":      {got.Headers["accept"], "a/b,c/d"},
		"connection":  {got.Headers["connection"], ""},
		"address":     {got.RequestContext.HTTP.SourceIP + got.Headers["x-forwarded-for"], "192.0.2.1192.0.2.1"},
		"cookies":     {strings.Join(got.Cookies, "|") + got.Headers["cookie"], "x=1|y=2"},
		"body":        {got.Body, "{}"},
		"domain":      {got.RequestContext.DomainName, "127.0.0.1:8789"},
		"stage":       {got.RequestContext.Stage, "$default"},
		"rest":        {got.StageVariables[gateway.RESTAddress], "http://127.0.0.1:8787"},
		"http method": {got.RequestContext.HTTP.Method, "POST"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", what, c[0], c[1])
		}
	}
	call(open(t, echo, nil).http, "POST", "/mcp", "{}", "Content-Type", "application/octet-stream")
	if !got.IsBase64Encoded || got.Body != "e30=" {
		t.Errorf("a body of another type: %q, %v", got.Body, got.IsBase64Encoded)
	}
}

// TestOwnAnswers holds what each door says without the function.
func TestOwnAnswers(t *testing.T) {
	ok := serves(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	large := serves(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", lambda.MaxPayload))
	})
	for _, c := range []struct {
		name         string
		function     lambda.Invoker
		change       func(doors)
		method, path string
		body, header string
		http, url    string
	}{
		{name: "served", function: ok, http: "200 ok", url: "200 ok"},
		{name: "final slash", function: ok, path: "/mcp/", http: "200 ok", url: "200 ok"},
		{name: "unknown path", function: ok, path: "/.well-known/oauth-protected-resource", http: `404 {"message":"Not Found"}`, url: "200 ok"},
		{name: "method of another route", function: ok, method: "GET", path: "/register", http: `404 {"message":"Not Found"}`, url: "200 ok"},
		{name: "no concurrency", function: ok, change: func(d doors) { _ = d.functions.SetReserved("f", 0) },
			http: `503 {"message":"Service Unavailable"}`, url: `429 {"Message":"Rate Exceeded."}`},
		{name: "function fails", function: fails("no"), http: `500 {"message":"Internal Server Error"}`, url: "502 Internal Server Error"},
		{name: "no JSON", function: raw("plain"), http: `500 {"message":"Internal Server Error"}`, url: "502 Internal Server Error"},
		{name: "no status", function: raw(`{"a":1}`), http: `200 {"a":1}`, url: "502 Internal Server Error"},
		{name: "status 99", function: raw(`{"statusCode":99}`), http: `500 {"message":"Internal Server Error"}`, url: "502 Internal Server Error"},
		{name: "large answer", function: large, http: `500 {"message":"Internal Server Error"}`, url: "200 " + strings.Repeat("x", lambda.MaxPayload)},
		{name: "large headers", function: ok, header: strings.Repeat("x", 10_240), http: `431 {"message":"Request Header Fields Too Large"}`, url: "431 "},
		{name: "7 MB", function: ok, body: strings.Repeat("x", 7<<20), http: `413 {"message":"Request Entity Too Large"}`, url: `413 {"Message":"Request must be smaller than 6291456 bytes for the InvokeFunction operation"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, c.function, nil)
			if c.change != nil {
				c.change(d)
			}
			if c.method == "" {
				c.method = "POST"
			}
			if c.path == "" {
				c.path = "/mcp"
			}
			for kind, want := range map[string]struct {
				door http.Handler
				is   string
			}{"HTTP API": {d.http, c.http}, "function URL": {d.url, c.url}} {
				w := call(want.door, c.method, c.path, c.body, "X", c.header)
				if got := w.Result().Status[:4] + w.Body.String(); got != want.is {
					t.Errorf("%s: %.200s, want %.200s", kind, got, want.is)
				}
			}
		})
	}
}

// raw is a function that answers with this, in a stream too.
func raw(text string) lambda.Invoker { return rawInvoker(text) }

type rawInvoker string

func (r rawInvoker) Invoke(context.Context, []byte) ([]byte, error) { return []byte(r), nil }

// TestRoutesToSeveralFunctions: each route leads to its function, with a throttle of its own if it has one.
func TestRoutesToSeveralFunctions(t *testing.T) {
	says := func(text string) lambda.Function {
		return lambda.Function{Timeout: time.Minute, Reserved: lambda.Unreserved, Handler: serves(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text) })}
	}
	functions, err := lambda.New(map[string]lambda.Function{"mcp": says("mcp"), "oauth": says("oauth")}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := functions.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	door := httpapi.NewHTTPAPI(httpapi.Config{Functions: functions, Function: "mcp", Domain: "127.0.0.1:8789"}, httpapi.HTTPAPI{
		Routes: []string{"ANY /mcp", "ANY /token"}, Behind: map[string]string{"ANY /token": "oauth"},
		Throttles: map[string]front.Throttle{"ANY /token": {Rate: 0.001, Burst: 2}},
	})
	got := ""
	for _, path := range []string{"/mcp", "/token", "/mcp", "/token", "/mcp", "/token", "/mcp"} {
		got += call(door, "POST", path, "").Body.String() + " "
	}
	if want := `mcp oauth mcp oauth mcp {"message":"Too Many Requests"} mcp `; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A route that is called too often is closed by the HTTP API itself, and the others are not.
func TestThrottle(t *testing.T) {
	d := open(t, serves(func(http.ResponseWriter, *http.Request) {}), &front.Throttle{Rate: 1, Burst: 1})
	if first, second, other := call(d.http, "POST", "/mcp", ""), call(d.http, "POST", "/mcp", ""), call(d.http, "POST", "/register", ""); first.Code != 200 || second.Code != 429 || second.Body.String() != `{"message":"Too Many Requests"}` || other.Code != 200 {
		t.Errorf("%d, %d %s, %d", first.Code, second.Code, second.Body, other.Code)
	}
}

// An HTTP API waits 30 seconds, a function URL as long as the function may take.
func TestTimeout(t *testing.T) {
	slow := func(took time.Duration) lambda.Invoker {
		return serves(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(took):
			case <-r.Context().Done():
				time.Sleep(time.Second) // too late
			}
		})
	}
	for _, c := range []struct {
		took, want time.Duration
		door       func(doors) http.Handler
		status     int
	}{
		{50 * time.Second, 30 * time.Second, func(d doors) http.Handler { return d.http }, 503},
		{50 * time.Second, 50 * time.Second, func(d doors) http.Handler { return d.url }, 200},
		{2 * time.Minute, time.Minute, func(d doors) http.Handler { return d.url }, 502},
	} {
		synctest.Test(t, func(t *testing.T) {
			door := c.door(open(t, slow(c.took), nil))
			began := time.Now()
			if w := call(door, "POST", "/mcp", ""); w.Code != c.status || time.Since(began) != c.want {
				t.Errorf("%d after %s, want %d after %s", w.Code, time.Since(began), c.status, c.want)
			}
		})
	}
}

// TestStream: over a function URL a client has the first part before the function writes the
// second, and notices when a stream is cut off.
func TestStream(t *testing.T) {
	for _, name := range []string{"ends", "fails"} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan struct{})
			function := boot.HandleStream[*events.LambdaFunctionURLStreamingResponse](raw(""), func(context.Context, []byte) (*events.LambdaFunctionURLStreamingResponse, error) {
				from, to := io.Pipe()
				go func() {
					_, _ = io.WriteString(to, "one\n")
					<-heard
					if name == "fails" {
						_ = to.CloseWithError(errors.New("crashed"))
						return
					}
					_, _ = io.WriteString(to, "two\n")
					_ = to.Close()
				}()
				return &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/event-stream"}, Body: from}, nil
			})
			server := httptest.NewServer(open(t, function, nil).url)
			defer server.Close()
			response, err := server.Client().Get(server.URL + "/mcp")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			from := bufio.NewReader(response.Body)
			if line, err := from.ReadString('\n'); line != "one\n" || err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			close(heard)
			rest, err := io.ReadAll(from)
			if name == "fails" != (err != nil) || name == "ends" && string(rest) != "two\n" {
				t.Errorf("then %q, %v", rest, err)
			}
		})
	}
}

// TestClientGone: a client that goes away stops nothing, and the function's place is free when it
// ends.
func TestClientGone(t *testing.T) {
	gone, ended := make(chan struct{}), make(chan struct{})
	d := open(t, serves(func(w http.ResponseWriter, _ *http.Request) {
		a := gateway.Keep(w)
		_, _ = io.WriteString(a, "one\n")
		a.Start()
		<-gone
		for range 1000 {
			_, _ = io.WriteString(a, strings.Repeat("x", 10_000))
		}
		close(ended)
	}), nil)
	server := httptest.NewServer(d.url)
	defer server.Close()
	response, err := server.Client().Get(server.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); line != "one\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	_ = response.Body.Close()
	close(gone)
	<-ended
	for deadline := time.Now().Add(10 * time.Second); d.functions.Counts()["f"].Concurrent != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("its place is still taken")
		}
	}
	if counts := d.functions.Counts()["f"]; counts.Errors != 0 || counts.Invocations != 1 {
		t.Errorf("%+v", counts)
	}
}
