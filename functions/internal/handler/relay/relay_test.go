package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/outbound/outboundtest"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
)

const secret = "token-SECRET-1"

// world is the function of the default contract's backend and that backend, in virtual time.
// Use it inside synctest.
type world struct {
	t       *testing.T
	store   storetest.Memory
	handler *Handler
	server  *rest.Server
	log     *observer.ObservedLogs
	token   string // what the parameter holds
	tokens  int    // how often it was read
	opened  int    // how often the store was
	caller  map[string]any

	mu       sync.Mutex
	upstream http.HandlerFunc
	calls    []*http.Request
}

// Open makes the world's store that of a function.
func (w *world) open(boot.Env, ...string) (store.Store, error) {
	w.opened++
	return limitsOnly{&w.store}, nil
}

// limitsOnly is a store that has nothing but what a relay asks for.
type limitsOnly struct{ *storetest.Memory }

func (l limitsOnly) Accounts() account.Store        { return nil }
func (l limitsOnly) Grants() grant.Store            { return nil }
func (l limitsOnly) Usage() usage.Store             { return nil }
func (l limitsOnly) Buckets() ratelimit.BucketStore { return l.Memory }
func (l limitsOnly) Dailies() ratelimit.DailyStore  { return l.Memory }
func (l limitsOnly) Brake(string) brake.Memory      { return nil }

// newWorld starts both, with the settings that the change leaves.
func newWorld(t *testing.T, change func(*backend.Settings)) *world {
	t.Helper()
	w := &world{t: t, token: secret, upstream: good}
	network := &outboundtest.Network{}
	t.Cleanup(network.Serve("upstream.test", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.mu.Lock()
		w.calls = append(w.calls, r)
		upstream := w.upstream
		w.mu.Unlock()
		upstream(rw, r)
	})))
	rate := 1.0
	s := backend.Settings{
		URL: "http://upstream.test/v1/", RatePerSecond: &rate, Burst: 5,
		Auth: &backend.Auth{Type: backend.Bearer, Place: backend.Place{Parameter: "/token"}},
	}
	if change != nil {
		change(&s)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	w.log = logs
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	rt := boot.Runtime{Function: "external", Env: boot.Map(nil), Log: zap.New(core), Now: time.Now}
	w.handler, err = newHandler(rt, api, s, w.open, Options{
		Secret: func(_ boot.Env, at backend.Place) (func(context.Context) (string, error), error) {
			if at.Parameter == "/signing" {
				return func(context.Context) (string, error) { return signingKeys, nil }, nil
			}
			return func(context.Context) (string, error) { w.tokens++; return w.token, nil }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := w.handler.Backend.(overHTTP); ok {
		b.client, err = outbound.New(outbound.Config{
			Upstream: "upstream.test", Timeout: s.Timeout(), Reserve: reserveTime, Dial: network.Dial, SameOrigin: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.client.Close)
		w.handler.Backend = b
	}
	if w.server, err = rest.New(api, "external", w.handler.Operations(), rt.Log, rt.Now); err != nil {
		t.Fatal(err)
	}
	return w
}

// unlimited takes the limits off.
func unlimited(s *backend.Settings) {
	s.RatePerSecond, s.Burst = nil, 0
	s.PerDay = map[string]int{"external.publish_content": 100}
}

// answers replaces what the upstream does.
func (w *world) answers(h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.upstream = h
}

func good(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprint(withJSON(rw), `{"views":12345678901234567890}`)
}

func withJSON(rw http.ResponseWriter) http.ResponseWriter {
	rw.Header().Set("Content-Type", "application/json")
	return rw
}

func status(code int, header ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(code)
	}
}

func says(body string, header ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		fmt.Fprint(rw, body)
	}
}

// cutsOff ends in the middle of the body.
func cutsOff(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Length", "100")
	fmt.Fprint(withJSON(rw), `{"id":7`)
}

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

type answer struct {
	events.APIGatewayProxyResponse
	problem problem.Body
}

// fetch and publish call the function as API Gateway does, with the time that a function has.
func (w *world) fetch(id string) answer {
	return w.handle(25*time.Second, events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Resource: "/v1/external/stats/{resource_id}", PathParameters: map[string]string{"resource_id": id},
	})
}

func (w *world) publish(slug string) answer {
	return w.handle(25*time.Second, events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Resource: "/v1/external/publications", Body: fmt.Sprintf(`{"slug":%q}`, slug),
	})
}

func (w *world) handle(timeout time.Duration, e events.APIGatewayProxyRequest) answer {
	w.t.Helper()
	e.RequestContext.Authorizer = w.caller
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	response, err := w.server.Handle(ctx, e)
	if err != nil || ctx.Err() != nil {
		w.t.Errorf("the function did not answer in its time: %v, %v", err, ctx.Err())
	}
	a := answer{APIGatewayProxyResponse: response}
	if response.Headers["Content-Type"] == problem.ContentType && response.Headers[backend.AnsweredBy] == "" {
		if err := json.Unmarshal([]byte(response.Body), &a.problem); err != nil {
			w.t.Fatal(err)
		}
	}
	return a
}

// called forgets the calls so far and returns them.
func (w *world) called() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func TestWhatTheUpstreamIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if a := w.fetch("a.b_c-1"); a.StatusCode != 200 || a.Body != `{"views":12345678901234567890}` {
			t.Errorf("%d %s", a.StatusCode, a.Body)
		}
		a := w.publish("hello-world")
		if want := `{"views":12345678901234567890}`; a.StatusCode != 200 || a.Body != want {
			t.Errorf("%d %s, want %s", a.StatusCode, a.Body, want)
		}
		calls := w.called()
		if len(calls) != 2 || calls[0].Method+calls[0].URL.Path != "GET/v1/stats/a.b_c-1" || calls[1].Method+calls[1].URL.Path != "POST/v1/publications" {
			t.Fatalf("calls %v", calls)
		}
		for _, call := range calls {
			if call.Header.Get("Authorization") != "Bearer "+secret {
				t.Errorf("%s: Authorization %q", call.URL, call.Header.Get("Authorization"))
			}
		}
		body, _ := io.ReadAll(calls[1].Body)
		if string(body) != `{"slug":"hello-world"}` || calls[1].Header.Get("Content-Type") != "application/json" || calls[1].Header.Get("Idempotency-Key") != `"publish-content/hello-world"` {
			t.Errorf("published %s with %v", body, calls[1].Header)
		}
		if w.tokens != 1 {
			t.Errorf("the token was read %d times", w.tokens)
		}
	})
}

// TestAPublicationAndItsPlace: what becomes of the day's one place, whatever happens.
func TestAPublicationAndItsPlace(t *testing.T) {
	const free, used, held = "free", "used", "held"
	for name, c := range map[string]struct {
		upstream http.HandlerFunc
		status   int
		code     string
		attempts int
		place    string
	}{
		"200":            {good, 200, "", 1, used},
		"204":            {status(204), 204, "", 1, used},
		"400":            {status(400), 400, "", 1, free},
		"401":            {status(401), 502, "upstream_auth", 1, free},
		"403":            {status(403), 502, "upstream_auth", 1, free},
		"404":            {status(404), 404, "", 1, free},
		"409":            {status(409), 409, "", 1, free},
		"429":            {status(429, "Retry-After", "1"), 429, "", 4, free},
		"429, too long":  {status(429, "Retry-After", "30"), 429, "", 1, free},
		"503":            {status(503), 503, "upstream_unavailable", 4, free},
		"302":            {status(302, "Location", "http://elsewhere.test/"), 502, "upstream_misconfigured", 1, free},
		"500":            {status(500), 502, "upstream_outcome_unclear", 2, held},
		"502":            {status(502), 502, "upstream_outcome_unclear", 4, held},
		"timeout":        {hangs, 502, "upstream_outcome_unclear", 2, held},
		"no JSON":        {says("<html>", "Content-Type", "text/html"), 200, "", 1, used},
		"JSON, a list":   {says("[1]"), 200, "", 1, used},
		"JSON, but null": {says("null"), 200, "", 1, used},
		"201, Location":  {status(201, "Location", "/publications/7"), 201, "", 1, used},
		"cut off":        {cutsOff, 200, "", 1, used},
		"303":            {status(303, "Location", "/publications/7"), 502, "upstream_outcome_unclear", 1, held},
		"408":            {status(408, "Retry-After", "2"), 408, "", 4, held},
		"425":            {status(425, "Retry-After", "2"), 425, "", 4, free},
		"501":            {status(501), 502, "upstream_outcome_unclear", 1, held},
		"520":            {status(520), 502, "upstream_outcome_unclear", 4, held},
		"529":            {status(529), 503, "upstream_unavailable", 4, free},
		"next week":      {status(503, "Retry-After", "604800"), 503, "upstream_unavailable", 1, free},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.answers(c.upstream)
				a := w.publish("hello")
				if n := len(w.called()); a.StatusCode != c.status || string(a.problem.Error) != c.code || n != c.attempts {
					t.Errorf("%d %s after %d attempts; want %d %s after %d", a.StatusCode, a.Body, n, c.status, c.code, c.attempts)
				}
				w.answers(good)
				next := w.publish("other")
				taken := next.problem.Error == problem.DailyLimitExceeded && next.StatusCode == 429
				switch c.place {
				case free:
					if next.StatusCode != 200 {
						t.Errorf("the place is not free: %s", next.Body)
					}
				case used:
					if !taken || next.problem.Retryable || *next.problem.Limit != 1 || *next.problem.Used != 1 || next.problem.ResetAt != "2000-01-02T00:00:00.000Z" {
						t.Errorf("the place is not used: %s", next.Body)
					}
				case held:
					if !taken || !next.problem.Retryable || *next.problem.Used != 0 || next.Headers["Retry-After"] == "" {
						t.Errorf("the place is not held: %s", next.Body)
					}
					time.Sleep(time.Duration(*next.problem.RetryAfterMs) * time.Millisecond)
					if last := w.publish("other"); last.StatusCode != 200 {
						t.Errorf("after the lease: %s", last.Body)
					}
				}
			})
		})
	}
}

func TestTheDayTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *backend.Settings) { s.PerDay = map[string]int{"external.publish_content": 2} })
		for _, want := range []int{200, 200, 429} {
			if a := w.publish("hello"); a.StatusCode != want {
				t.Errorf("%d %s, want %d", a.StatusCode, a.Body, want)
			}
		}
		time.Sleep(24*time.Hour - time.Second)
		a := w.publish("hello")
		if ms := a.problem.RetryAfterMs; a.StatusCode != 429 || ms == nil || *ms != 1000 || a.Headers["Retry-After"] != "1" {
			t.Errorf("a second before midnight: %s", a.Body)
		}
		time.Sleep(time.Second)
		if a := w.publish("hello"); a.StatusCode != 200 {
			t.Errorf("at 00:00 UTC: %s", a.Body)
		}
	})
}

// TestOverTheDailyLimitNothingIsSent, and the bucket loses no place.
func TestOverTheDailyLimitNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *backend.Settings) { s.Burst, *s.RatePerSecond = 2, 0.001 })
		for range 10 {
			w.publish("hello")
		}
		if n := len(w.called()); n != 1 {
			t.Errorf("%d calls", n)
		}
		if a := w.fetch("demo"); a.StatusCode != 200 {
			t.Errorf("the refused publications used the bucket up: %s", a.Body)
		}
	})
}

// TestTheBucketHoldsForRetriesToo, and its refusal is ours, with a wait.
func TestTheBucketHoldsForRetriesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *backend.Settings) { s.Burst, *s.RatePerSecond = 2, 0.01 })
		w.answers(status(503))
		a := w.fetch("demo")
		if n := len(w.called()); n != 2 || a.StatusCode != 429 || a.problem.Error != "upstream_bucket_empty" || !a.problem.Retryable {
			t.Errorf("%d calls, then %s", n, a.Body)
		}
		w.answers(good)
		a = w.publish("hello")
		if a.StatusCode != 429 || a.problem.Error != "upstream_bucket_empty" || len(w.called()) != 0 {
			t.Errorf("an empty bucket: %s", a.Body)
		}
		time.Sleep(time.Duration(*a.problem.RetryAfterMs) * time.Millisecond)
		if a := w.publish("hello"); a.StatusCode != 200 {
			t.Errorf("what waited at the bucket kept its place in the day: %s", a.Body)
		}
	})
}

func TestShortDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.answers(status(429, "Retry-After", "30"))
		start := time.Now()
		a := w.handle(3*time.Second, events.APIGatewayProxyRequest{
			HTTPMethod: "GET", Resource: "/v1/external/stats/{resource_id}", PathParameters: map[string]string{"resource_id": "demo"},
		})
		if took := time.Since(start); took >= 3*time.Second || a.StatusCode != 429 || a.Headers["Retry-After"] != "30" {
			t.Errorf("%s: %s", took, a.Body)
		}
		w.answers(hangs)
		start = time.Now()
		a = w.fetch("demo")
		if took := time.Since(start); took >= 25*time.Second || a.StatusCode != 504 || a.problem.Error != "upstream_timeout" {
			t.Errorf("%s: %s", took, a.Body)
		}
	})
}

func TestBadArgumentsReachNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for _, id := range []string{"..", ".", "", "a/b", "a%2Fb", "a?b", "%2e%2e", "ü", strings.Repeat("a", 101)} {
			if a := w.fetch(id); a.StatusCode != 400 || a.problem.Error != problem.InvalidArgument {
				t.Errorf("resource %q: %d %s", id, a.StatusCode, a.Body)
			}
		}
		for _, slug := range []string{"", "Hello", "a b", "-a", "a--b", "a/b", strings.Repeat("a", 101)} {
			if a := w.publish(slug); a.StatusCode != 400 || a.problem.Error != problem.InvalidArgument {
				t.Errorf("slug %q: %d %s", slug, a.StatusCode, a.Body)
			}
		}
		if calls := w.called(); len(calls) != 0 {
			t.Errorf("calls %v", calls)
		}
	})
}

func TestLogLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.answers(status(429, "Retry-After", "1"))
		w.fetch("demo")
		fields := w.log.FilterMessage("call").All()[0].ContextMap()
		for name, want := range map[string]any{
			"upstream": "upstream.test", "attempts": int64(4), "retries": int64(3), "waited_ms": int64(3000),
			"upstream_failure": "rate_limited", "stopped": "attempts", "operation": "external.fetch_stats", "status": int64(429),
		} {
			if fields[name] != want {
				t.Errorf("%s is %v (%T), want %v", name, fields[name], fields[name], want)
			}
		}
	})
}
