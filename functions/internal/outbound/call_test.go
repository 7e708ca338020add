package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"sekisho/functions/internal/outbound/outboundtest"
	"sekisho/functions/internal/trace"
)

// inBubble serves h as stats.test in virtual time and gives the test a client for it.
func inBubble(t *testing.T, h http.HandlerFunc, test func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var network outboundtest.Network
		defer network.Serve("stats.test", h)()
		c := newClient(t, Config{Upstream: "stats", Dial: network.Dial, Jitter: half})
		defer c.Close()
		test(t, c)
	})
}

// countedNetwork is one in memory that counts the connections to it, and those that were closed.
type countedNetwork struct {
	outboundtest.Network
	dialled, closed atomic.Int64
}

func countingNetwork(h http.Handler) (*countedNetwork, func()) {
	n := &countedNetwork{}
	return n, n.Serve("stats.test", h)
}

func (n *countedNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.dialled.Add(1)
	conn, err := n.Dial(ctx, network, address)
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { n.closed.Add(1) })}, err
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// counts checks how many connections there have been.
func (n *countedNetwork) counts(t *testing.T, step string, dialled, closed int64) {
	t.Helper()
	synctest.Wait()
	if n.dialled.Load() != dialled || n.closed.Load() != closed {
		t.Errorf("%s: %d connections were made and %d closed, want %d and %d", step, n.dialled.Load(), n.closed.Load(), dialled, closed)
	}
}

// raw takes any answer as it is.
func raw(r Response) (Response, error) { return r, nil }

func answers(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestLambdaDeadline(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) { limits("30")(1, w, r) }
	inBubble(t, h, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := Do(ctx, c, Request{URL: "http://stats.test/"}, raw)
		if took := time.Since(start); took >= 3*time.Second {
			t.Errorf("returned after %s", took)
		}
		a := Advise(err)
		if a.RetryAfterMs == nil || *a.RetryAfterMs != 30000 {
			t.Errorf("advice %+v, want retryAfterMs 30000", a)
		}
	})
}

// Whatever the deadline: no call outlives it, and the reserve is left.
func TestNoCallOutlivesItsDeadline(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, h := range []http.HandlerFunc{answers(503), hang} {
		for within := 50 * ms; within < 30*time.Second; within = within*5/4 + 13*ms {
			inBubble(t, h, func(t *testing.T, c *Client) {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				start := time.Now()
				_, err := Do(ctx, c, Request{URL: "http://stats.test/"}, raw)
				if took := time.Since(start); err == nil || took > max(0, within-DefaultReserve) {
					t.Errorf("deadline %s: returned after %s with %v", within, took, err)
				}
			})
		}
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	inBubble(t, answers(503), func(t *testing.T, c *Client) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*ms, cancel)
		start, asked := time.Now(), 0
		_, err := Do(ctx, c, Request{URL: "http://stats.test/", Gate: func(context.Context) error { asked++; return nil }}, raw)
		var e *Error
		if !errors.As(err, &e) || e.Stop != StopCancelled || e.Attempts != 1 || e.Status != 503 || time.Since(start) != 200*ms || asked != 1 {
			t.Errorf("got %v after %s; the gate was asked %d times", err, time.Since(start), asked)
		}
		if !errors.Is(err, context.Canceled) {
			t.Error("the error does not wrap context.Canceled")
		}
		var se *StatusError
		if !errors.As(err, &se) || se.Status != 503 {
			t.Error("the error lost the last attempt's")
		}
		if a := Advise(err); a.Code != CodeCancelled || a.Retryable {
			t.Errorf("advice %+v", a)
		}
	})
}

func TestCancelledDuringAnAttempt(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	inBubble(t, hang, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*ms, cancel)
		_, err := Do(ctx, c, Request{URL: "http://stats.test/"}, raw)
		var e *Error
		if !errors.As(err, &e) || e.Stop != StopCancelled || e.Attempts != 1 {
			t.Errorf("got %v", err)
		}
	})
}

type tooSoon time.Duration

func (e tooSoon) Error() string             { return "too soon" }
func (e tooSoon) RetryAfter() time.Duration { return time.Duration(e) }

func TestGateIsPassedBeforeEveryAttempt(t *testing.T) {
	inBubble(t, answers(503), func(t *testing.T, c *Client) {
		passed := 0
		var tally Tally
		_, err := Do(t.Context(), c, Request{URL: "http://stats.test/", Observe: tally.Observe, Gate: func(context.Context) error {
			passed++
			time.Sleep(time.Second)
			return nil
		}}, raw)
		want := Tally{Attempts: 4, Requests: 4, Retries: 3, Waited: 4*time.Second + backed3}
		var e *Error
		if passed != 4 || tally != want || !errors.As(err, &e) || e.Waited != want.Waited {
			t.Errorf("passed %d times, %+v, want %+v (%v)", passed, tally, want, err)
		}
	})
}

func TestGateRefuses(t *testing.T) {
	inBubble(t, answers(200), func(t *testing.T, c *Client) {
		for _, tt := range []struct {
			err   error
			code  Code
			after int64
		}{
			{tooSoon(7 * time.Second), CodeBusy, 7000},
			{fmt.Errorf("wrapped: %w", tooSoon(time.Second)), CodeBusy, 1000},
			{errors.New("store is down"), CodeUnavailable, 0},
		} {
			events := 0
			_, err := Do(t.Context(), c, Request{URL: "http://stats.test/", Observe: func(Attempt) { events++ },
				Gate: func(context.Context) error { return tt.err }}, raw)
			a := Advise(err)
			var after int64
			if a.RetryAfterMs != nil {
				after = *a.RetryAfterMs
			}
			if a.Code != tt.code || !a.Retryable || after != tt.after || events != 0 || !errors.Is(err, tt.err) {
				t.Errorf("%v: %+v, %d ms, %d events", tt.err, a, after, events)
			}
		}
	})
}

// The gate may wait, but must leave time for an attempt.
func TestGateKnowsTheDeadline(t *testing.T) {
	inBubble(t, answers(200), func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var left time.Duration
		_, err := Do(ctx, c, Request{URL: "http://stats.test/", Gate: func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			left = time.Until(deadline)
			return nil
		}}, raw)
		if want := 3*time.Second - DefaultReserve - minAttempt; err != nil || left != want {
			t.Errorf("%v; the gate had %s, want %s", err, left, want)
		}
		for within, wants := range map[time.Duration]bool{DefaultReserve + minAttempt: true, DefaultReserve + minAttempt - 1: false} {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			asked := false
			_, err := Do(ctx, c, Request{URL: "http://stats.test/", Gate: func(context.Context) error { asked = true; return nil }}, raw)
			cancel()
			if asked != wants || (err == nil) != wants {
				t.Errorf("deadline in %s: the gate was asked: %t, %v", within, asked, err)
			}
		}
	})
}

// TestAGateThatTakesTheTime: what is left is too short for an attempt, and the next call may need as long.
func TestAGateThatTakesTheTime(t *testing.T) {
	inBubble(t, answers(200), func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := Do(ctx, c, Request{URL: "http://stats.test/", Gate: func(context.Context) error {
			time.Sleep(2700 * ms)
			return nil
		}}, raw)
		if a := Advise(err); a.Code != CodeDeadline || a.RetryAfterMs == nil || *a.RetryAfterMs != 3000 || strings.Contains(err.Error(), "last attempt") {
			t.Errorf("%v, %+v", err, a)
		}
	})
}

// TestAnAttemptThatIsTheOnlyOne: nothing says when a failure that nobody understands will have passed.
func TestAnAttemptThatIsTheOnlyOne(t *testing.T) {
	for status, after := range map[int]time.Duration{500: 0, 503: backoffMax} {
		inBubble(t, answers(status), func(t *testing.T, c *Client) {
			_, err := Do(t.Context(), c, Request{URL: "http://stats.test/", Attempts: 1}, raw)
			var e *Error
			if !errors.As(err, &e) || e.Stop != StopAttempts || e.RetryAfter != after {
				t.Errorf("%d: %v; want it advised to wait %s", status, err, after)
			}
		})
	}
}

func TestIdempotencyKeyIsTheSameEachTime(t *testing.T) {
	var keys []string
	h := func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		w.WriteHeader(504)
	}
	inBubble(t, h, func(t *testing.T, c *Client) {
		Do(t.Context(), c, Request{Method: "post", URL: "http://stats.test/", IdempotencyKey: `a"b`, Body: []byte("x")}, raw)
		if got := strings.Join(keys, " "); got != strings.TrimSpace(strings.Repeat(`"a\"b" `, 4)) {
			t.Errorf("keys: %s", got)
		}
		_, err := Do(t.Context(), c, Request{URL: "http://stats.test/", IdempotencyKey: "a\nb"}, raw)
		if e, ok := err.(*Error); !ok || e.Reason != ReasonRequest || e.Attempts != 0 {
			t.Errorf("a key with a line break: %v", err)
		}
	})
}

func TestIdempotentPostIsRepeated(t *testing.T) {
	inBubble(t, answers(504), func(t *testing.T, c *Client) {
		_, err := Do(t.Context(), c, Request{Method: "POST", URL: "http://stats.test/", Idempotent: true}, raw)
		if e, ok := err.(*Error); !ok || e.Attempts != 4 || e.MayHaveHappened {
			t.Errorf("got %v", err)
		}
		_, err = Do(t.Context(), c, Request{Method: "PUT", URL: "http://stats.test/"}, raw)
		if e, ok := err.(*Error); !ok || e.Attempts != 4 {
			t.Errorf("PUT: got %v", err)
		}
	})
}

// A body is sent in full with every attempt.
func TestBodyIsRepeated(t *testing.T) {
	var lengths []int64
	h := func(w http.ResponseWriter, r *http.Request) {
		lengths = append(lengths, r.ContentLength)
		w.WriteHeader(503)
	}
	inBubble(t, h, func(t *testing.T, c *Client) {
		Do(t.Context(), c, Request{Method: "POST", URL: "http://stats.test/", Body: []byte("hello")}, raw)
		if fmt.Sprint(lengths) != "[5 5 5 5]" {
			t.Errorf("lengths %v", lengths)
		}
	})
}

// What an upstream echoes must not come back in an error either.
func TestEchoedSecretsStayOut(t *testing.T) {
	echoes := map[string]http.HandlerFunc{
		"invalid JSON type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"at":%q}`, r.Header.Get("Authorization"))
		},
		"query": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"at":%q}`, r.URL.Query().Get("access"))
		},
		"content type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/"+secretToken)
		},
		"status line": func(w http.ResponseWriter, r *http.Request) {
			says("HTTP/1.1 abc "+r.Header.Get("Authorization")+"\r\n\r\n")(1, w, r)
		},
		"header line": func(w http.ResponseWriter, r *http.Request) {
			says("HTTP/1.1 200 OK\r\n"+r.Header.Get("Authorization")+"\r\n\r\n")(1, w, r)
		},
		"location": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://[user:pass-SECRET@x/?access="+secretToken)
			w.WriteHeader(302)
		},
		"refused location": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "ftp://user:pass-SECRET@x/?access="+secretToken)
			w.WriteHeader(302)
		},
	}
	type dated struct {
		At time.Time `json:"at"` // whose parser quotes what it got
	}
	for name, h := range echoes {
		t.Run(name, func(t *testing.T) {
			inBubble(t, h, func(t *testing.T, c *Client) {
				var events []Attempt
				_, err := Do(t.Context(), c, Request{
					URL: withSecrets("http://stats.test/"), Token: secretToken, Header: secretHeader(),
					Observe: func(a Attempt) { events = append(events, a) },
				}, JSON[dated])
				if err == nil || len(events) == 0 {
					t.Fatalf("got %v, %d events", err, len(events))
				}
				noSecrets(t, err, events)
			})
		})
	}
}

func TestBadRequestsDoNotQuoteThemselves(t *testing.T) {
	c := newClient(t, Config{})
	for _, r := range []Request{
		{URL: "http://user:pass-SECRET@stats.test:bad/?access=query-SECRET"},
		{URL: "http://user:pass-SECRET@[::1/?access=query-SECRET"},
		{URL: "//user:pass-SECRET@stats.test/"},
		{URL: "file:///etc/passwd?access=query-SECRET"},
		{URL: "http://stats.test/", Method: "GE T", Body: []byte("SECRET")},
		{URL: "http://stats.test/", Token: "SECRET\r\nX: y"},
		{URL: "http://stats.test/", Header: http.Header{"X Y": {"SECRET"}}},
		{URL: "http://é.test/?access=query-SECRET"},
		{URL: "http://[fe80::1%25a%20b]/?access=query-SECRET"},
		{URL: "http://stats.test/", IdempotencyKey: "SECRET-é"},
	} {
		_, err := Do(t.Context(), c, r, raw)
		e, ok := err.(*Error)
		if !ok || e.Class != Permanent || e.Reason != ReasonRequest || e.Attempts != 0 {
			t.Errorf("%+v: got %v", r, err)
			continue
		}
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error quotes it: %v", err)
		}
	}
}

func TestNewRefusesWhatIsOutOfRange(t *testing.T) {
	for _, cfg := range []Config{{Attempts: 5}, {Attempts: -1}, {Timeout: -1}, {Reserve: -1}, {MaxWait: -1}, {MaxBytes: -1}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func TestAdviseOfAForeignError(t *testing.T) {
	if a := Advise(errors.New("boom SECRET")); a.Classification != Unknown || a.Retryable || strings.Contains(a.Hint, "SECRET") {
		t.Errorf("%+v", a)
	}
}

func BenchmarkClassify(b *testing.B) {
	o := outcome{err: &StatusError{Status: 599}, status: 599}
	for b.Loop() {
		classify(o)
	}
}

// TestConfigAtItsBounds: one attempt is a number of attempts, and nothing is negative.
func TestConfigAtItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		good   bool
	}{
		"one attempt": {Config{Attempts: 1}, true}, "all attempts": {Config{Attempts: MaxAttempts}, true},
		"one more": {Config{Attempts: MaxAttempts + 1}, false}, "less than none": {Config{Attempts: -1}, false},
		"a short time": {Config{Timeout: 1}, true}, "no time": {Config{Timeout: -1}, false}, "a byte": {Config{MaxBytes: 1}, true},
		"a reserve": {Config{Reserve: -1}, false}, "a wait": {Config{MaxWait: -1}, false}, "a size": {Config{MaxBytes: -1}, false},
	} {
		client, err := New(c.config)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			client.Close()
		}
	}
}

// TestErrorsAsText: what an operator reads in a log line.
func TestErrorsAsText(t *testing.T) {
	e := &Error{Upstream: "orders", Method: "GET", Class: Transient, Stop: StopAttempts, Attempts: 4, Waited: 4025 * ms, Err: &StatusError{Status: 503}}
	const want = "call orders with GET: HTTP 503 Service Unavailable (transient; attempts: 4; waited: 4.025s; stopped: attempts"
	if got := e.Error(); got != want+")" {
		t.Errorf("%s", got)
	}
	e.RetryAfter = 20 * time.Second
	if got := e.Error(); got != want+"; not before: 20s)" {
		t.Errorf("%s", got)
	}
}

// TestWaitsAreRoundedUp: to the millisecond, so that an agent who obeys doesn't come too early.
func TestWaitsAreRoundedUp(t *testing.T) {
	for wait, want := range map[time.Duration]int64{1: 1, ms: 1, ms + 1: 2} {
		if a := Advise(&Error{Class: Transient, RetryAfter: wait}); a.RetryAfterMs == nil || *a.RetryAfterMs != want {
			t.Errorf("%s: %+v, want %d ms", wait, a, want)
		}
	}
}

// TestRefusalsThatAreKept: the answer that comes with a 4xx, for whoever asks for it, if it came in full.
func TestRefusalsThatAreKept(t *testing.T) {
	const body = `{"error":"no"}`
	for _, c := range []struct {
		status   int
		keep     bool
		maxBytes int64
		want     bool
	}{
		{400, true, 0, true}, {499, true, 0, true}, {404, false, 0, false}, {300, true, 0, false}, {399, true, 0, false}, {500, true, 0, false},
		{400, true, int64(len(body)), true}, {400, true, int64(len(body)) - 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var network outboundtest.Network
			defer network.Serve("stats.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, body)
			}))()
			client := newClient(t, Config{Dial: network.Dial, MaxBytes: c.maxBytes, Attempts: 1})
			defer client.Close()
			_, err := Do(t.Context(), client, Request{URL: "http://stats.test/", KeepRefusals: c.keep}, raw)
			var refused *StatusError
			if !errors.As(err, &refused) || (refused.Answer != nil) != c.want || c.want && string(refused.Answer.Body) != body {
				t.Errorf("%+v: %v, %+v", c, err, refused)
			}
		})
	}
}

// TestAnswersAtTheLimit: as long as is allowed, and one byte longer, with a length declared and without.
func TestAnswersAtTheLimit(t *testing.T) {
	const most = 10
	for _, c := range []struct {
		method   string
		bytes    int
		declared bool
		good     bool
	}{
		{"GET", most, true, true}, {"GET", most, false, true}, {"GET", most + 1, true, false}, {"GET", most + 1, false, false},
		{"HEAD", most + 1, true, true},
	} {
		h := func(w http.ResponseWriter, _ *http.Request) {
			if c.declared {
				w.Header().Set("Content-Length", fmt.Sprint(c.bytes))
			}
			w.WriteHeader(299)
			fmt.Fprint(w, strings.Repeat("a", c.bytes-1))
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "a")
		}
		synctest.Test(t, func(t *testing.T) {
			var network outboundtest.Network
			defer network.Serve("stats.test", http.HandlerFunc(h))()
			client := newClient(t, Config{Dial: network.Dial, MaxBytes: most})
			defer client.Close()
			r, err := Do(t.Context(), client, Request{Method: c.method, URL: "http://stats.test/"}, raw)
			if (err == nil) != c.good || !c.good && !errors.Is(err, ErrTooLarge) || c.good && c.method == "GET" && len(r.Body) != c.bytes {
				t.Errorf("%+v: %d bytes, %v", c, len(r.Body), err)
			}
		})
	}
}

// TestBrokenCompression is an answer that does not parse, not an empty one.
func TestBrokenCompression(t *testing.T) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	fmt.Fprint(z, "hello")
	z.Close()
	whole := out.String()
	for name, body := range map[string]string{
		"no header": "hello, this is not compressed", "another checksum": whole[:len(whole)-8] + "12345678", "corrupt": whole[:10] + "\xff\xff\xff\xff\xff\xff",
	} {
		h := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, body)
		}
		inBubble(t, h, func(t *testing.T, c *Client) {
			_, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, raw)
			var e *Error
			if !errors.As(err, &e) || e.Reason != ReasonUnparsable {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestWhyItDoesNotParse is left for the caller to look at.
func TestWhyItDoesNotParse(t *testing.T) {
	why := errors.New("not a number")
	inBubble(t, answers(200), func(t *testing.T, c *Client) {
		_, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, func(Response) (int, error) { return 0, why })
		if !errors.Is(err, why) {
			t.Errorf("%v, want an error that wraps %v", err, why)
		}
	})
}

// TestRequestsLeft: a second call to the same upstream gets what the first left over.
func TestRequestsLeft(t *testing.T) {
	for _, c := range []struct {
		tally Tally
		want  int
	}{
		{Tally{}, MaxAttempts}, {Tally{Attempts: 1}, MaxAttempts - 1}, {Tally{Attempts: 1, Requests: 3}, MaxAttempts - 3},
		{Tally{Attempts: MaxAttempts, Requests: MaxAttempts}, 0}, {Tally{Attempts: MaxAttempts, Requests: MaxAttempts + 1}, 0},
	} {
		if got := c.tally.Left(); got != c.want {
			t.Errorf("%+v: %d left, want %d", c.tally, got, c.want)
		}
	}
}

// TestRequestsAsSent: what goes along, and where the user information of the URL ends up.
func TestRequestsAsSent(t *testing.T) {
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	own := http.Header{"Authorization": {"Own x"}, "User-Agent": {"own"}}
	for name, c := range map[string]struct {
		request                  Request
		authorization, userAgent string
	}{
		"nothing":                    {Request{URL: "http://stats.test/"}, "", "sekisho"},
		"user information":           {Request{URL: "http://ada:secret@stats.test/"}, basic("ada", "secret"), "sekisho"},
		"… and a header":             {Request{URL: "http://ada:secret@stats.test/", Header: own}, "Own x", "own"},
		"a header":                   {Request{URL: "http://stats.test/", Header: own}, "Own x", "own"},
		"a token, which counts most": {Request{URL: "http://ada:secret@stats.test/", Header: own, Token: "t"}, "Bearer t", "own"},
	} {
		p, err := c.request.prepare()
		if err != nil || p.url.String() != "http://stats.test/" || p.header.Get("Authorization") != c.authorization || p.header.Get("User-Agent") != c.userAgent {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
	}
	if len(own) != 2 || own.Get("Authorization") != "Own x" {
		t.Errorf("the caller's headers are now %v", own)
	}
}

// TestWhatHeadersMayHold, and the quotes of an idempotency key.
func TestWhatHeadersMayHold(t *testing.T) {
	for value, good := range map[string]bool{" ~": true, "\x1f": false, "\x7f": false, "é": false, "\u0080": false} {
		if _, err := structuredString(value); (err == nil) != good {
			t.Errorf("the key %q: %v", value, err)
		}
	}
	for _, c := range []struct {
		name, value string
		good        bool
	}{
		{"X-A~", "\ta é\u0080", true}, {"", "a", false}, {"X A", "a", false}, {"X:", "a", false}, {"X\x7f", "a", false}, {"Xé", "a", false},
		{"X", "\x1f", false}, {"X", "\n", false}, {"X", "\x7f", false},
	} {
		if got := sendable(http.Header{c.name: {c.value}}); got != c.good {
			t.Errorf("%q: %q can be sent: %t", c.name, c.value, got)
		}
	}
}

// TestSecretsThatAreNamed are taken out of what comes back: those and no header; also what a request was
// signed with, which goes to no other origin.
func TestSecretsThatAreNamed(t *testing.T) {
	signatures := map[string]string{}
	h := func(w http.ResponseWriter, r *http.Request) {
		signatures[r.Host] = r.Header.Get("X-Signature")
		if r.URL.Path == "/away" {
			w.Header().Set("Location", "http://stats.test:81/")
			w.WriteHeader(http.StatusFound)
			return
		}
		fmt.Fprint(w, "k for "+r.Header.Get("X-City")+" by "+r.Header.Get("X-Signature"))
	}
	inBubble(t, h, func(t *testing.T, c *Client) {
		request := Request{
			URL: "http://stats.test/?q=Kyoto", Header: http.Header{"X-City": {"Nara"}}, Secrets: []string{"k"},
			Sign: func(r *http.Request) string { r.Header.Set("X-Signature", "!"); return "!" },
		}
		text := func(r Response) (string, error) { return r.Text() }
		if got, err := Do(t.Context(), c, request, text); err != nil || got != "[removed] for Nara by [removed]" {
			t.Errorf("%s, %v", got, err)
		}
		request.URL = "http://stats.test/away"
		if _, err := Do(t.Context(), c, request, text); err != nil || signatures["stats.test"] != "!" || signatures["stats.test:81"] != "" {
			t.Errorf("signed %q, %v", signatures, err)
		}
	})
}

// TestReadingAnswers: why there is no text or no value.
func TestReadingAnswers(t *testing.T) {
	coded := func(coding string) http.Header { return http.Header{"Content-Encoding": {coding}} }
	for name, c := range map[string]struct {
		answer     Response
		text, json string // the errors
	}{
		"a value":    {Response{Body: []byte("{}")}, "", ""},
		"identity":   {Response{Body: []byte("{}"), Header: coded("Identity")}, "", ""},
		"compressed": {Response{Body: []byte("{}"), Header: coded("br")}, "compressed", "compressed"},
		"lost":       {Response{lost: ErrTooLarge}, "larger", "larger"},
		"unreadable": {Response{Body: []byte("\xff\xfe\x00\xd8")}, "encoding", "encoding"},
		"empty":      {Response{}, "", "empty body"},
		"no JSON":    {Response{Body: []byte("{")}, "", "JSON was expected"},
	} {
		says := func(err error, want string) bool {
			return (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want))
		}
		if _, err := c.answer.Text(); !says(err, c.text) {
			t.Errorf("%s: the text: %v, want %q", name, err, c.text)
		}
		if _, err := JSON[any](c.answer); !says(err, c.json) {
			t.Errorf("%s: the value: %v, want %q", name, err, c.json)
		}
	}
	for media, want := range map[string]bool{"application/json; charset=utf-8": true, "application/problem+json": true, "text/html": false, "": false} {
		if got := (Response{Header: http.Header{"Content-Type": {media}}}).SaysJSON(); got != want {
			t.Errorf("%q is JSON: %t", media, got)
		}
	}
}

// TestSpans: one for each attempt, which says what it came to, and which the upstream's spans are below.
func TestSpans(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	trace.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	defer trace.Use(nil)
	var parents []string
	h := func(w http.ResponseWriter, r *http.Request) {
		parents = append(parents, r.Header.Get(trace.Parent))
		then(sends(503, ""), hangsUp, sends(200, ""))(len(parents), w, r)
	}
	inBubble(t, h, func(t *testing.T, c *Client) {
		if _, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, raw); err != nil {
			t.Fatal(err)
		}
	})
	var got []string
	for i, s := range spans.GetSpans() {
		said := []string{s.Name}
		for _, a := range s.Attributes {
			said = append(said, string(a.Key)+"="+a.Value.String())
		}
		got = append(got, strings.Join(said, " "))
		if !strings.Contains(parents[i], s.SpanContext.SpanID().String()) {
			t.Errorf("attempt %d was sent with %q, and its span is %s", i+1, parents[i], s.SpanContext.SpanID())
		}
	}
	const about = "GET http.request.method=GET server.address=stats "
	if want := []string{
		about + "http.response.status_code=503 error.type=unavailable",
		about + "http.request.resend_count=1 error.type=connection",
		about + "http.response.status_code=200 http.request.resend_count=2",
	}; !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
