package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/usage"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/awsfake/tables"
	"sekisho/tests/bench"
)

// dynamoClient is a client for the emulator that goes through a transport, and does not slow itself down.
func (r *run) dynamoClient(transport http.RoundTripper) *dynamodb.Client {
	r.Helper()
	return dynamodb.NewFromConfig(moto.Config(r.cloud().Endpoint), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = sdkratelimit.None })
	})
}

// fresh makes tables of their own. The SDK repeats a request whose answer was lost, and is then told that the
// table exists: others are made in its place.
func (r *run) fresh(name string) dynamo.Tables {
	r.Helper()
	for attempt := 1; ; attempt++ {
		names := dynamo.Tables{Accounts: fmt.Sprintf("%s-accounts-%d", name, attempt), Usage: fmt.Sprintf("%s-usage-%d", name, attempt)}
		err := tables.Create(r.Context(), r.dynamoClient(http.DefaultTransport), names.Accounts, names.Usage)
		if exists := new(types.ResourceInUseException); errors.As(err, &exists) && attempt < 3 {
			continue
		}
		r.must(err)
		return names
	}
}

// metered is the whole service over DynamoDB, with everything counted that it asks of the store. Its
// clock stands still, so that what an instance remembers does not depend on this machine.
type metered struct {
	*run
	rest, mcp string
	laptop    *laptop.Service
	ring      account.Keyring
	wire      *dynamotest.Wire
	logged    atomic.Int64
	clock     atomic.Int64
	users     int
}

var tripPlans = account.Plans{"large": usage.PerMonth(100_000), "unlimited": usage.NoLimits, "one": usage.PerMonth(1), "none": usage.PerMonth(0)}

func (r *run) metered(dispatch string) *metered {
	r.Helper()
	m := &metered{run: r}
	m.clock.Store(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).UnixMilli())
	m.wire = &dynamotest.Wire{Beside: r.dynamoClient(http.DefaultTransport)}
	names := r.fresh("trips-" + dispatch)
	m.ring = account.Keyring{Store: dynamo.New(m.wire.Beside, names).Accounts(), Plans: tripPlans, Now: m.now}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	m.rest = "http://" + listener.Addr().String()
	m.mcp = m.rest + "/mcp"
	config := laptop.Config{
		Gateway: apigateway.Config{Domain: listener.Addr().String(), Stage: "live", AccessLog: m},
		Stores:  dynamo.New(r.dynamoClient(m.wire), names), Log: m, Now: m.now,
		Wrap: func(name string, f lambda.Invoker) lambda.Invoker { return named{f, name} },
	}
	env := map[string]string{boot.Plans: tripPlans.String()}
	if dispatch == boot.Direct {
		api, err := contract.Default()
		r.must(err)
		dispatching, err := laptop.Dispatching(api, boot.Direct)
		r.must(err)
		maps.Copy(env, dispatching)
		door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { m.laptop.Door().ServeHTTP(w, q) }))
		r.Cleanup(door.Close)
		m.mcp = door.URL + "/mcp"
		config.Door = &laptop.Door{Kind: laptop.DoorHTTP, Domain: door.Listener.Addr().String(), RESTAddress: m.rest}
	}
	config.Functions = laptop.Defaults(env)
	m.laptop, err = laptop.New(config)
	r.must(err)
	server := m.laptop.Server()
	go server.Serve(listener)
	r.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.laptop.Close(ctx); err != nil {
			r.Error(err)
		}
	})
	return m
}

// named has a function's requests to the store bear its name.
type named struct {
	lambda.Invoker
	function string
}

func (n named) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return n.Invoker.Invoke(dynamotest.By(ctx, n.function), payload)
}

// Write counts the bytes of the access log and of the functions' logs.
func (m *metered) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte(`"function":"gateway"`)) {
		m.logged.Add(int64(len(bytes.TrimRight(p, "\n"))))
	}
	return len(p), nil
}

func (m *metered) now() time.Time { return time.UnixMilli(m.clock.Load()).UTC() }

func (m *metered) key(plan string) string {
	m.Helper()
	m.users++
	user := fmt.Sprintf("user-%d", m.users)
	_, err := m.ring.CreateUser(m.Context(), user, plan)
	m.must(err)
	secret, _, err := m.ring.CreateKey(m.Context(), user, "")
	m.must(err)
	return secret.Reveal()
}

// call is one request, and what its answer must hold to be the outcome that is meant.
type call struct {
	path, body string // a body makes it a message to MCP
	want       string
}

var (
	lookup  = call{path: "/v1/postal/1000001", want: "千代田"}
	missing = call{path: "/v1/postal/0000000", want: "not_found"}
	health  = call{path: "/v1/health", want: "ok"}
	exempt  = call{path: "/v1/user/usage", want: "monthly_used"}
	tool    = toolCall("postal.lookup", `{"postal_code":"1000001"}`, "千代田")
	list    = call{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, want: "postal_lookup"}
)

func (c call) refused(with string) call { c.want = with; return c }

func toolCall(name, arguments, want string) call {
	return call{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`, want: want}
}

func (m *metered) call(key string, c call) {
	m.Helper()
	method, url := "GET", m.rest+c.path
	if c.body != "" {
		method, url = "POST", m.mcp
	}
	q, err := http.NewRequestWithContext(m.Context(), method, url, strings.NewReader(c.body))
	m.must(err)
	if key != "" {
		q.Header.Set("x-api-key", key)
	}
	if c.body != "" {
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		q.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	a, err := http.DefaultClient.Do(q)
	m.must(err)
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	m.must(err)
	if !strings.Contains(string(answer), c.want) {
		m.Fatalf("%s %s %s: %d %s; want %s", method, url, c.body, a.StatusCode, answer, c.want)
	}
}

func (m *metered) settled() {
	m.Helper()
	m.must(m.laptop.Flush(m.Context()))
}

// count makes a call and adds what it and its settlement asked of the store.
func (m *metered) count(t *bench.Table, row, key string, c call) {
	m.Helper()
	m.settled()
	m.wire.Take()
	logged := m.logged.Load()
	m.call(key, c)
	m.settled()
	sent := m.wire.Take()
	t.Say(row, "who asks for what", asked(sent))
	var onCall, settling dynamotest.Sent
	for _, q := range sent {
		if q.By == laptop.Settle {
			settling = append(settling, q)
		} else {
			onCall = append(onCall, q)
		}
	}
	reads, writes := onCall.Units()
	t.Add(row, "requests", float64(len(onCall)))
	t.Add(row, "reads", float64(reads))
	t.Add(row, "writes", float64(writes))
	_, settled := settling.Units()
	t.Add(row, "settle's writes", float64(settled))
	t.Add(row, "log B", float64(m.logged.Load()-logged))
}

// asked says who made which requests: "authorizer: GetItem, UpdateItem".
func asked(requests dynamotest.Sent) string {
	by := map[string][]string{}
	for _, q := range requests {
		by[q.By] = append(by[q.By], q.Operation)
	}
	var all []string
	for _, function := range slices.Sorted(maps.Keys(by)) {
		all = append(all, function+": "+strings.Join(by[function], " + "))
	}
	return strings.Join(all, "; ")
}

// roundTrips counts; it has no use for rounds.
func roundTrips(r *run) {
	t := r.table("store round trips", "What a call and its settlement ask of DynamoDB, counted on the wire of the whole service over an emulator, "+
		"in capacity units by the sizes of the items. Cold: nothing is remembered of the key. Denied and failed calls are settled one by one here, the most that they can cost; "+
		"what denied calls cost within one delivery, they cost together. `functions/internal/money/cost/measured.json` has the same counts over 1,000 calls, and a test that holds them.",
		"requests", "reads", "writes", "settle's writes", "log B", "who asks for what")
	proxy := r.metered(boot.Proxy)
	proxy.countREST(t)
	proxy.countMCP(t, "MCP proxy")
	direct := r.metered(boot.Direct)
	direct.countMCP(t, "MCP direct")
	for _, m := range []*metered{proxy, direct} {
		if unknown := m.wire.Uncounted(); len(unknown) > 0 {
			r.Errorf("requests that were not counted: %v", unknown)
		}
	}
}

func (m *metered) countREST(t *bench.Table) {
	key := m.key("large")
	m.count(t, "REST, admitted, cold key", key, lookup)
	m.count(t, "REST, admitted", key, lookup)
	unlimited := m.key("unlimited")
	m.call(unlimited, lookup)
	m.count(t, "REST, no limit", unlimited, lookup)
	m.count(t, "REST, failed", key, missing)
	m.count(t, "REST, free", key, exempt)
	one, denied := m.key("one"), lookup.refused("limit_exceeded")
	m.call(one, lookup)
	m.count(t, "REST, denied first", one, denied)
	m.count(t, "REST, denied again", one, denied)
	none := m.key("none")
	m.call(none, exempt)
	m.count(t, "REST, plan of 0, first", none, denied)
	m.count(t, "REST, plan of 0, again", none, denied)
	unauthorized := lookup.refused("unauthorized")
	m.count(t, "REST, no key", "", unauthorized)
	m.count(t, "REST, malformed key", "sekisho_no", unauthorized)
	unknown, err := apikey.New()
	m.must(err)
	m.count(t, "REST, unknown key first", unknown.Reveal(), unauthorized)
	m.count(t, "REST, unknown key again", unknown.Reveal(), unauthorized)
	m.count(t, "REST, health", "", health)
}

func (m *metered) countMCP(t *bench.Table, way string) {
	key := m.key("large")
	m.count(t, way+", tools/call admitted, cold key", key, tool)
	m.count(t, way+", tools/call admitted", key, tool)
	m.count(t, way+", tools/call failed", key, toolCall("postal.lookup", `{"postal_code":"0000000"}`, "not_found"))
	m.count(t, way+", tools/call, arguments refused", key, toolCall("postal.lookup", `{"postal_code":"x"}`, "isError"))
	m.count(t, way+", tools/list", key, list)
	m.count(t, way+", utility.get_usage", key, toolCall("utility.get_usage", `{}`, "monthly_used"))
	m.count(t, way+", utility.diagnose_mcp", key, toolCall("utility.diagnose_mcp", `{}`, "advice"))
	one, denied := m.key("one"), tool.refused("limit_exceeded")
	m.call(one, tool)
	m.count(t, way+", tools/call denied first", one, denied)
	m.count(t, way+", tools/call denied again", one, denied)
}
