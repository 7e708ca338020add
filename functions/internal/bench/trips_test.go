package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/laptop/laptoptest"
	"sekisho/functions/internal/usage"
	"sekisho/tests/bench"
)

// metered is the whole service over DynamoDB, with everything counted that it asks of the store.
type metered struct {
	caller
	*laptoptest.Service
	logged atomic.Int64
	users  int
}

var tripPlans = account.Plans{"large": usage.PerMonth(100_000), "unlimited": usage.NoLimits, "one": usage.PerMonth(1), "none": usage.PerMonth(0)}

func (r *run) metered(dispatch string) *metered {
	r.Helper()
	m := &metered{}
	config := laptoptest.Config{
		Endpoint: r.cloud().Endpoint, Name: "trips-" + dispatch, Plans: tripPlans, AccessLog: m, Log: m,
		Wrap: func(name string, f lambda.Invoker) lambda.Invoker { return named{f, name} },
	}
	if dispatch == boot.Direct {
		config.Door = laptop.DoorHTTP
	}
	m.Service = laptoptest.Start(r, config)
	m.caller = caller{r, m.REST, m.Door + "/mcp"}
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

func (m *metered) key(plan string) string {
	m.Helper()
	m.users++
	secret, _ := m.NewKey(m, fmt.Sprintf("user-%d", m.users), plan)
	return secret
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

// caller calls a service.
type caller struct {
	*run
	rest, mcp string
}

func (r caller) call(key string, c call) {
	r.Helper()
	method, url := "GET", r.rest+c.path
	if c.body != "" {
		method, url = "POST", r.mcp
	}
	q, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(c.body))
	r.must(err)
	if key != "" {
		q.Header.Set("x-api-key", key)
	}
	if c.body != "" {
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		q.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	a, err := http.DefaultClient.Do(q)
	r.must(err)
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	r.must(err)
	if !strings.Contains(string(answer), c.want) {
		r.Fatalf("%s %s %s: %d %s; want %s", method, url, c.body, a.StatusCode, answer, c.want)
	}
}

func (m *metered) settled() {
	m.Helper()
	m.must(m.Flush(m.Context()))
}

// count makes a call and adds what it and its settlement asked of the store.
func (m *metered) count(t *bench.Table, row, key string, c call) {
	m.Helper()
	m.settled()
	m.Wire.Take()
	logged := m.logged.Load()
	m.call(key, c)
	m.settled()
	sent := m.Wire.Take()
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
		if unknown := m.Wire.Uncounted(); len(unknown) > 0 {
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
