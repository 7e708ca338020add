package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
	"sekisho/tests/awsfake/tables"
)

// world is the whole service over DynamoDB in one topology, instrumented to count everything that
// AWS bills.
type world struct {
	t *testing.T
	// base is where the REST API is; door is where /mcp is.
	base, door string
	laptop     *laptop.Service
	grants     grant.Store // bypasses the counting
	ring       account.Keyring
	wire       *dynamotest.Wire
	access     accessLog
	logs       functionLogs
	// atDoor counts the requests to the HTTP API.
	atDoor atomic.Int64
	settle gate
	// clock stands still unless a test moves it, so that caches of a few seconds don't
	// depend on how fast this machine is.
	clock atomic.Int64

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
	w.clock.Store(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).UnixMilli())
	w.wire = &dynamotest.Wire{Beside: client(t, http.DefaultTransport)}
	name := strings.ReplaceAll(string(via), " ", "-")
	tableNames := dynamo.Tables{Accounts: "accounts-" + name, Usage: "usage-" + name}
	if err := tables.Create(t.Context(), w.wire.Beside, tableNames.Accounts, tableNames.Usage); err != nil {
		t.Fatal(err)
	}
	store := dynamo.New(client(t, w.wire), tableNames)
	plans := account.Plans{plentiful: usage.PerMonth(100_000), used1: usage.PerMonth(1)}
	beside := dynamo.New(w.wire.Beside, tableNames)
	w.ring = account.Keyring{Store: beside.Accounts(), Plans: plans, Now: w.now}
	w.grants = beside.Grants()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.base = "http://" + listener.Addr().String()
	config := laptop.Config{
		Gateway: apigateway.Config{Domain: listener.Addr().String(), Stage: "live", AccessLog: &w.access},
		Stores:  store, Log: &w.logs, Now: w.now, Wrap: w.timed,
	}
	env := map[string]string{boot.Plans: plans.String()}
	w.door = w.base
	if via != cost.MCP {
		w.openDoor(via, &config, env)
	}
	config.Functions = laptop.Defaults(env)
	if via == cost.OAuth {
		w.openOAuthDoor(&config)
	}
	w.laptop, err = laptop.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := w.laptop.Server()
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.laptop.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

// openDoor has mcp dispatch calls itself, behind an HTTP API or a function URL.
func (w *world) openDoor(via cost.Via, config *laptop.Config, env map[string]string) {
	w.t.Helper()
	api, err := contract.Default()
	if err != nil {
		w.t.Fatal(err)
	}
	dispatching, err := laptop.Dispatching(api, boot.Direct)
	if err != nil {
		w.t.Fatal(err)
	}
	maps.Copy(env, dispatching)
	kind := laptop.DoorHTTP
	if via == cost.DirectURL {
		kind, env[boot.Streaming] = laptop.DoorURL, "true"
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if kind == laptop.DoorHTTP {
			w.atDoor.Add(1)
		}
		w.laptop.Door().ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	w.door = server.URL
	config.Door = &laptop.Door{Kind: kind, Domain: server.Listener.Addr().String(), RESTAddress: w.base}
}

// openOAuthDoor has mcp take tokens, by an HTTP API of its own.
func (w *world) openOAuthDoor(config *laptop.Config) {
	w.t.Helper()
	api, err := contract.Default()
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.atDoor.Add(1)
		w.laptop.OAuth().ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	w.door = server.URL
	config.OAuthDoor = &laptop.OAuthDoor{Domain: server.Listener.Addr().String()}
	laptop.AddOAuth(config.Functions, api, map[string]string{boot.OAuthClients: hosts})
}

func client(t *testing.T, transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.NewFromConfig(emulator.Config(t), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = sdkratelimit.None })
	})
}

func (w *world) now() time.Time { return time.UnixMilli(w.clock.Load()).UTC() }

// forget makes every instance forget its keys and denials.
func (w *world) forget() { w.clock.Add((account.DefaultKeyCache + time.Second).Milliseconds()) }

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
	secret, _ := w.newKey(plan, user)
	return secret
}

// credential is what a call by this way sends: a key, or a token that a host got with one.
func (w *world) credential(via cost.Via, plan, user string) string {
	w.t.Helper()
	secret, key := w.newKey(plan, user)
	if via != cost.OAuth {
		return secret
	}
	_, pair, err := storetest.SignIn(w.t.Context(), w.grants, w.signsIn(key), w.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return pair.Access.Reveal()
}

// signsIn is what a host asks for by the document of a client.
func (w *world) signsIn(key account.Key) grant.Request {
	return grant.Request{
		KeyID: key.ID, Lasts: 90 * 24 * time.Hour, Resource: w.door + "/mcp",
		Client:   grant.Client{ID: "https://host.example.com/oauth/client.json", Name: "Host", Host: "host.example.com"},
		Redirect: "https://host.example.com/oauth/callback", Challenge: strings.Repeat("c", 43),
	}
}

func (w *world) newKey(plan, user string) (string, account.Key) {
	w.t.Helper()
	if _, err := w.ring.CreateUser(w.t.Context(), user, plan); err != nil {
		w.t.Fatal(err)
	}
	secret, key, err := w.ring.CreateKey(w.t.Context(), user, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return secret.Reveal(), key
}

// call makes one call and returns the answer and its size in bytes.
func (w *world) call(via cost.Via, key, postalCode string) (status int, body string, size int64) {
	w.t.Helper()
	method, path, content := "GET", "/v1/postal/"+postalCode, ""
	base := w.base
	if via != cost.REST {
		base, method, path = w.door, "POST", "/mcp"
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
	for name, counts := range w.laptop.Functions.Counts() {
		byRole[role(name)] += int64(counts.Invocations)
	}
	return byRole
}
