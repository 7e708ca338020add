package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
)

// things and deeds make the 500 operations of a large contract.
var (
	things = map[string][]string{
		"sales":   {"invoice", "order", "quote", "customer", "discount", "coupon", "contract", "lead", "campaign", "refund"},
		"stock":   {"product", "warehouse", "shelf", "shipment", "parcel", "carrier", "pallet", "barcode", "supplier", "delivery"},
		"people":  {"employee", "department", "payslip", "vacation", "contractor", "candidate", "interview", "training", "badge", "shift"},
		"finance": {"account", "ledger", "budget", "expense", "receipt", "currency", "tax", "bank", "loan", "asset"},
		"support": {"ticket", "article", "macro", "survey", "rating", "escalation", "queue", "chat", "transcript", "tag"},
	}
	deeds = []struct {
		name, method, suffix string
		readOnly             bool
	}{
		{"list", "get", "", true}, {"create", "post", "", false}, {"get", "get", "/{id}", true}, {"update", "patch", "/{id}", false},
		{"delete", "delete", "/{id}", false}, {"archive", "post", "/{id}/archive", false}, {"restore", "post", "/{id}/restore", false},
		{"export", "post", "/{id}/export", false}, {"share", "post", "/{id}/share", false}, {"approve", "post", "/{id}/approve", false},
	}
)

// largeAPI is a contract of 500 operations of a backend, merged with the service's own.
var largeAPI = sync.OnceValues(func() (*contract.API, error) {
	paths := map[string]map[string]any{}
	var tags []map[string]string
	for _, category := range slices.Sorted(maps.Keys(things)) {
		tags = append(tags, map[string]string{"name": category, "description": "About " + category + "."})
		for _, thing := range things[category] {
			for _, deed := range deeds {
				path := "/" + category + "/" + thing + deed.suffix
				if paths[path] == nil {
					paths[path] = map[string]any{}
				}
				paths[path][deed.method] = largeOperation(category, thing, deed.name, deed.suffix, deed.method, deed.readOnly)
			}
		}
	}
	tools, err := json.Marshal(map[string]any{
		"openapi": "3.0.3", "info": map[string]string{"title": "Large", "version": "1"}, "tags": tags, "paths": paths,
		"x-sekisho-backends": map[string]any{"erp": map[string]string{"type": "http", "url": "https://erp.example.com"}},
	})
	if err != nil {
		return nil, err
	}
	base, err := source.JSON(contract.Base())
	if err != nil {
		return nil, err
	}
	merged, err := contract.Merge(base, tools)
	if err != nil {
		return nil, err
	}
	return contract.Parse(merged)
})

func largeOperation(category, thing, deed, suffix, method string, readOnly bool) map[string]any {
	operation := map[string]any{
		"operationId": fmt.Sprintf("%s.%s_%s", category, deed, thing), "tags": []string{category},
		"summary":     strings.ToUpper(deed[:1]) + deed[1:] + " a " + thing,
		"description": "Acts on a " + thing + " of the company, for whoever works in " + category + ".",
		"responses":   map[string]any{"200": map[string]any{"description": "Done.", "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"type": "object"}}}}},
		"x-sekisho": map[string]any{"backend": "erp", "units": 3, "tool": true,
			"annotations": map[string]any{"readOnlyHint": readOnly, "openWorldHint": true}},
	}
	if suffix != "" {
		operation["parameters"] = []map[string]any{{"name": "id", "in": "path", "required": true, "description": "Which " + thing + ".", "schema": map[string]any{"type": "string", "minLength": 1, "maxLength": 20}}}
	}
	if method == "post" && suffix == "" || method == "patch" {
		operation["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
			"type": "object", "properties": map[string]any{"note": map[string]any{"type": "string", "maxLength": 100, "description": "A note, up to 100 characters."}, "amount": map[string]any{"type": "number", "description": "How much."}}}}}}
	}
	return operation
}

// newLargeWorld is a world with the large contract.
func newLargeWorld(t testing.TB, change ...func(*mcpserver.Config)) *world {
	t.Helper()
	api, err := largeAPI()
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, append([]func(*mcpserver.Config){func(c *mcpserver.Config) { c.API = api }}, change...)...)
}

// TestSearchClient: the SDK's client finds, describes and calls a tool that no list names.
func TestSearchClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			w := newLargeWorld(t)
			c, err := w.connect(t, version, goodKey)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.InitializeResult().Instructions; !strings.Contains(got, "utility_find_tools") {
				t.Errorf("the instructions don't say how to find tools: %s", got)
			}
			list, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != "utility_call_tool utility_describe_tool utility_diagnose_mcp utility_find_tools utility_get_usage" {
				t.Errorf("listed: %s", got)
			}
			if list.CacheScope != "private" || list.TTLMs <= 0 {
				t.Errorf("the list may be kept for %d ms, %s", list.TTLMs, list.CacheScope)
			}
			var found struct{ Tools []struct{ Name string } }
			structured(t, c, "utility_find_tools", map[string]any{"words": "make a new invoice"}, &found)
			if len(found.Tools) != 5 || found.Tools[0].Name != "sales_create_invoice" {
				t.Fatalf("found %+v", found)
			}
			var described struct {
				Name        string
				Units       int
				ReadOnly    bool                                           `json:"read_only"`
				Destructive bool                                           `json:"destructive"`
				InputSchema struct{ Properties map[string]map[string]any } `json:"input_schema"`
			}
			structured(t, c, "utility_describe_tool", map[string]any{"name": found.Tools[0].Name}, &described)
			if described.Name != "sales_create_invoice" || described.Units != 3 || described.ReadOnly || !described.Destructive || described.InputSchema.Properties["note"]["maxLength"] != 100.0 {
				t.Fatalf("described %+v", described)
			}
			w.called()
			var answer map[string]any
			structured(t, c, "utility_call_tool", map[string]any{"name": described.Name, "arguments": `{"note":"hello","amount":9007199254740993}`}, &answer)
			if calls := w.called(); !slices.Equal(calls, []string{`POST /sales/invoice {"amount":9007199254740993,"note":"hello"}`}) || answer["path"] != "/sales/invoice" {
				t.Errorf("REST calls %q, answer %v", calls, answer)
			}
			// One that knows the name needs no list.
			structured(t, c, "sales_get_invoice", map[string]any{"id": "7"}, &answer)
			if calls := w.called(); !slices.Equal(calls, []string{"GET /sales/invoice/7"}) {
				t.Errorf("called directly: %q", calls)
			}
		})
	}
}

// structured calls a tool and reads its structured content.
func structured(t *testing.T, c *client, name string, args map[string]any, into any) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil || r.IsError {
		t.Fatalf("%s: %v, %+v", name, err, r)
	}
	encoded, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(encoded, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCallToolIsTheToolItself: through utility.call_tool, a call is answered, refused, logged and
// bounded as the direct one, whatever the form of its arguments.
func TestCallToolIsTheToolItself(t *testing.T) {
	for name, c := range map[string]struct {
		tool, arguments string
		rest            http.HandlerFunc
	}{
		"answered":          {"sales_update_order", `{"id":"7","amount":1.5}`, answers},
		"canonical name":    {"sales.update_order", `{"id":"7"}`, answers},
		"no arguments":      {"sales_list_order", `{}`, answers},
		"missing argument":  {"sales_get_order", `{}`, answers},
		"wrong argument":    {"sales_get_order", `{"id":["x"]}`, answers},
		"unknown argument":  {"sales_get_order", `{"id":"1","owner":"x"}`, answers},
		"quota":             {"sales_get_order", `{"id":"1"}`, refuses(429, http.Header{"Retry-After": {"3600"}, "RateLimit": {`"monthly";r=0;t=3600`}}, limited())},
		"brake":             {"sales_get_order", `{"id":"1"}`, refuses(503, nil, braked)},
		"upstream":          {"sales_create_order", `{}`, refuses(502, nil, string(problem.New(problem.Unavailable, "").JSON()))},
		"not an object":     {"sales_create_order", `{}`, refuses(200, nil, `[1]`)},
		"connection cut":    {"sales_create_order", `{}`, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"free":              {"utility_get_usage", `{}`, answers},
		"search within":     {"utility_find_tools", `{"words":"orders"}`, answers},
		"its own arguments": {"utility_describe_tool", `{"name":7,"x":1}`, answers},
	} {
		t.Run(name, func(t *testing.T) {
			quoted, _ := json.Marshal(c.arguments)
			var want, wantLog string
			var wantCalls []string
			for _, way := range []string{
				legacy("tools/call", `"name":"`+c.tool+`","arguments":`+c.arguments+`,"_meta":{"progressToken":1}`),
				legacy("tools/call", `"name":"utility_call_tool","arguments":{"name":"`+c.tool+`","arguments":`+string(quoted)+`},"_meta":{"progressToken":1}`),
				legacy("tools/call", `"name":"utility.call_tool","arguments":{"name":"`+c.tool+`","arguments":`+c.arguments+`},"_meta":{"progressToken":1}`),
			} {
				w := newLargeWorld(t)
				w.rest = c.rest
				got := w.event(t.Context(), (&exchange{headers: keyed("accept", "text/event-stream"), body: way}).event())
				calls := w.called()
				if want == "" {
					want, wantLog, wantCalls = got.Body, w.log.String(), calls
					continue
				}
				if got.Body != want || w.log.String() != wantLog || !slices.Equal(calls, wantCalls) {
					t.Errorf("%s\n%s\n%q, want as called directly:\n%s\n%s\n%q", got.Body, w.log.String(), calls, want, wantLog, wantCalls)
				}
			}
			if c.tool != "utility_find_tools" && strings.Contains(want, "call_tool") || strings.Contains(wantLog, "call_tool") {
				t.Errorf("something names utility.call_tool: %s %s", want, wantLog)
			}
		})
	}
}

// TestCallToolRefuses what is not a call of another tool.
func TestCallToolRefuses(t *testing.T) {
	w := newLargeWorld(t)
	for arguments, want := range map[string]string{
		`{}`:                                "name: missing",
		`{"name":7}`:                        "name: ",
		`{"name":"utility_call_tool"}`:      "this tool calls others",
		`{"name":"sales_list_order","x":1}`: "x: no such argument",
		`{"name":"sales_list_order","arguments":"[]"}`:      "not one JSON object",
		`{"name":"sales_list_order","arguments":"{} {}"}`:   "not one JSON object",
		`{"name":"sales_list_order","arguments":"{\"a\":"}`: "not one JSON object",
		`{"name":"sales_list_order","arguments":[]}`:        "arguments: ",
		`{"name":"sales_list_order","arguments":"\"{}\""}`:  "not one JSON object",
	} {
		r, _ := w.callTool(t.Context(), "utility_call_tool", arguments)
		if b := failure(t, r); b.Error != problem.InvalidArgument || !strings.Contains(b.Detail, want) {
			t.Errorf("%s: %s: %s, want %q in it", arguments, b.Error, b.Detail, want)
		}
	}
	for _, arguments := range []string{`{"name":"sales_list_order"}`, `{"name":"sales_list_order","arguments":""}`, `{"name":"sales_list_order","arguments":null}`} {
		if r, _ := w.callTool(t.Context(), "utility_call_tool", arguments); r.IsError {
			t.Errorf("%s: %+v", arguments, r)
		}
	}
}

// settings is an authenticator whose one key has these settings.
type settings account.Settings

func (s settings) Authenticate(context.Context, string, string) (account.Key, error) {
	return account.Key{ID: "key_off", Plan: "free", Settings: account.Settings(s)}, nil
}

// TestSearchObeysSettings: what is off can't be found, described, suggested or called, in any way.
func TestSearchObeysSettings(t *testing.T) {
	w := newLargeWorld(t, func(c *mcpserver.Config) {
		c.Authenticator = settings{DisabledCategories: []string{"finance"}, DisabledTools: []string{"sales.list_invoice"}}
	})
	for _, words := range []string{"list invoices", "tax", "sales.list_invoice", "budget of the ledger"} {
		r, _ := w.callTool(t.Context(), "utility_find_tools", `{"words":"`+words+`","limit":20}`)
		if s := string(r.Structured); r.IsError || strings.Contains(s, "finance_") || strings.Contains(s, `"sales_list_invoice"`) {
			t.Errorf("%s: %+v", words, r)
		}
	}
	r, _ := w.callTool(t.Context(), "utility_find_tools", `{"words":""}`)
	if s := string(r.Structured); strings.Contains(s, "finance") || !strings.Contains(s, `{"name":"sales","tools":99}`) {
		t.Errorf("categories: %s", s)
	}
	w.called()
	for _, tool := range []string{"finance_get_tax", "sales_list_invoice"} {
		for name, arguments := range map[string]string{
			tool:                    `{}`,
			"utility_call_tool":     `{"name":"` + tool + `"}`,
			"utility_describe_tool": `{"name":"` + tool + `"}`,
		} {
			r, _ := w.callTool(t.Context(), name, arguments)
			if b := failure(t, r); b.Error != problem.ToolDisabled {
				t.Errorf("%s %s: %+v", name, arguments, b)
			}
		}
	}
	if body := w.post(legacy("tools/call", `"name":"finance_get_taxx"`)).Body; strings.Contains(body, "finance_get_tax ") || strings.Contains(body, "finance_get_tax?") {
		t.Errorf("suggested: %s", body)
	}
	if calls := w.called(); len(calls) > 0 {
		t.Errorf("called %q", calls)
	}
	w = newLargeWorld(t, func(c *mcpserver.Config) { c.Authenticator = settings{DisabledTools: []string{"utility.call_tool"}} })
	r, _ = w.callTool(t.Context(), "utility_call_tool", `{"name":"sales_list_order"}`)
	if b := failure(t, r); b.Error != problem.ToolDisabled {
		t.Errorf("utility.call_tool is off: %+v", b)
	}
}

// TestListingModes: which list a key gets, and what the diagnosis says of it.
func TestListingModes(t *testing.T) {
	onlySales := settings{DisabledCategories: []string{"stock", "people", "finance", "support"}}
	for name, c := range map[string]struct {
		change func(*mcpserver.Config)
		tools  int
		detail string
	}{
		"auto, large":                     {func(*mcpserver.Config) {}, 5, "more than 10000 tokens of a model, or more bytes than an answer may have, so tools/list names 5"},
		"auto, a key with most tools off": {func(c *mcpserver.Config) { c.Authenticator = onlySales }, 102, "names all 102 tools of this key"},
		"auto, a smaller budget":          {func(c *mcpserver.Config) { c.Authenticator, c.ListingTokens = onlySales, 5000 }, 5, "more than 5000 tokens"},
		"auto, a larger budget":           {func(c *mcpserver.Config) { c.ListingTokens = 100_000 }, 502, "names all 502 tools of this key"},
		"auto, an answer that holds less": {func(c *mcpserver.Config) {
			small := *c.API
			small.Limits.AnswerBytes = 20_000
			c.API, c.ListingTokens = &small, 100_000
		}, 5, "more bytes than an answer may have"},
		"all":    {func(c *mcpserver.Config) { c.Listing = mcpserver.ListAll }, 502, "names all 502 tools of this key"},
		"search": {func(c *mcpserver.Config) { c.Listing, c.Authenticator = mcpserver.ListSearch, onlySales }, 5, "As this server is configured"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLargeWorld(t, c.change)
			tools := w.list()
			if len(tools) != c.tools {
				t.Errorf("%d tools listed, want %d", len(tools), c.tools)
			}
			r, _ := w.callTool(t.Context(), "utility_diagnose_mcp", `{}`)
			validDiagnosis(t, r.Structured)
			if !strings.Contains(string(r.Structured), c.detail) {
				t.Errorf("the diagnosis says %s", r.Structured)
			}
			if c.tools > 5 { // the tools of search work where they are not listed
				if r, _ := w.callTool(t.Context(), "utility_call_tool", `{"name":"sales_list_order"}`); r.IsError {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	c := newWorld(t).config
	c.Listing = "some"
	if _, err := mcpserver.New(c); err == nil || !strings.Contains(err.Error(), `listing "some"`) {
		t.Errorf("got %v", err)
	}
}

// TestFind: what is asked, however, gets an answer that fits the schema and helps on.
func TestFind(t *testing.T) {
	w := newLargeWorld(t)
	for name, c := range map[string]struct{ arguments, has, hasNot string }{
		"words":             {`{"words":"remove a coupon","limit":1}`, `"tools":[{"name":"sales_delete_coupon","summary":"Delete a coupon","units":3,"read_only":false}],"categories":[]`, "sales_get_coupon"},
		"a question":        {`{"words":"which employees are there"}`, `"name":"people_list_employee"`, "stock_"},
		"a category":        {`{"words":"list","category":"support","limit":20}`, "support_list_ticket", "sales_"},
		"only a category":   {`{"words":"","category":"people","limit":3}`, "people_approve_badge", "sales_"},
		"nothing":           {`{"words":"","limit":null}`, `"categories":[{"name":"finance","tools":100}`, `{"name":"finance_`},
		"no match":          {`{"words":"quantum entanglement"}`, "No tool fits", `{"name":"sales_`},
		"no match, Chinese": {`{"words":"量子纠缠"}`, "No tool fits", `{"name":"sales_`},
		"right to left":     {`{"words":"\u202eפתח חשבונית\u202c"}`, "No tool fits", `{"name":"sales_`},
		"an expression":     {`{"words":"(a+)+$ [^ .* invoice"}`, "invoice", ""},
		"a name":            {`{"words":"finance.get_ledger","limit":1}`, "finance_get_ledger", ""},
		"text limit":        {`{"words":"order","limit":"2"}`, "order", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := w.callTool(t.Context(), "utility_find_tools", c.arguments)
			s := string(r.Structured)
			if r.IsError || !strings.Contains(s, c.has) || c.hasNot != "" && strings.Contains(s, c.hasNot) {
				t.Errorf("%s: %+v", c.arguments, r)
			}
		})
	}
	for arguments, want := range map[string]string{
		`{}`: "words: missing",
		`{"words":"` + strings.Repeat("a ", 5000) + `"}`: "words: ",
		`{"words":"order","limit":21}`:                   "limit: ",
		`{"words":"order","limit":0}`:                    "limit: ",
		`{"words":"order","category":"salse"}`:           "there are: ",
		`{"words":"order","filter":"x"}`:                 "filter: no such argument",
	} {
		r, _ := w.callTool(t.Context(), "utility_find_tools", arguments)
		if b := failure(t, r); b.Error != problem.InvalidArgument || !strings.Contains(b.Detail, want) {
			t.Errorf("%.60s: %s: %s", arguments, b.Error, b.Detail)
		}
	}
	if calls := w.called(); len(calls) > 0 {
		t.Errorf("a search called %q", calls)
	}
}

// TestUnknownTool: a name that is nearly right gets the right one, wherever it is given.
func TestUnknownTool(t *testing.T) {
	w := newLargeWorld(t)
	for name, want := range map[string]string{
		"sales_create_invoic":       "did you mean sales_create_invoice",
		"Sales.CreateInvoice":       "sales_create_invoice",
		"create_invoice":            "sales_create_invoice",
		"delete the employee":       "people_delete_employee",
		strings.Repeat("x", 10_000): `Unknown tool \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\". utility_find_tools`,
		"":                          `Unknown tool`,
	} {
		for _, body := range []string{
			w.post(legacy("tools/call", `"name":"`+name+`"`)).Body,
			w.post(legacy("tools/call", `"name":"utility_call_tool","arguments":{"name":"`+name+`"}`)).Body,
			w.post(legacy("tools/call", `"name":"utility_describe_tool","arguments":{"name":"`+name+`"}`)).Body,
		} {
			if len(name) > 128 && strings.Contains(body, "name: ") {
				continue // too long for an argument
			}
			if plain := strings.ReplaceAll(body, `\\`, `\`); !strings.Contains(strings.ReplaceAll(plain, `\\"`, `\"`), want) || !strings.Contains(body, "utility_find_tools finds tools by words") {
				t.Errorf("%.40q: %s", name, body)
			}
		}
	}
}

// TestSearchIsBounded: free searches pass the same bound as other free calls.
func TestSearchIsBounded(t *testing.T) {
	w := newLargeWorld(t, func(c *mcpserver.Config) { c.Free = ratelimit.NewBudget(ratelimit.Limit{Burst: 1, PerSecond: 0.1}) })
	for i, want := range []bool{false, true} {
		if got := throttled(w, "utility_find_tools", `{"words":"order"}`); got != want {
			t.Errorf("time %d: refused %t", i+1, got)
		}
	}
	if throttled(w, "utility_call_tool", `{"name":"sales_list_order"}`) {
		t.Error("a call that is counted is refused")
	}
}

// TestCallToolIsCountedOnce: the whole service counts a call through utility.call_tool under the
// tool's own name, once, and nothing for finding it.
func TestCallToolIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	call := func(name, arguments string) string {
		_, body := w.rpc(legacy("tools/call", `"name":"`+name+`","arguments":`+arguments))
		return string(body)
	}
	for _, body := range []string{
		call("utility_find_tools", `{"words":"address of a postal code"}`),
		call("utility_describe_tool", `{"name":"postal_lookup"}`),
		call("utility_call_tool", `{"name":"postal_lookup","arguments":"{\"postal_code\":\"100-0001\"}"}`),
	} {
		if strings.Contains(body, "isError") || strings.Contains(body, `"error"`) {
			t.Fatal(body)
		}
	}
	if refused := call("utility_call_tool", `{"name":"postal_lookup","arguments":{}}`); !strings.Contains(refused, "postal_code: missing") {
		t.Error(refused)
	}
	r, err := http.NewRequest("GET", w.base+"/v1/user/usage/history", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, body := w.send(r)
	var history struct {
		Months []struct {
			Tools []struct {
				Tool     string
				Admitted int
			}
		}
	}
	if err := json.Unmarshal(body, &history); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	counted := map[string]int{}
	for _, month := range history.Months { // the month may have turned meanwhile
		for _, tool := range month.Tools {
			counted[tool.Tool] += tool.Admitted
		}
	}
	if fmt.Sprint(counted) != "map[postal.lookup:1]" {
		t.Errorf("counted %v", counted)
	}
}

// BenchmarkFirstFind is New and the first search of an instance, for 500 operations.
func BenchmarkFirstFind(b *testing.B) {
	api, err := largeAPI()
	if err != nil {
		b.Fatal(err)
	}
	find := legacy("tools/call", `"name":"utility_find_tools","arguments":{"words":"create an invoice"}`)
	b.ReportAllocs()
	for b.Loop() {
		w := newWorld(b, func(c *mcpserver.Config) {
			c.API, c.Client = api, &http.Client{Transport: instant}
		})
		if r := w.post(find); !strings.Contains(r.Body, "sales_create_invoice") {
			b.Fatal(r)
		}
	}
}

// BenchmarkSearchList is a list where all tools pass the budget.
func BenchmarkSearchList(b *testing.B) {
	w := newLargeWorld(b, func(c *mcpserver.Config) { c.Client = &http.Client{Transport: instant} })
	list := legacy("tools/list", "")
	b.ReportAllocs()
	for b.Loop() {
		w.post(list)
	}
}

// BenchmarkNewLarge is the start of an instance whose contract has 500 operations.
func BenchmarkNewLarge(b *testing.B) {
	config := newLargeWorld(b, func(c *mcpserver.Config) { c.Client = &http.Client{Transport: instant} }).config
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mcpserver.New(config); err != nil {
			b.Fatal(err)
		}
	}
}
