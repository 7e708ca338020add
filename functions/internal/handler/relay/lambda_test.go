package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/problem"
)

type invoke func(context.Context, []byte) ([]byte, error)

func (f invoke) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

// behind puts a function in the place of the world's backend.
func (w *world) behind(i backend.Invoker) {
	w.handler.Backend = byInvocation{function: "orders", invoker: i, most: 1 << 20}
}

func says200(payload string) invoke {
	return func(context.Context, []byte) ([]byte, error) { return []byte(payload), nil }
}

func failsWith(err error) invoke {
	return func(context.Context, []byte) ([]byte, error) { return nil, err }
}

// TestWhatAFunctionAnswers: its own answers pass, and what is none is said to be so. What may
// have been written must not be written again.
func TestWhatAFunctionAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		function    invoke
		read, write string // status and code
		detail      string
	}{
		"200":               {says200(`{"statusCode":200,"headers":{"content-type":"application/json"},"body":"{\"id\":7}"}`), "200", "200", ""},
		"201, no body":      {says200(`{"statusCode":"201","multiValueHeaders":{"Location":["/p/7"]}}`), "201", "201", ""},
		"base64":            {says200(`{"statusCode":200,"isBase64Encoded":true,"body":"eyJpZCI6N30="}`), "200", "200", ""},
		"404":               {says200(`{"statusCode":404,"body":"{\"error\":\"no_such_order\"}"}`), "404", "404", ""},
		"401 is its own":    {says200(`{"statusCode":401}`), "401", "401", ""},
		"302":               {says200(`{"statusCode":302,"headers":{"Location":"/x"}}`), "502 upstream_misconfigured", "502 upstream_misconfigured", ""},
		"500":               {says200(`{"statusCode":500,"body":"boom SECRET"}`), "502 upstream_failed", "502 upstream_outcome_unclear", ""},
		"503":               {says200(`{"statusCode":503}`), "503 upstream_unavailable", "503 upstream_unavailable", ""},
		"no proxy answer":   {says200(`{"hello":"world"}`), "502 backend_malformed", "502 backend_malformed", "statusCode is missing"},
		"a string":          {says200(`"SECRET"`), "502 backend_malformed", "502 backend_malformed", "not a JSON object"},
		"null":              {says200(`null`), "502 backend_malformed", "502 backend_malformed", "not a JSON object"},
		"an object as body": {says200(`{"statusCode":200,"body":{"a":"SECRET"}}`), "502 backend_malformed", "502 backend_malformed", "body is not a string"},
		"payload 2.0":       {says200(`{"statusCode":200,"cookies":["SECRET"]}`), "502 backend_malformed", "502 backend_malformed", `member "cookies"`},
		"odd status":        {says200(`{"statusCode":"ok"}`), "502 backend_malformed", "502 backend_malformed", "not a whole number"},
		"no base64":         {says200(`{"statusCode":200,"isBase64Encoded":true,"body":"%"}`), "502 backend_malformed", "502 backend_malformed", "not base64"},
		"too large":         {says200(`{"statusCode":200,"body":"` + strings.Repeat("x", 1<<20+1) + `"}`), "422 answer_too_large", "422 answer_too_large", ""},
		"failed":            {failsWith(&backend.FailedError{Type: "KeyError"}), "502 backend_failed", "502 backend_failed", ""},
		"throttled":         {failsWith(backend.ErrBusy), "503 backend_busy", "503 backend_busy", ""},
		"no right":          {failsWith(&backend.NotInvokedError{Err: errors.New("AccessDeniedException: SECRET")}), "502 upstream_misconfigured", "502 upstream_misconfigured", ""},
		"no connection":     {failsWith(errors.New("reset")), "503 upstream_unavailable", "502 upstream_outcome_unclear", ""},
		"hangs": {func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "504 upstream_timeout", "502 upstream_outcome_unclear", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, unlimited)
				w.behind(c.function)
				for _, way := range []struct {
					answer
					want  string
					write bool
				}{{w.fetch("demo"), c.read, false}, {w.publish("hello"), c.write, true}} {
					got := strings.TrimSpace(fmt.Sprint(way.StatusCode, " ", way.problem.Error))
					if got != way.want || !strings.Contains(way.problem.Detail, c.detail) || strings.Contains(way.Body, "SECRET") {
						t.Errorf("%s %s, want %s %s", got, way.Body, way.want, c.detail)
					}
					if code := way.problem.Error; way.write && way.problem.Retryable && code != "backend_busy" && code != "upstream_unavailable" {
						t.Errorf("a write is to be repeated: %s", way.Body)
					}
				}
				for _, line := range w.log.All() {
					if text := fmt.Sprint(line.ContextMap()); strings.Contains(text, "SECRET") {
						t.Errorf("logged: %s", text)
					}
				}
			})
		})
	}
}

// TestTheEventIsWhatAPIGatewayMakes, in the backend's names, without what is the client's own
// or this server's, and with the caller's identity signed.
func TestTheEventIsWhatAPIGatewayMakes(t *testing.T) {
	var payload []byte
	var now time.Time
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *backend.Settings) { signed(s); unlimited(s) })
		w.caller, now = caller, time.Now()
		w.behind(invoke(func(_ context.Context, sent []byte) ([]byte, error) {
			payload = sent
			return []byte(`{"statusCode":200}`), nil
		}))
		w.handle(25*time.Second, events.APIGatewayProxyRequest{
			HTTPMethod: "GET", Resource: "/v1/external/stats/{resource_id}", Path: "/v1/external/stats/a.b",
			PathParameters:    map[string]string{"resource_id": "a.b"},
			StageVariables:    map[string]string{"unavailable_error": "unavailable"},
			Headers:           map[string]string{"x-api-key": "KEY", "Authorization": "Bearer KEY", "COOKIE": "c", "x-sekisho-user": "forged", "X-SEKISHO-signature": "forged", "X-Other": "kept", "Content-Type": "x/y"},
			MultiValueHeaders: map[string][]string{"x-api-key": {"KEY"}, "X-Sekisho-Plan": {"forged"}, "X-Forwarded-For": {"192.0.2.1"}},
			RequestContext:    events.APIGatewayProxyRequestContext{Identity: events.APIGatewayRequestIdentity{SourceIP: "192.0.2.1", APIKey: "KEY"}},
		})
	})
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &e); err != nil {
		t.Fatal(err)
	}
	if e.Resource != "/stats/{resource_id}" || e.Path != "/stats/a.b" || e.HTTPMethod != "GET" || e.PathParameters["resource_id"] != "a.b" || e.StageVariables != nil {
		t.Errorf("%s", payload)
	}
	if c := e.RequestContext; c.ResourcePath != e.Resource || c.Path != e.Path || c.Authorizer["user_id"] != "ann@example.com" || c.Identity.SourceIP != "192.0.2.1" {
		t.Errorf("context %+v", c)
	}
	if text := string(payload); strings.Contains(text, "KEY") || strings.Contains(text, "forged") || strings.Contains(strings.ToLower(text), "cookie") {
		t.Errorf("it holds what the client alone may know: %s", text)
	}
	if e.Headers["X-Other"] != "kept" || e.MultiValueHeaders["X-Forwarded-For"][0] != "192.0.2.1" || e.Headers[backend.UserHeader] != "ann@example.com" {
		t.Errorf("headers %v", e.Headers)
	}
	received := verifiable{Keys: strings.Fields(signingKeys), Method: e.HTTPMethod, Headers: map[string]string{}, Body: e.Body, Now: float64(now.Unix()), Event: payload}
	for name, value := range e.Headers {
		received.Headers[strings.ToLower(name)] = value
	}
	if verdicts := verifier(t, "python")([]verifiable{received}); len(verdicts[0]) != 4 || verdicts[0][0] != "ann@example.com" {
		t.Errorf("the sample for a function does not verify it: %q", verdicts)
	}
}

// runtimeAPI runs a handler that somebody would deploy, in its own language, behind what
// Lambda's Runtime API is to it: it asks for the next event, and posts what came of it.
type runtimeAPI struct {
	events  chan []byte
	answers chan outcomeOfHandler
}

type outcomeOfHandler struct {
	body   []byte
	failed bool
}

func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/invocation/next"):
		select {
		case event := <-r.events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "id-1")
			w.Write(event)
		case <-request.Context().Done():
		}
	default:
		body, _ := io.ReadAll(request.Body)
		r.answers <- outcomeOfHandler{body, strings.HasSuffix(path, "/error")}
		w.WriteHeader(http.StatusAccepted)
	}
}

func (r *runtimeAPI) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	select {
	case r.events <- payload:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case o := <-r.answers:
		if o.failed {
			return nil, &backend.FailedError{Type: "Unhandled"}
		}
		return o.body, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bootstraps are the loop of a custom runtime (docs.aws.amazon.com/lambda/latest/dg/
// runtimes-api.html), which the managed runtimes have inside.
var bootstraps = map[string]struct{ command, file, loop string }{
	"python": {"python3", "orders.py", `
import json, os, sys, urllib.request
sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
from orders import handler
base = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
post = lambda path, value: urllib.request.urlopen(urllib.request.Request(base + path, json.dumps(value).encode())).read()
while True:
    with urllib.request.urlopen(base + "next") as r:
        event, rid = json.load(r), r.headers["Lambda-Runtime-Aws-Request-Id"]
    try:
        post(rid + "/response", handler(event, None))
    except Exception as e:
        post(rid + "/error", {"errorType": type(e).__name__, "errorMessage": str(e)})
`},
	"node": {"node", "orders.js", `
const { handler } = require(process.env.LAMBDA_TASK_ROOT + "/orders.js");
const base = "http://" + process.env.AWS_LAMBDA_RUNTIME_API + "/2018-06-01/runtime/invocation/";
(async () => { for (;;) {
  const next = await fetch(base + "next"), event = await next.json(), id = next.headers.get("lambda-runtime-aws-request-id");
  try { await fetch(base + id + "/response", { method: "POST", body: JSON.stringify(await handler(event)) }); }
  catch (e) { await fetch(base + id + "/error", { method: "POST", body: JSON.stringify({ errorType: e.name, errorMessage: e.message }) }); }
} })();
`},
}

// startHandler runs one of the handlers in testdata, which know nothing of Sekisho.
func startHandler(t *testing.T, language string) *runtimeAPI {
	t.Helper()
	b := bootstraps[language]
	if _, err := exec.LookPath(b.command); err != nil && language == "node" {
		t.Skip("there is no node here")
	}
	api := &runtimeAPI{events: make(chan []byte), answers: make(chan outcomeOfHandler, 1)}
	server := httptest.NewServer(api)
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.WriteFile(loop, []byte(b.loop), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), b.command, loop)
	run.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(server.URL, "http://"), "LAMBDA_TASK_ROOT="+root, "PYTHONDONTWRITEBYTECODE=1")
	stderr, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
		}
	}()
	t.Cleanup(func() {
		server.CloseClientConnections()
		_ = run.Process.Kill()
		_ = run.Wait()
		server.Close()
	})
	return api
}

// TestHandlersThatNobodyHereWrote: an existing handler needs no change.
func TestHandlersThatNobodyHereWrote(t *testing.T) {
	for language := range bootstraps {
		t.Run(language, func(t *testing.T) {
			handler := startHandler(t, language)
			w := newWorld(t, func(s *backend.Settings) { signed(s); unlimited(s) })
			w.caller = caller
			w.behind(handler)
			if a := w.fetch("A-1"); a.StatusCode != 200 || a.Body != `{"id": "A-1", "for": "ann@example.com", "plan": "pro"}` {
				t.Errorf("%d %s", a.StatusCode, a.Body)
			}
			if a := w.fetch("missing"); a.StatusCode != 404 || a.Body != `{"error": "no order missing"}` || a.Headers[backend.AnsweredBy] != "external" {
				t.Errorf("%d %s", a.StatusCode, a.Body)
			}
			if a := w.publish("hello"); a.StatusCode != 201 || a.Headers["Location"] != "/publications/hello" {
				t.Errorf("%d %s %v", a.StatusCode, a.Body, a.Headers)
			}
			if a := w.fetch("crash"); a.problem.Error != problem.BackendFailed || strings.Contains(a.Body, "database") {
				t.Errorf("%d %s", a.StatusCode, a.Body)
			}
			if a := w.fetch("malformed"); a.problem.Error != problem.BackendMalformed {
				t.Errorf("%d %s", a.StatusCode, a.Body)
			}
		})
	}
}

var _ boot.Invoker = invoke(nil) // one interface, by its shape
