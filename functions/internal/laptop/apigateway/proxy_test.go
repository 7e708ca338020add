package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/lambda"
)

// rawThings replaces the function by one that answers a fixed text.
func rawThings(h Invoker) func(*setup) {
	return func(c *setup) { c.Functions["things"] = lambda.Function{Handler: h, Reserved: lambda.Unreserved} }
}

func TestProxyResponses(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		status int
		body   string
	}{
		"plain":               {`{"statusCode":201,"body":"made"}`, 201, "made"},
		"no body":             {`{"statusCode":204}`, 204, ""},
		"null members":        {`{"statusCode":200,"body":null,"headers":null,"multiValueHeaders":null,"isBase64Encoded":null}`, 200, ""},
		"status as a string":  {`{"statusCode":"202","body":"x"}`, 202, "x"},
		"error of its own":    {`{"statusCode":503,"body":"later"}`, 503, "later"},
		"base64 stays":        {`{"statusCode":200,"isBase64Encoded":true,"body":"aGk="}`, 200, "aGk="},
		"not JSON":            {`hello`, 502, ""},
		"empty":               {``, 502, ""},
		"null":                {`null`, 502, ""},
		"list":                {`[]`, 502, ""},
		"string":              {`"x"`, 502, ""},
		"status missing":      {`{"body":"x"}`, 502, ""},
		"status zero":         {`{"statusCode":0,"body":"x"}`, 502, ""},
		"status too high":     {`{"statusCode":600}`, 502, ""},
		"status too low":      {`{"statusCode":101}`, 502, ""},
		"status not whole":    {`{"statusCode":200.5}`, 502, ""},
		"status null":         {`{"statusCode":null,"body":"x"}`, 502, ""},
		"body an object":      {`{"statusCode":200,"body":{"a":1}}`, 502, ""},
		"body a number":       {`{"statusCode":200,"body":1}`, 502, ""},
		"unknown member":      {`{"statusCode":200,"cookies":["a"]}`, 502, ""},
		"header an object":    {`{"statusCode":200,"headers":{"A":{}}}`, 502, ""},
		"header list of list": {`{"statusCode":200,"multiValueHeaders":{"A":[[]]}}`, 502, ""},
		"two objects":         {`{"statusCode":200}{}`, 502, ""},
		"too large":           {`{"statusCode":200,"body":"` + strings.Repeat("x", lambda.MaxPayload) + `"}`, 502, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, script{refusals: allTypes, change: rawThings(answers(tc.answer))})
			w := f.call("GET", "/things/7", "")
			wantStatus(t, w, tc.status)
			want := tc.body
			if tc.status == 502 {
				want = "DEFAULT_5XX "
				wantHeader(t, w.Header(), "x-amzn-ErrorType", "InternalServerErrorException")
			}
			if got := w.Body.String(); got != want {
				t.Errorf("body %q, want %q", got, want)
			}
		})
	}
}

func TestFunctionFailures(t *testing.T) {
	for name, handler := range map[string]Invoker{
		"error":            fails("secret detail"),
		"panic":            invokerFunc(func(context.Context, []byte) ([]byte, error) { panic("secret detail") }),
		"panic with error": invokerFunc(func(context.Context, []byte) ([]byte, error) { panic(errors.New("secret detail")) }),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, script{change: rawThings(handler)})
			w := f.call("GET", "/things/7", "")
			wantStatus(t, w, http.StatusBadGateway)
			if got := w.Body.String(); got != `{"message":"Internal server error"}` {
				t.Errorf("body %s", got)
			}
			if got := f.functions.Counts()["things"]; got.Errors != 1 || got.Invocations != 1 || got.Concurrent != 0 {
				t.Errorf("counts %+v", got)
			}
		})
	}
}

func TestResponseHeaders(t *testing.T) {
	f := newFixture(t, script{change: rawThings(answers(`{"statusCode":401,"body":"b",
	 "headers":{"WWW-Authenticate":"Bearer","content-type":"text/plain","X-One":"1","X-Both":"single","Date":"then","Content-Length":"999","X-Flag":true,"X-Number":7,"Transfer-Encoding":"chunked","server":"mine","x-amzn-RequestId":"forged"},
	 "multiValueHeaders":{"Set-Cookie":["a=1","b=2"],"X-Both":["m1","m2"],"Authorization":["secret"]}}`))})
	h := f.call("GET", "/open", "").Header()
	for name, want := range map[string][]string{
		"Content-Type": {"text/plain"}, "X-One": {"1"}, "X-Both": {"m1", "m2"},
		"Set-Cookie": {"a=1", "b=2"}, "X-Flag": {"true"}, "X-Number": {"7"},
		"X-Amzn-Remapped-Www-Authenticate": {"Bearer"}, "X-Amzn-Remapped-Date": {"then"},
		"X-Amzn-Remapped-Content-Length": {"999"}, "X-Amzn-Remapped-Server": {"mine"},
		"X-Amzn-Remapped-Authorization": {"secret"}, "X-Amzn-Remapped-X-Amzn-Requestid": {"forged"},
		"Www-Authenticate": nil, "Date": nil, "Content-Length": nil, "Server": nil,
		"Authorization": nil, "Transfer-Encoding": nil,
	} {
		if got := h.Values(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if h.Get("X-Amzn-Trace-Id") == "" || h.Get("x-amzn-RequestId") == "forged" {
		t.Errorf("the gateway's own headers: %v", h)
	}
}

func TestDefaultContentType(t *testing.T) {
	f := newFixture(t, script{})
	wantHeader(t, f.call("GET", "/open", "").Header(), "Content-Type", "application/json")
}

func TestProxyEvent(t *testing.T) {
	f := newFixture(t, script{change: func(c *setup) { c.StageVariables = map[string]string{"state": "open"} }})
	f.call("PUT", "/things/a%2Bb/?b=2&a=1&a=x+y%2B&flag&bad=%zz", `{"x":1}`,
		"Content-Type", "application/json", "X-Two", "1", "X-Two", "2", "User-Agent", "agent/1",
		"X-Forwarded-For", "6.6.6.6", "X-Forwarded-Proto", "gopher", "X-Forwarded-Host", "evil.example",
		"Forwarded", "host=evil.example", "X-Amzn-Requestid", "mine-1", "Connection", "close", "Te", "trailers")
	e := f.lastEvent(t)
	if e.Resource != "/things/{id}" || e.Path != "/things/a%2Bb/" || e.HTTPMethod != "PUT" || e.Body != `{"x":1}` || e.IsBase64Encoded {
		t.Errorf("event %+v", e)
	}
	if want := map[string]string{"a": "x y+", "b": "2", "flag": "", "bad": "%zz"}; !maps.Equal(e.QueryStringParameters, want) {
		t.Errorf("query %v", e.QueryStringParameters)
	}
	if got := e.MultiValueQueryStringParameters["a"]; !slices.Equal(got, []string{"1", "x y+"}) {
		t.Errorf("query a %q", got)
	}
	if e.Headers["X-Two"] != "2" || !slices.Equal(e.MultiValueHeaders["X-Two"], []string{"1", "2"}) {
		t.Errorf("X-Two %q", e.MultiValueHeaders["X-Two"])
	}
	for name, want := range map[string]string{
		"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "8787",
		"Host": "client-chosen.example", "X-Forwarded-Host": "", "Forwarded": "", "Connection": "", "Te": "",
		"Content-Length": "", "X-Amzn-Requestid": "",
	} {
		if e.Headers[name] != want {
			t.Errorf("header %s is %q, want %q", name, e.Headers[name], want)
		}
	}
	c := e.RequestContext
	if c.DomainName != "127.0.0.1:8787" || c.Path != "/things/a%2Bb/" || c.Stage != "dev" || c.ResourcePath != "/things/{id}" ||
		c.Identity.SourceIP != "192.0.2.1" || c.Identity.UserAgent != "agent/1" || c.OperationName != "things.put" || c.Protocol != "HTTP/1.1" {
		t.Errorf("context %+v", c)
	}
	if c.RequestID != "mine-1" || c.ExtendedRequestID == "" || c.ExtendedRequestID == "mine-1" {
		t.Errorf("request %q, extended %q", c.RequestID, c.ExtendedRequestID)
	}
}

// TestNullMaps: what is empty is null in the event of a function, {} in the authorizer's.
func TestNullMaps(t *testing.T) {
	var proxied, authorized []byte
	f := newFixture(t, script{
		authorizer: invokerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			authorized = payload
			return []byte(policy("Allow", "*", `{}`)), nil
		}),
		change: rawThings(invokerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			proxied = payload
			return []byte(`{"statusCode":200}`), nil
		})),
	})
	wantStatus(t, f.call("GET", "/things", ""), 200)
	for want, payload := range map[string][]byte{"null": proxied, "{}": authorized} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(payload, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"queryStringParameters", "multiValueQueryStringParameters", "pathParameters", "stageVariables"} {
			if got := string(members[name]); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
}

func TestRequestID(t *testing.T) {
	f := newFixture(t, script{})
	for sent, taken := range map[string]bool{
		"abc-DEF_9": true, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, `a"b`: false, "a b": false, "é": false,
	} {
		w := f.call("GET", "/open", "", "X-Amzn-RequestId", sent)
		if got := w.Header().Get("x-amzn-RequestId"); (got == sent) != taken || got == "" {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

// TestNotUTF8: bad bytes of the body become U+FFFD, for there are no binary media types.
func TestNotUTF8(t *testing.T) {
	f := newFixture(t, script{})
	f.call("POST", "/open?q=%ff", "a\xffb")
	if e := f.lastEvent(t); e.Body != "a\uFFFDb" || e.QueryStringParameters["q"] != "\uFFFD" {
		t.Errorf("body %q, query %q", e.Body, e.QueryStringParameters)
	}
}

func TestLimits(t *testing.T) {
	f := newFixture(t, script{refusals: allTypes})
	w := f.call("POST", "/open", strings.Repeat("x", maxBody+1))
	wantStatus(t, w, http.StatusRequestEntityTooLarge)
	// The event is larger than Lambda takes, though the gateway took the body.
	wantStatus(t, f.call("POST", "/open", strings.Repeat("x", lambda.MaxPayload)), http.StatusRequestEntityTooLarge)
	wantStatus(t, f.call("GET", "/things/7", "", "X-Long", strings.Repeat("x", maxHeaders)), http.StatusBadRequest)
	wantStatus(t, f.call("GET", "/open?"+strings.Repeat("x", maxHeaders), ""), http.StatusBadRequest)
	if len(f.proxied)+len(f.authorized) != 0 {
		t.Error("a function was invoked")
	}
	wantStatus(t, f.call("POST", "/open", strings.Repeat("x", 5<<20)), http.StatusOK)
	// Without a function only the gateway's own 10 MiB count.
	f.Set(Settings{Variables: map[string]string{"mock_status": "200"}})
	wantStatus(t, f.call("POST", "/mock", strings.Repeat("x", 10_485_760)), http.StatusOK)
	wantStatus(t, f.call("POST", "/mock", strings.Repeat("x", 10_485_761)), http.StatusRequestEntityTooLarge)
	wantStatus(t, f.call("GET", "/open", "", "X-Long", strings.Repeat("x", maxHeaders-200)), http.StatusOK)
}

// TestUnknownLengthBody: no more is read than the limit, whatever the client declares.
func TestUnknownLengthBody(t *testing.T) {
	f := newFixture(t, script{})
	source := &endless{}
	r, _ := http.NewRequest("POST", "/open", source)
	r.ContentLength = -1
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	wantStatus(t, w, http.StatusRequestEntityTooLarge)
	if source.read > maxBody+1<<20 {
		t.Errorf("%d bytes were read", source.read)
	}
}

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzParseProxyAnswer: whatever a function answers, it is refused or can be written.
func FuzzParseProxyAnswer(f *testing.F) {
	for _, text := range []string{`{"statusCode":200}`, `{"statusCode":"200","headers":{"A":1}}`, `{`, `null`, `{"statusCode":200,"multiValueHeaders":{"":["\n"]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := gateway.ParseProxyAnswer(raw)
		if err != nil {
			return
		}
		if r.Status < 200 || r.Status > 599 {
			t.Fatalf("status %d", r.Status)
		}
		h := http.Header{}
		copyHeaders(r.Header, h)
		w := httptest.NewRecorder()
		(&answer{status: r.Status, header: h, body: r.Body}).write(w)
		if w.Code != r.Status {
			t.Fatalf("wrote %d", w.Code)
		}
	})
}
