package laptop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
	"sekisho/tests/midnight"
)

// service is a whole laptop on a real port, over a real SQLite file.
type service struct {
	t    *testing.T
	base string
	*laptop.Service
	stores store.Store
	ring   account.Keyring
	log    *lockedBuffer
	// dir has the database.
	dir string
}

const localToken = "token-of-the-laptop"

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

// clock is a settable time.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock(text string) *clock {
	c := &clock{}
	c.set(text)
	return c
}

func (c *clock) set(text string) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	c.at.Store(&at)
}

func (c *clock) now() time.Time { return *c.at.Load() }

func start(t *testing.T, plans account.Plans, change func(*laptop.Config)) *service {
	t.Helper()
	midnight.Avoid(t, 30*time.Second)
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	c := laptop.Config{
		Functions: laptop.Defaults(map[string]string{
			boot.Plans: plans.String(), boot.KeyCacheSeconds: "0", boot.DenialMemorySeconds: "3",
		}),
		Gateway: apigateway.Config{Domain: listener.Addr().String(), Stage: "local"},
		Stores:  db, Log: log, Now: time.Now, LocalToken: localToken,
	}
	// A busy machine takes seconds for fifty calls at once; no test is about that.
	for name, f := range c.Functions {
		f.Timeout = max(f.Timeout, 25*time.Second)
		c.Functions[name] = f
	}
	if change != nil {
		change(&c)
	}
	st, err := laptop.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := st.Server()
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := st.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &service{
		t: t, base: "http://" + listener.Addr().String(), Service: st, stores: db, log: log, dir: dir,
		ring: account.Keyring{Store: db.Accounts(), Plans: plans, Now: c.Now},
	}
}

func (s *service) newKey(plan string) (apikey.Key, account.Key) {
	s.t.Helper()
	id := fmt.Sprintf("u%d", time.Now().UnixNano())
	if _, err := s.ring.CreateUser(s.t.Context(), id, plan); err != nil {
		s.t.Fatal(err)
	}
	secret, key, err := s.ring.CreateKey(s.t.Context(), id, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return secret, key
}

// replace puts a handler in the place of a function's own.
func replace(c *laptop.Config, function string, handler lambda.Invoker) {
	f := c.Functions[function]
	f.Handler = handler
	c.Functions[function] = f
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.body, &out); err != nil {
		t.Fatalf("answer %d is not JSON: %s", a.status, a.body)
	}
	return out
}

func (s *service) call(method, path, key, body string, header ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("x-api-key", key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, content}
}

// local calls what only the laptop has, as the owner of its data does.
func (s *service) local(method, path, body string, header ...string) answer {
	s.t.Helper()
	return s.call(method, "/_local/"+path, "", body, append([]string{"Authorization", "Bearer " + localToken}, header...)...)
}

func (s *service) used(key account.Key, p usage.Period) usage.Counts {
	s.t.Helper()
	if err := s.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	counts, err := s.stores.Usage().Counts(s.t.Context(), key.Meter, p)
	if err != nil {
		s.t.Fatal(err)
	}
	return counts[0]
}

func (s *service) invocations() map[string]int {
	s.t.Helper()
	invocations := map[string]int{}
	for name, counts := range s.Functions.Counts() {
		invocations[name] = counts.Invocations
	}
	return invocations
}

func thisMonth() usage.Period { return usage.PeriodOf(time.Now()) }

// TestFreeCallsAreBounded: who asks for what is free without end is told to wait, and what is
// counted is still served.
func TestFreeCallsAreBounded(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(10)}, nil)
	secret, key := s.newKey("demo")
	refused := answer{}
	for range 5 * usage.FreeRate.Burst {
		if refused = s.call("GET", "/v1/user/usage", secret.Reveal(), ""); refused.status != 200 {
			break
		}
	}
	body := refused.json(t)
	if refused.status != 429 || body["error"] != "throttled" || body["retryable"] != true || refused.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s", refused.status, refused.body)
	}
	if a := s.call("GET", "/v1/postal/1000001", secret.Reveal(), ""); a.status != 200 {
		t.Errorf("a call that is counted: %d %s", a.status, a.body)
	}
	if c := s.used(key, thisMonth()); c.Used != 1 || c.Denied != 0 {
		t.Errorf("counted: %+v", c)
	}
}

// TestFailuresAreNotCharged: however a call fails, its unit comes back.
func TestFailuresAreNotCharged(t *testing.T) {
	panics := boot.Handle(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		panic("boom")
	})
	hangs := boot.Handle(func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		<-ctx.Done()
		return events.APIGatewayProxyResponse{}, ctx.Err()
	})
	for name, c := range map[string]struct {
		path   string
		status int
		code   string
		change func(*laptop.Config)
	}{
		"not found": {"/v1/postal/0000000", 404, "not_found", nil},
		"argument":  {"/v1/postal/abc", 400, "invalid_argument", nil},
		"doubled":   {"/v1/postal?prefix=1&prefix=2", 400, "invalid_argument", nil},
		"escape":    {"/v1/postal/100%25zz", 400, "invalid_argument", nil},
		"missing":   {"/v1/calendar/holidays", 400, "invalid_argument", nil},
		"type":      {"/v1/calendar/holidays?year=soon", 400, "invalid_argument", nil},
		"utf-8":     {"/v1/postal?address=%ff%fe", 400, "invalid_argument", nil},
		"panic": {"/v1/postal/1000001", 502, "internal", func(c *laptop.Config) {
			replace(c, "postal", panics)
		}},
		"timeout": {"/v1/postal/1000001", 502, "internal", func(c *laptop.Config) {
			replace(c, "postal", hangs)
			f := c.Functions["postal"]
			f.Timeout = 20 * time.Millisecond
			c.Functions["postal"] = f
		}},
		"throttle": {"/v1/postal/1000001", 503, "unavailable", func(c *laptop.Config) {
			f := c.Functions["postal"]
			f.Reserved = 0
			c.Functions["postal"] = f
		}},
		"settle under its name in AWS": {"/v1/postal/0000000", 404, "not_found", func(c *laptop.Config) {
			f := c.Functions[laptop.Settle]
			f.DeployedName = "shop-settle"
			c.Functions[laptop.Settle] = f
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, account.Plans{"demo": usage.PerMonth(50)}, c.change)
			secret, key := s.newKey("demo")
			a := s.call("GET", c.path, secret.Reveal(), "")
			if a.status != c.status || a.json(t)["error"] != c.code {
				t.Errorf("answer %d %s; want %d %s", a.status, a.body, c.status, c.code)
			}
			if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
				t.Errorf("content type %q", ct)
			}
			if counts := s.used(key, thisMonth()); counts.Used != 0 || counts.Refunded != 1 {
				t.Errorf("%d used, %d refunded; want 0 and 1", counts.Used, counts.Refunded)
			}
		})
	}
}

// TestCapOnFreeFailures: failing on purpose is not a way around the plan.
func TestCapOnFreeFailures(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(1000)}, nil)
	secret, key := s.newKey("demo")
	for range 105 {
		s.call("GET", "/v1/postal/0000000", secret.Reveal(), "")
	}
	if counts := s.used(key, thisMonth()); counts.Refunded != 100 || counts.Used != 5 {
		t.Errorf("%d refunded, %d used; want 100 and 5", counts.Refunded, counts.Used)
	}
}

func TestMonthTurns(t *testing.T) {
	c := newClock("2026-11-30T23:59:59.999Z")
	s := start(t, account.Plans{"demo": usage.PerMonth(1)}, func(config *laptop.Config) { config.Now = c.now })
	secret, key := s.newKey("demo")
	if a := s.call("GET", "/v1/postal/1000001", secret.Reveal(), ""); a.status != 200 {
		t.Fatalf("first call: %d %s", a.status, a.body)
	}
	a := s.call("GET", "/v1/postal/1000001", secret.Reveal(), "")
	body := a.json(t)
	if a.status != 429 || body["reset_at"] != "2026-12-01T00:00:00.000Z" || a.header.Get("Retry-After") != "1" || body["retryAfterMs"] != 1000.0 {
		t.Fatalf("over the limit: %d %s, Retry-After %q", a.status, a.body, a.header.Get("Retry-After"))
	}
	c.set("2026-12-01T00:00:00.000Z")
	if a := s.call("GET", "/v1/postal/1000001", secret.Reveal(), ""); a.status != 200 {
		t.Fatalf("in the new month: %d %s", a.status, a.body)
	}
	for period, want := range map[string]int64{"2026-11": 1, "2026-12": 1} {
		p, err := usage.ParsePeriod(period)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.used(key, p).Used; got != want {
			t.Errorf("%s: %d used, want %d", period, got, want)
		}
	}
}

// TestARefundStaysInItsMonth: a call that fails across the turn gives back to the month
// that it was taken from.
func TestARefundStaysInItsMonth(t *testing.T) {
	c := newClock("2026-11-30T23:59:59.999Z")
	s := start(t, account.Plans{"demo": usage.PerMonth(5)}, func(config *laptop.Config) {
		config.Now = c.now
		replace(config, "postal", boot.Handle(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			c.set("2026-12-01T00:00:01Z")
			return events.APIGatewayProxyResponse{StatusCode: 500, Body: "{}"}, nil
		}))
	})
	secret, key := s.newKey("demo")
	s.call("GET", "/v1/postal/1000001", secret.Reveal(), "")
	for _, period := range []string{"2026-11", "2026-12"} {
		p, err := usage.ParsePeriod(period)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int64{"2026-11": 1, "2026-12": 0}[period]
		if counts := s.used(key, p); counts.Used != 0 || counts.Refunded != want {
			t.Errorf("%s: %+v; want 0 used, %d refunded", period, counts, want)
		}
	}
}

// TestNoKeyInAnyLog: nothing that a log, an answer or an error holds gives a key away.
func TestNoKeyInAnyLog(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(1)}, nil)
	secret, key := s.newKey("demo")
	for _, path := range []string{"/v1/postal/1000001", "/v1/postal/1000001", "/v1/postal/x", "/v1/user/usage", "/nowhere"} {
		a := s.call("GET", path, secret.Reveal(), "")
		b := s.call("GET", path, "", "", "Authorization", "Bearer "+secret.Reveal())
		for _, text := range []string{string(a.body), string(b.body), fmt.Sprint(a.header, b.header)} {
			if strings.Contains(text, secret.Reveal()) {
				t.Errorf("%s: the answer holds the key", path)
			}
		}
	}
	s.call("POST", "/mcp", secret.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.call("POST", "/mcp", secret.Reveal()+"x", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.used(key, thisMonth())
	if log := s.log.String(); strings.Contains(log, secret.Reveal()) || strings.Contains(log, key.Hash.String()) {
		t.Error("the log holds the key or its hash")
	} else if !strings.Contains(log, key.ID) {
		t.Error("the log does not name the key's ID")
	}
}
