package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/laptop/laptoptest"
	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
)

// world is the whole service over DynamoDB in one topology, instrumented to count everything that
// AWS bills.
type world struct {
	t *testing.T
	*laptoptest.Service
	access accessLog
	logs   functionLogs
	settle gate

	mu        sync.Mutex
	durations map[string][]time.Duration
}

// byteCount counts the bytes of lines, without the line breaks.
type byteCount struct{ bytes atomic.Int64 }

func (c *byteCount) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		c.bytes.Add(int64(len(bytes.TrimRight(line, "\n"))))
	}
	return len(p), nil
}

// accessLog also counts the requests that AWS bills: those that reached an integration.
type accessLog struct {
	byteCount
	billed atomic.Int64
}

func (l *accessLog) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		var r gateway.AccessRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return 0, fmt.Errorf("a record is not one line of JSON: %w", err)
		}
		switch r.ResponseType {
		case "UNAUTHORIZED", "ACCESS_DENIED", "AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR", "MISSING_AUTHENTICATION_TOKEN", "THROTTLED":
		default:
			l.billed.Add(1)
		}
	}
	return l.byteCount.Write(p)
}

// functionLogs counts what the functions log, leaving out the laptop's own lines.
type functionLogs struct{ byteCount }

func (l *functionLogs) Write(p []byte) (int, error) {
	var line struct{ Function string }
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, fmt.Errorf("a log write is not one line of JSON: %w", err)
	}
	if line.Function == "gateway" {
		return len(p), nil
	}
	return l.byteCount.Write(p)
}

const (
	plentiful = "plentiful"
	used1     = "used_up"
)

// newWorld serves a topology, MCP, DirectHTTP or DirectURL; or the OAuth door beside one.
func newWorld(t *testing.T, via cost.Via) *world {
	t.Helper()
	w := &world{t: t, durations: map[string][]time.Duration{}}
	config := laptoptest.Config{
		Endpoint: emulator.Endpoint(t), Name: strings.ReplaceAll(string(via), " ", "-"),
		Plans:     account.Plans{plentiful: usage.PerMonth(100_000), used1: usage.PerMonth(1)},
		AccessLog: &w.access, Log: &w.logs, Wrap: w.timed,
	}
	switch via {
	case cost.DirectURL:
		config.Door = laptop.DoorURL
	case cost.DirectHTTP:
		config.Door = laptop.DoorHTTP
	case cost.OAuth:
		config.Door, config.OAuthClients = laptop.DoorHTTP, hosts
	}
	w.Service = laptoptest.Start(t, config)
	return w
}

// forget makes every instance forget its keys and denials.
func (w *world) forget() { w.Pass(account.DefaultKeyCache + time.Second) }

// timed records how long a function took in real time.
func (w *world) timed(function string, handler lambda.Invoker) lambda.Invoker {
	t := timer{w, function, handler}
	if s, ok := handler.(boot.Streamer); ok {
		return streamTimer{t, s}
	}
	return t
}

type timer struct {
	world    *world
	function string
	handler  lambda.Invoker
}

func (t timer) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if t.function == laptop.Settle {
		t.world.settle.pass()
	}
	defer t.record(time.Now())
	return t.handler.Invoke(ctx, payload)
}

func (t timer) record(start time.Time) {
	if t.world.settle.closed() {
		return // a burst would outnumber all other calls
	}
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	r := role(t.function)
	t.world.durations[r] = append(t.world.durations[r], time.Since(start))
}

// streamTimer also times streams, until they are closed.
type streamTimer struct {
	timer
	streamer boot.Streamer
}

func (t streamTimer) Stream(ctx context.Context, payload []byte) (boot.Stream, error) {
	start := time.Now()
	stream, err := t.streamer.Stream(ctx, payload)
	if err != nil {
		return nil, err
	}
	return timedStream{stream, func() { t.record(start) }}, nil
}

type timedStream struct {
	boot.Stream
	ended func()
}

func (s timedStream) Close() error {
	s.ended()
	return s.Stream.Close()
}

// gate can be closed for a while. The zero gate is open.
type gate struct {
	mu    sync.Mutex
	shut  bool
	open  *sync.Cond
	tried int
}

func (g *gate) cond() *sync.Cond {
	if g.open == nil {
		g.open = sync.NewCond(&g.mu)
	}
	return g.open
}

func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tried++
	g.cond().Broadcast()
	for g.shut {
		g.cond().Wait()
	}
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.tried = shut, 0
	g.cond().Broadcast()
}

func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// awaitOne returns when somebody stands before it.
func (g *gate) awaitOne() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.tried == 0 {
		g.cond().Wait()
	}
}

// role is the function's name in the model.
func role(function string) string {
	if slices.Contains(cost.Functions, function) || function == cost.SignInFunction {
		return function
	}
	return "business"
}

// median in milliseconds, rounded up.
func (w *world) median(role string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Sorted(slices.Values(w.durations[role]))
	if len(all) == 0 {
		w.t.Fatalf("%s never ran", role)
	}
	return int64((all[len(all)/2] + time.Millisecond - 1) / time.Millisecond)
}

func (w *world) key(plan, user string) string {
	w.t.Helper()
	secret, _ := w.NewKey(w.t, user, plan)
	return secret
}

// credential is what a call by this way sends: a key, or a token that a host got with one.
func (w *world) credential(via cost.Via, plan, user string) string {
	w.t.Helper()
	secret, key := w.NewKey(w.t, user, plan)
	if via != cost.OAuth {
		return secret
	}
	_, pair, err := storetest.SignIn(w.t.Context(), w.Store.Grants(), w.signsIn(key), w.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return pair.Access.Reveal()
}

// signsIn is what a host asks for by the document of a client.
func (w *world) signsIn(key account.Key) grant.Request {
	return grant.Request{
		KeyID: key.ID, Lasts: 90 * 24 * time.Hour, Resource: w.Door + "/mcp",
		Client:   grant.Client{ID: "https://host.example.com/oauth/client.json", Name: "Host", Host: "host.example.com"},
		Redirect: "https://host.example.com/oauth/callback", Challenge: strings.Repeat("c", 43),
	}
}

// call makes one call and returns the answer and its size in bytes.
func (w *world) call(via cost.Via, key, postalCode string) (status int, body string, size int64) {
	w.t.Helper()
	method, path, content := "GET", "/v1/postal/"+postalCode, ""
	base := w.REST
	if via != cost.REST {
		base, method, path = w.Door, "POST", "/mcp"
		content = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"postal.lookup","arguments":{"postal_code":"` + postalCode + `"}}}`
	}
	request, err := http.NewRequestWithContext(w.t.Context(), method, base+path, strings.NewReader(content))
	if err != nil {
		w.t.Fatal(err)
	}
	if via == cost.OAuth {
		request.Header.Set("Authorization", "Bearer "+key)
	} else {
		request.Header.Set("x-api-key", key)
	}
	if via != cost.REST {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(answer), answerSize(w.t, response, answer)
}

// answerSize is what an answer has in bytes, headers included.
func answerSize(t *testing.T, response *http.Response, body []byte) int64 {
	t.Helper()
	var head bytes.Buffer
	if err := response.Header.Write(&head); err != nil {
		t.Fatal(err)
	}
	statusLine := len(response.Proto) + len(response.Status) + len(" \r\n\r\n")
	return int64(statusLine + head.Len() + len(body))
}

func (w *world) invocations() map[string]int64 {
	byRole := map[string]int64{}
	for name, counts := range w.Functions.Counts() {
		byRole[role(name)] += int64(counts.Invocations)
	}
	return byRole
}
