package outbound

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/outbound/outboundtest"
)

var update = flag.Bool("update", false, "write the golden files")

// behaviour is one thing that an upstream does, and what must come of it. The waits are
// those of a jitter of half its most: 575, 1150 and 2300 ms, 4025 in all.
type behaviour struct {
	name     string
	upstream upstream
	url      string        // default http://stats.test/
	method   string        // default GET
	key      string        // idempotency key
	within   time.Duration // the caller's deadline, 0 for none

	attempts int
	waited   time.Duration
	class    Class // "" is success
	code     Code
	after    int64 // retryAfterMs, 0 is null
	status   int   // that the error reports
	calls    int   // that the upstream sees, if not one per attempt
}

// upstream answers the nth attempt.
type upstream func(n int, w http.ResponseWriter, r *http.Request)

const (
	ms      = time.Millisecond
	backed1 = 575 * ms
	backed2 = backed1 + 1150*ms
	backed3 = backed2 + 2300*ms
)

var behaviours = []behaviour{
	{name: "200", upstream: sends(200, `{"visits":7}`), attempts: 1},
	{name: "204", upstream: sends(204, ""), attempts: 1},
	{name: "302 to another page", upstream: moves("/there"), calls: 2, attempts: 1},
	{name: "301 to a private address", upstream: moves("http://10.0.0.1/"), attempts: 1, class: Permanent, code: CodeMisconfigured, status: 301},
	{name: "301 to a name at a loopback address", upstream: moves("http://rebound.test/"), attempts: 1, class: Permanent, code: CodeMisconfigured, status: 301},
	{name: "301 for ever", upstream: moves("/"), calls: 4, attempts: 1, class: Permanent, code: CodeMisconfigured, status: 301},
	{name: "301, then 503", upstream: movesOnceTo503, calls: 4, attempts: 3, waited: backed2, class: Transient, code: CodeUnavailable, after: 20000, status: 503},
	{name: "303 of a POST", upstream: sends(303, "", "Location", "/done"), method: "POST", attempts: 1, class: Permanent, code: CodeUnclear, status: 303},
	{name: "301 of a POST", upstream: moves("/there"), method: "POST", attempts: 1, class: Permanent, code: CodeMisconfigured, status: 301},
	{name: "304", upstream: sends(304, ""), attempts: 1, class: Permanent, code: CodeMisconfigured, status: 304},
	{name: "400", upstream: sends(400, "{}"), attempts: 1, class: Permanent, code: CodeRejected, status: 400},
	{name: "401", upstream: sends(401, "{}"), attempts: 1, class: Permanent, code: CodeAuth, status: 401},
	{name: "403", upstream: sends(403, "{}"), attempts: 1, class: Permanent, code: CodeAuth, status: 403},
	{name: "404", upstream: sends(404, "{}"), attempts: 1, class: Permanent, code: CodeNotFound, status: 404},
	{name: "408, Retry-After: 2", upstream: sends(408, "{}", "Retry-After", "2"), attempts: 4, waited: 6 * time.Second, class: Transient, code: CodeTimeout, after: 2000, status: 408},
	{name: "408 to a POST", upstream: sends(408, "{}"), method: "POST", attempts: 1, class: Transient, code: CodeUnclear, status: 408},
	{name: "409", upstream: sends(409, "{}"), attempts: 1, class: Permanent, code: CodeConflict, status: 409},
	{name: "422", upstream: sends(422, "{}"), attempts: 1, class: Permanent, code: CodeRejected, status: 422},
	{name: "421", upstream: sends(421, ""), attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 421},
	{name: "423", upstream: sends(423, "{}"), attempts: 1, class: Permanent, code: CodeConflict, status: 423},
	{name: "425 to a POST", upstream: sends(425, "{}"), method: "POST", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 425},
	{name: "429, Retry-After: 2", upstream: limits("2"), attempts: 4, waited: 6 * time.Second, class: Transient, code: CodeRateLimited, after: 2000, status: 429},
	{name: "429, Retry-After: 2, then 200", upstream: then(limits("2"), sends(200, "{}")), attempts: 2, waited: 2 * time.Second},
	{name: "429, Retry-After: date in 3 s", upstream: limitsUntil(3 * time.Second), attempts: 4, waited: 9 * time.Second, class: Transient, code: CodeRateLimited, after: 3000, status: 429},
	{name: "429, Retry-After: past date", upstream: limitsUntil(-time.Hour), attempts: 4, waited: backed3, class: Transient, code: CodeRateLimited, after: 20000, status: 429},
	{name: "429 without header", upstream: sends(429, ""), attempts: 4, waited: backed3, class: Transient, code: CodeRateLimited, after: 20000, status: 429},
	{name: "429, Retry-After: 30, deadline in 3 s", upstream: limits("30"), within: 3 * time.Second, attempts: 1, class: Transient, code: CodeRateLimited, after: 30000, status: 429},
	{name: "429, Retry-After: 60, no deadline", upstream: limits("60"), attempts: 4, waited: 3 * time.Minute, class: Transient, code: CodeRateLimited, after: 60000, status: 429},
	{name: "429, Retry-After: 2, deadline in 2.35 s", upstream: limits("2"), within: 2350 * ms, attempts: 2, waited: 2 * time.Second, class: Transient, code: CodeRateLimited, after: 2000, status: 429},
	{name: "429, Retry-After: 3600, no deadline", upstream: limits("3600"), attempts: 1, class: Transient, code: CodeRateLimited, after: 3600000, status: 429},
	{name: "429, Retry-After: 3 s on, in epoch milliseconds", upstream: limits("946684803000"), attempts: 4, waited: 3*time.Second + backed3 - backed1, class: Transient, code: CodeRateLimited, after: 20000, status: 429},
	{name: "429, Retry-After: 2 days", upstream: limits("172800"), attempts: 1, class: Transient, code: CodeRateLimited, after: 172800000, status: 429},
	{name: "429, Retry-After: 99999999999999999999", upstream: limits("99999999999999999999"), attempts: 1, class: Transient, code: CodeRateLimited, after: 2592000000, status: 429},
	{name: "429 to a POST", upstream: limits("2"), method: "POST", attempts: 4, waited: 6 * time.Second, class: Transient, code: CodeRateLimited, after: 2000, status: 429},
	{name: "500 once, then 200", upstream: then(sends(500, ""), sends(200, "{}")), attempts: 2, waited: backed1},
	{name: "500 twice", upstream: sends(500, ""), attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 500},
	{name: "500, deadline in 0.5 s", upstream: sends(500, ""), within: 500 * ms, attempts: 1, class: Unknown, code: CodeFailed, after: 575, status: 500},
	{name: "500 to a POST", upstream: sends(500, ""), method: "POST", attempts: 1, class: Unknown, code: CodeUnclear, status: 500},
	{name: "500 to a POST with a key", upstream: sends(500, ""), method: "POST", key: "k", attempts: 2, waited: backed1, class: Unknown, code: CodeUnclear, status: 500},
	{name: "501", upstream: sends(501, ""), attempts: 1, class: Permanent, code: CodeMisconfigured, status: 501},
	{name: "501 to a POST", upstream: sends(501, ""), method: "POST", attempts: 1, class: Permanent, code: CodeUnclear, status: 501},
	{name: "507", upstream: sends(507, ""), attempts: 1, class: Permanent, code: CodeFailed, status: 507},
	{name: "520", upstream: sends(520, ""), attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 520},
	{name: "520 to a POST", upstream: sends(520, ""), method: "POST", attempts: 1, class: Transient, code: CodeUnclear, status: 520},
	{name: "522", upstream: sends(522, ""), attempts: 4, waited: backed3, class: Transient, code: CodeTimeout, after: 20000, status: 522},
	{name: "529 to a POST", upstream: sends(529, ""), method: "POST", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 529},
	{name: "502", upstream: sends(502, ""), attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 502},
	{name: "502 to a POST", upstream: sends(502, ""), method: "POST", attempts: 1, class: Transient, code: CodeUnclear, status: 502},
	{name: "503", upstream: sends(503, ""), attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 503},
	{name: "503 to a POST", upstream: sends(503, ""), method: "POST", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 503},
	{name: "504", upstream: sends(504, ""), attempts: 4, waited: backed3, class: Transient, code: CodeTimeout, after: 20000, status: 504},
	{name: "504 to a POST", upstream: sends(504, ""), method: "POST", attempts: 1, class: Transient, code: CodeUnclear, status: 504},
	{name: "504 to a POST with a key", upstream: sends(504, ""), method: "POST", key: "k", attempts: 4, waited: backed3, class: Transient, code: CodeUnclear, status: 504},
	{name: "504 once to a POST with a key, then 429", upstream: then(sends(504, ""), limits("2")), method: "POST", key: "k", attempts: 4, waited: backed1 + 4*time.Second, class: Transient, code: CodeUnclear, status: 429},
	{name: "504 once to a POST with a key, then 200", upstream: then(sends(504, ""), sends(200, "{}")), method: "POST", key: "k", attempts: 2, waited: backed1},
	{name: "500, 503, 500", upstream: then(sends(500, ""), sends(503, ""), sends(500, "")), attempts: 3, waited: backed2, class: Unknown, code: CodeFailed, status: 500},
	{name: "connection refused", url: "http://refused.test/", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000},
	{name: "connection refused, POST", url: "http://refused.test/", method: "POST", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000},
	{name: "closed without an answer", upstream: hangsUp, attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000},
	{name: "closed without an answer, POST", upstream: hangsUp, method: "POST", attempts: 1, class: Transient, code: CodeUnclear},
	{name: "closed without an answer, POST with a key", upstream: hangsUp, method: "POST", key: "k", attempts: 4, waited: backed3, class: Transient, code: CodeUnclear},
	{name: "reset mid-body", url: "http://reset.test/", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000, status: 200},
	{name: "reset mid-body, POST", url: "http://reset.test/", method: "POST", attempts: 1, class: Unknown, code: CodeUnclear, status: 200},
	{name: "slow headers", upstream: neverAnswers, attempts: 4, waited: backed3, class: Transient, code: CodeTimeout, after: 65000},
	{name: "slow headers, POST", upstream: neverAnswers, method: "POST", attempts: 1, class: Transient, code: CodeUnclear},
	{name: "slow headers, deadline in 3 s", upstream: neverAnswers, within: 3 * time.Second, attempts: 1, class: Transient, code: CodeTimeout, after: 3000},
	{name: "slow headers, deadline in 33 s", upstream: neverAnswers, within: 33 * time.Second, attempts: 3, waited: backed2, class: Transient, code: CodeTimeout, after: 33000},
	{name: "slow body, one byte a second", upstream: trickles, attempts: 4, waited: backed3, class: Transient, code: CodeTimeout, after: 65000, status: 200},
	{name: "endless body", upstream: neverEnds, attempts: 1, class: Permanent, code: CodeTooLarge, status: 200},
	{name: "endless body, POST", upstream: neverEnds, method: "POST", attempts: 1, class: Unknown, code: CodeUnclear, status: 200},
	{name: "invalid JSON", upstream: sends(200, `{visits}`), attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 200},
	{name: "truncated JSON", upstream: sends(200, `{"visits":`), attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 200},
	{name: "truncated JSON once, then 200", upstream: then(sends(200, `{"visits":`), sends(200, "{}")), attempts: 2, waited: backed1},
	{name: "empty 200", upstream: sends(200, ""), attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 200},
	{name: "HTML", upstream: sends(200, "<html>", "Content-Type", "text/html"), attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 200},
	{name: "JSON as text/html", upstream: sends(200, "{}", "Content-Type", "text/html"), attempts: 1},
	{name: "JSON with a byte order mark", upstream: sends(200, "\xef\xbb\xbf{}"), attempts: 1},
	{name: "JSON in Shift_JIS", upstream: sends(200, "{\"n\":\"\x93\x8c\x8b\x9e\"}"), attempts: 1},
	{name: "JSON in no encoding", upstream: sends(200, "{\"n\":\"\x81\x8d\x81\xff\"}"), attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 200},
	{name: "HTML, POST", upstream: sends(200, "<html>", "Content-Type", "text/html"), method: "POST", attempts: 1, class: Unknown, code: CodeUnclear, status: 200},
	{name: "201 without a body, POST with a key", upstream: sends(201, ""), method: "POST", key: "k", attempts: 1, class: Unknown, code: CodeUnclear, status: 201},
	{name: "invalid JSON, PUT", upstream: sends(200, "{visits}"), method: "PUT", attempts: 1, class: Unknown, code: CodeUnclear, status: 200},
	{name: "corrupt gzip", upstream: sendsBadGzip, attempts: 2, waited: backed1, class: Unknown, code: CodeFailed, status: 200},
	{name: "not HTTP", upstream: sendsNonsense, attempts: 2, waited: backed1, class: Unknown, code: CodeFailed},
	{name: "not HTTP, POST", upstream: sendsNonsense, method: "POST", attempts: 1, class: Unknown, code: CodeUnclear},
	{name: "TLS failure", url: "https://tls.test/", attempts: 1, class: Permanent, code: CodeMisconfigured},
	{name: "HTTP on the TLS port", upstream: sends(200, "{}"), url: "https://stats.test/", attempts: 1, class: Permanent, code: CodeMisconfigured},
	{name: "DNS failure", url: "http://no-such-name.test/", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000},
	{name: "DNS failure, POST", url: "http://no-such-name.test/", method: "POST", attempts: 4, waited: backed3, class: Transient, code: CodeUnavailable, after: 20000},
	{name: "deadline in 0.2 s", upstream: sends(200, "{}"), within: 200 * ms, attempts: 0, class: Transient, code: CodeDeadline},
	{name: "URL that is none", url: "gopher://stats.test/", attempts: 0, class: Permanent, code: CodeMisconfigured},
}

func sends(status int, body string, header ...string) upstream {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// then lets each answer once, and the last one from then on.
func then(answers ...upstream) upstream {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		answers[min(n, len(answers))-1](n, w, r)
	}
}

func moves(location string) upstream {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" && r.Method == "GET" {
			sends(200, "{}")(n, w, r)
			return
		}
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

func movesOnceTo503(n int, w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/there" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	http.Redirect(w, r, "/there", http.StatusMovedPermanently)
}

func limits(retryAfter string) upstream { return sends(429, "", "Retry-After", retryAfter) }

func limitsUntil(d time.Duration) upstream {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		limits(time.Now().Add(d).UTC().Format(http.TimeFormat))(n, w, r)
	}
}

func neverAnswers(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func trickles(_ int, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
		}
	}
}

func neverEnds(_ int, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func sendsBadGzip(_ int, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	io.WriteString(w, "this is no gzip")
}

// says answers with these bytes, whatever they are, and closes.
func says(text string) upstream {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, text)
		conn.Close()
	}
}

var (
	hangsUp       = says("")
	sendsNonsense = says("220 mail.test ESMTP\r\n")
)

// The secret token of every call that these tests make; "SECRET" must not come back.
const secretToken = "token-SECRET"

func withSecrets(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	return scheme + "://user:pass-SECRET@" + rest + "?access=query-SECRET"
}

func secretHeader() http.Header {
	return http.Header{"X-Api-Key": {"key-SECRET"}, "Cookie": {"session=cookie-SECRET"}}
}

// TestBehaviours is the table of what upstreams do. It runs in virtual time; sockets
// are real where only a socket can fail in that way. The golden file shows all of it:
// go test -run TestBehaviours -update writes it.
func TestBehaviours(t *testing.T) {
	real := listen(t)
	var table strings.Builder
	fmt.Fprint(&table, "| The upstream | Attempts | Total wait | Classification | Code | Retryable | retryAfterMs | The agent reads |\n|---|--:|--:|---|---|---|--:|---|\n")
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b.run(t, real, &table)
			})
		})
	}
	golden(t, "testdata/behaviours.md", table.String())
}

func (b behaviour) run(t *testing.T, real *sockets, table io.Writer) {
	var calls atomic.Int64
	var events []Attempt
	var network outboundtest.Network
	network.Fallback = real.dial
	if b.upstream != nil {
		stop := network.Serve("stats.test", b.handler(&calls))
		defer stop()
	}
	c := newClient(t, Config{Upstream: "stats", Dial: network.Dial, Jitter: half})
	defer c.Close()
	ctx := t.Context()
	if b.within != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.within)
		defer cancel()
	}
	start := time.Now()
	_, err := Do(ctx, c, Request{
		Method: b.method, URL: withSecrets(orDefault(b.url, "http://stats.test/")), Token: secretToken, Header: secretHeader(),
		IdempotencyKey: b.key, Observe: func(a Attempt) { events = append(events, a) },
	}, JSON[map[string]any])
	took := time.Since(start)

	b.check(t, err, events)
	if b.within != 0 && took > b.within-DefaultReserve && b.attempts > 0 {
		t.Errorf("returned after %s of %s: the reserve is gone", took, b.within)
	}
	if want := orDefault(b.calls, b.attempts); b.upstream != nil && b.url == "" && int(calls.Load()) != want {
		t.Errorf("the upstream saw %d calls, want %d", calls.Load(), want)
	}
	if calls.Load() > MaxAttempts {
		t.Errorf("the upstream saw %d calls; none may see more than %d", calls.Load(), MaxAttempts)
	}
	noSecrets(t, err, events)
	b.row(table, err, events)
}

func (b behaviour) handler(calls *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.upstream(int(calls.Add(1)), w, r)
	})
}

func (b behaviour) check(t *testing.T, err error, events []Attempt) {
	t.Helper()
	if len(events) != b.attempts {
		t.Errorf("%d attempts, want %d", len(events), b.attempts)
	}
	var tally Tally
	for i, e := range events {
		tally.Observe(e)
		if e.Number != i+1 || e.Of != MaxAttempts {
			t.Errorf("event %d says attempt %d of %d", i+1, e.Number, e.Of)
		}
	}
	if tally.Waited != b.waited {
		t.Errorf("waited %s, want %s", tally.Waited, b.waited)
	}
	if b.class == "" {
		if err != nil {
			t.Errorf("got %v, want success", err)
		}
		return
	}
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("got %T %v, want *Error", err, err)
	}
	if n := len(events); n > 0 && events[n-1].Stop != e.Stop {
		t.Errorf("the last event says that it stopped: %s, the error %s", events[n-1].Stop, e.Stop)
	}
	if e.Class != b.class || e.Attempts != b.attempts || e.Waited != b.waited || e.Status != b.status {
		t.Errorf("got %s, %d attempts, %s waited, status %d; want %s, %d, %s, %d (%v)",
			e.Class, e.Attempts, e.Waited, e.Status, b.class, b.attempts, b.waited, b.status, err)
	}
	a := Advise(err)
	var after int64
	if a.RetryAfterMs != nil {
		after = *a.RetryAfterMs
	}
	if a.Code != b.code || a.Classification != b.class || after != b.after {
		t.Errorf("advice %s, %s, %d ms; want %s, %s, %d ms (%v)", a.Code, a.Classification, after, b.code, b.class, b.after, err)
	}
	// What is metered by it, such as a place in the day, is kept then.
	if b.method == "POST" && e.MayHaveHappened != (b.code == CodeUnclear) {
		t.Errorf("it may have happened: %t, and the agent reads %s", e.MayHaveHappened, b.code)
	}
}

func (b behaviour) row(w io.Writer, err error, events []Attempt) {
	var tally Tally
	for _, e := range events {
		tally.Observe(e)
	}
	name := b.name
	if err == nil {
		fmt.Fprintf(w, "| %s | %d | %s | success | | | | the value |\n", name, tally.Attempts, tally.Waited)
		return
	}
	a := Advise(err)
	after := "null"
	if a.RetryAfterMs != nil {
		after = fmt.Sprint(*a.RetryAfterMs)
	}
	fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %t | %s | %s |\n",
		name, tally.Attempts, tally.Waited, a.Classification, a.Code, a.Retryable, after, a.Hint)
}

// noSecrets looks through every error of the chain, every event and the advice.
func noSecrets(t *testing.T, err error, events []Attempt) {
	t.Helper()
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "%+v\n", e)
		dump(&out, e.Err)
	}
	dump(&out, err)
	advice, _ := json.Marshal(Advise(err))
	out.Write(advice)
	for _, secret := range []string{"SECRET", "Authorization", "Bearer", "user:", "access=", "dXNlcjp"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("output holds %q:\n%s", secret, out.String())
		}
	}
}

func dump(w io.Writer, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(w, "%v\n%+v\n%#v\n", err, err, err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		dump(w, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			dump(w, inner)
		}
	}
}

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func half() float64 { return 0.5 }

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -run %s -update writes it. Got:\n%s", path, t.Name(), got)
	}
}

// sockets are the real ones, all on 127.0.0.1. They are made outside the bubble: while
// a goroutine of the bubble waits for the network, virtual time stands still.
type sockets struct {
	refused, reset, tls string
	resolver            *net.Resolver
}

func listen(t *testing.T) *sockets {
	t.Helper()
	s := &sockets{refused: closedPort(t), reset: resettingServer(t)}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	s.tls = secure.Listener.Addr().String()
	names := emptyNameServer(t)
	s.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", names)
	}}
	// The resolver's own state is made at the first question: not inside a bubble.
	if _, err := s.resolver.LookupHost(t.Context(), "no-such-name.test."); err == nil {
		t.Fatal("the name server knows a name")
	}
	return s
}

func (s *sockets) dial(ctx context.Context, network, address string) (net.Conn, error) {
	own := guardedDial(true, nil) // the way to the test's own servers
	switch host, _, _ := net.SplitHostPort(address); host {
	case "refused.test":
		return own(ctx, network, s.refused)
	case "reset.test":
		return own(ctx, network, s.reset)
	case "tls.test":
		return own(ctx, network, s.tls)
	case "rebound.test": // a name that resolves to a loopback address
		return guardedDial(false, nil)(ctx, network, s.refused)
	case "no-such-name.test":
		return guardedDial(false, s.resolver)(ctx, network, "no-such-name.test.:80")
	}
	return guardedDial(false, nil)(ctx, network, address)
}

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// resettingServer sends half a body and then a TCP reset.
func resettingServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"visits\":")
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// emptyNameServer answers every question with NXDOMAIN.
func emptyNameServer(t *testing.T) string {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			question := len("header......") // 12 bytes, then the question alone
			for question < n && buf[question] != 0 {
				question += int(buf[question]) + 1
			}
			answer := buf[:min(n, question+5)]
			answer[2], answer[3] = answer[2]|0x80, 0x83 // response; recursion available, NXDOMAIN
			copy(answer[6:12], make([]byte, 6))         // no records
			conn.WriteTo(answer, from)
		}
	}()
	return conn.LocalAddr().String()
}
