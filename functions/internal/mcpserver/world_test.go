package mcpserver_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/mcpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The texts that stand for keys in the tests. They are of no valid form, so that nothing
// takes them for leaked ones; the authenticator below is a fake.
const (
	goodKey     = "SECRET-good"
	revokedKey  = "SECRET-revoked"
	limitedKey  = "SECRET-calendar-off"
	brokenStore = "SECRET-store-down"
)

// keys is an authenticator over the keys above.
type keys struct{}

func (keys) Authenticate(_ context.Context, text, _ string) (account.Key, error) {
	switch text {
	case goodKey:
		return account.Key{ID: "key_good", Plan: "free"}, nil
	case limitedKey:
		return account.Key{ID: "key_limited", Plan: "free", Settings: account.Settings{
			DisabledCategories: []string{"calendar"}, DisabledTools: []string{"convert.era"},
		}}, nil
	case revokedKey:
		return account.Key{ID: "key_revoked"}, account.ErrInactive
	case brokenStore:
		return account.Key{}, errors.New("dial tcp: connection refused")
	}
	return account.Key{}, errors.Join(account.ErrNotFound, apikey.ErrMalformed)
}

// world is a server with a REST API behind it, and what both said.
type world struct {
	t      testing.TB
	config mcpserver.Config
	// rest answers the REST API's calls; tests replace it.
	rest    http.HandlerFunc
	base    string
	mu      sync.Mutex
	calls   []string
	secrets []string
	log     *lockedBuffer
	handler http.Handler
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t testing.TB, change ...func(*mcpserver.Config)) *world {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rest: answers, log: &lockedBuffer{}}
	w.config = mcpserver.Config{
		API: api, Authenticator: keys{}, Version: "test",
		BaseURL:        func(*http.Request) (string, error) { return w.base, nil },
		AllowedOrigins: []string{"https://console.example"},
		Log: zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg", LevelKey: "level", EncodeLevel: zapcore.LowercaseLevelEncoder}),
			zapcore.AddSync(w.log), zapcore.DebugLevel)),
		Now: func() time.Time { return time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC) },
	}
	for _, c := range change {
		c(&w.config)
	}
	if w.config.Client == nil {
		w.startREST()
	}
	if w.handler, err = mcpserver.New(w.config); err != nil {
		t.Fatal(err)
	}
	return w
}

// startREST serves the REST API on a port. Tests with fake time bring a client instead:
// a listener would keep their time from passing.
func (w *world) startREST() {
	upstream := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.record(r)
		w.rest(rw, r)
	}))
	client := &http.Client{Transport: &http.Transport{}}
	w.t.Cleanup(func() {
		client.CloseIdleConnections()
		upstream.Close()
	})
	w.base, w.config.Client = upstream.URL, client
}

// record remembers a call of the REST API.
func (w *world) record(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	w.secrets = append(w.secrets, r.Header.Get("x-api-key"))
}

// called returns the REST calls so far and forgets them.
func (w *world) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// event sends one request the way that a REST API would.
func (w *world) event(ctx context.Context, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	w.t.Helper()
	e.Resource = "/mcp"
	e.Path = cmp.Or(e.Path, "/mcp")
	e.RequestContext.ExtendedRequestID = "request-1"
	if !utf8.ValidString(e.Body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(e.Body)), true
	}
	var response events.APIGatewayProxyResponse
	w.decode(gateway.Handler(w.handler, nil).Invoke(ctx, w.encode(e)))(&response)
	return response
}

// second sends the same request in payload format 2.0, as an HTTP API or a function URL would,
// and returns the answer in the form of event's.
func (w *world) second(ctx context.Context, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	w.t.Helper()
	var answer events.LambdaFunctionURLResponse
	w.decode(gateway.Handler(w.handler, nil).Invoke(ctx, w.encode(secondFormat(e))))(&answer)
	return events.APIGatewayProxyResponse{StatusCode: answer.StatusCode, Headers: answer.Headers, Body: answer.Body}
}

// stream sends the same request through a function URL that streams, and returns the answer with
// its body to be read.
func (w *world) stream(ctx context.Context, e events.APIGatewayProxyRequest) *events.LambdaFunctionURLStreamingResponse {
	w.t.Helper()
	answer, err := gateway.Streaming{Function: gateway.Handler(w.handler, nil)}.Stream(ctx, w.encode(secondFormat(e)))
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

func secondFormat(e events.APIGatewayProxyRequest) events.APIGatewayV2HTTPRequest {
	second := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: cmp.Or(e.Path, "/mcp"), Headers: map[string]string{}, StageVariables: e.StageVariables,
		Body: base64.StdEncoding.EncodeToString([]byte(e.Body)), IsBase64Encoded: true,
		RequestContext: events.APIGatewayV2HTTPRequestContext{RequestID: "request-1", HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: e.HTTPMethod}},
	}
	for name, values := range gateway.Headers(e.MultiValueHeaders, e.Headers) {
		second.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return second
}

func (w *world) encode(event any) []byte {
	w.t.Helper()
	payload, err := json.Marshal(event)
	if err != nil {
		w.t.Fatal(err)
	}
	return payload
}

func (w *world) decode(answer []byte, err error) func(into any) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("an error instead of a response: %v", err)
	}
	return func(into any) {
		w.t.Helper()
		if err := json.Unmarshal(answer, into); err != nil {
			w.t.Fatal(err)
		}
	}
}

// post sends a message with a good key in the legacy era.
func (w *world) post(body string) events.APIGatewayProxyResponse {
	return w.event(context.Background(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: body, Headers: map[string]string{
		"content-type": "application/json", "x-api-key": goodKey,
	}})
}

// answers is a REST API where everything works.
func answers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("RateLimit", `"monthly";r=958;t=2592000`)
	body := `{"status":"ok"}`
	switch r.URL.Path {
	case "/v1/health":
	case "/v1/user/usage":
		body = usageBody(958)
	case "/v1/user/tool-settings":
		body = `{"disabled_categories":[],"disabled_tools":["convert.era"],"tools":[{"name":"postal.lookup","category":"postal","enabled":true},{"name":"convert.era","category":"convert","enabled":false}]}`
	case "/v1/postal/100-0001":
		body = `{"postal_code":"1000001","formatted":"100-0001","addresses":[]}`
	default:
		body = `{"path":"` + r.URL.Path + `"}`
	}
	_, _ = io.WriteString(w, body)
}

func usageBody(left int) string {
	used := 1000 - left
	return `{"plan":"free","period":"monthly","monthly_limit":1000,"monthly_used":` + itoa(used) + `,"remaining":` + itoa(left) + `,"reset_at":"2026-12-01T00:00:00.000Z"}`
}

// refuses is a REST API that answers everything but the health check with a problem.
func refuses(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" {
			answers(w, r)
			return
		}
		for name, values := range header {
			w.Header().Set(name, values[0])
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
