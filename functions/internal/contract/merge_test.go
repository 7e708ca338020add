package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/functions/internal/contract/source"
)

// tools makes a contract of tools with one backend, orders, and operations of it as YAML.
func tools(operations string) string {
	return "openapi: 3.0.3\ninfo: { title: t, version: '1' }\ntags: [{ name: orders }]\n" +
		"x-sekisho-backends: { orders: { type: http, url: 'https://api.example.com/v2' } }\npaths:\n" + operations
}

// get is an operation with a backend, as YAML. more are lines of it.
func get(path, id string, more ...string) string { return operation("get", path, id, more...) }

func operation(method, path, id string, more ...string) string {
	lines := append([]string{
		"operationId: " + id, "tags: [orders]", "responses: { '200': { description: d } }", "x-sekisho: { backend: orders, units: 1 }",
	}, more...)
	for i, line := range lines { // what is given twice is the later one
		name, _, _ := strings.Cut(line, ":")
		if slices.ContainsFunc(lines[i+1:], func(later string) bool { return strings.HasPrefix(later, name+":") }) || line == name+":" {
			lines[i] = ""
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	return fmt.Sprintf("  %q:\n    %s:\n      %s\n", path, method, strings.Join(lines, "\n      "))
}

// merge merges YAML with the service's own.
func merge(t testing.TB, text string) ([]byte, error) {
	t.Helper()
	own, err := baseJSON()
	if err != nil {
		t.Fatal(err)
	}
	return Merge(own, asJSON(t, []byte(text)))
}

var baseJSON = sync.OnceValues(func() ([]byte, error) { return source.JSON(base) })

func merged(t testing.TB, text string) *API {
	t.Helper()
	doc, err := merge(t, text)
	if err != nil {
		t.Fatal(err)
	}
	api, err := Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

const path1 = "parameters: [{ name: id, in: path, required: true, schema: { type: string } }]"

// TestMergeRefuses: every message says where, and what to do.
func TestMergeRefuses(t *testing.T) {
	const body = "requestBody: { content: { application/json: { schema: { type: object, properties: "
	for name, c := range map[string]struct{ text, says string }{
		"another version":      {strings.Replace(tools(get("/a", "orders.a")), "3.0.3", "3.1.0", 1), "sekisho import"},
		"a member":             {tools(get("/a", "orders.a")) + "security: []\n", "no security: take it out"},
		"an extension of ours": {tools(get("/a", "orders.a")) + "x-sekisho-refusals: {}\n", "no x-sekisho-refusals: take it out"},
		"a limit":              {tools(get("/a", "orders.a")) + "x-sekisho-limits: { answer_bytes: 1 }\n", "x-sekisho-limits.answer_bytes: a contract of tools sets nothing but resources"},
		"a route of ours":      {tools(get("/v1/health", "orders.a")), "GET /v1/health is orders.a in the contract of tools and system.health in the service's own: give yours another path"},
		"an ID of ours":        {tools(get("/a", "system.health")), "GET /a (system.health) and GET /v1/health (system.health) would both be the tool system_health"},
		"a name over MCP":      {tools(get("/a", "orders.a_b") + get("/b", "orders_a.b")), "GET /a (orders.a_b) and GET /b (orders_a.b) would both be the tool orders_a_b: give yours another operationId"},
		"a name, folded":       {tools(get("/a", "orders.a_b") + get("/b", "orders.a__b")), "GET /a (orders.a_b) and GET /b (orders.a__b) would both be the tool orders_a_b: give yours another operationId"},
		"a composite's name":   {tools(get("/a", "utility.diagnose_mcp")), "the service's own utility.diagnose_mcp and GET /a (utility.diagnose_mcp) would both be the tool"},
		"a long name":          {tools(get("/a", "orders."+strings.Repeat("a", 38))), "has 45 characters, and a tool's name at most 44: shorten the operationId"},
		"no ID":                {tools(get("/a", "Orders.a")), "GET /a (Orders.a): operationId: write CATEGORY.NAME"},
		"a tag of ours":        {strings.Replace(tools(get("/a", "orders.a")), "{ name: orders }", "{ name: system }", 1), "the tag system is in the contract of tools and in the service's own: rename yours"},
		"an unknown tag":       {tools(get("/a", "orders.a", "tags: [order]")), "GET /a (orders.a): the tag order is not described: add it to tags"},
		"two tags":             {tools(get("/a", "orders.a", "tags: [orders, b]")), "tags has 2 members: write one"},
		"a schema of ours":     {tools(get("/a", "orders.a")) + "components: { schemas: { Usage: { type: object } } }\n", "components.schemas Usage is in the contract of tools and in the service's own: rename yours"},
		"a component":          {tools(get("/a", "orders.a")) + "components: { securitySchemes: {} }\n", "components.securitySchemes is not read"},
		"a function of ours":   {tools(get("/a", "orders.a")) + "x-sekisho-functions: { mcp: {} }\n", "the function mcp is in the contract of tools and in the service's own: rename yours"},
		"a backend's function": {tools(get("/a", "orders.a")) + "x-sekisho-functions: { orders: {} }\n", "x-sekisho-backends.orders: a function has this name"},
		"a backend of ours":    {strings.ReplaceAll(tools(get("/a", "orders.a")), "orders: { type", "settle: { type"), "x-sekisho-backends.settle: a function has this name"},
		"a backend's name":     {strings.ReplaceAll(tools(get("/a", "orders.a")), "orders: { type", "Orders: { type"), "x-sekisho-backends.Orders: use 1 to 24"},
		"a backend's type":     {strings.Replace(tools(get("/a", "orders.a")), "type: http", "type: grpc", 1), `type "grpc": write http or lambda`},
		"a backend's url":      {strings.Replace(tools(get("/a", "orders.a")), "https://api.example.com", "api.example.com", 1), "write an absolute URL"},
		"a backend's member":   {strings.Replace(tools(get("/a", "orders.a")), "type: http", "type: http, token: x", 1), `x-sekisho-backends.orders: json: unknown field "token"`},
		"no such backend":      {tools(get("/a", "orders.a", "x-sekisho: { backend: order, units: 1 }")), "GET /a (orders.a): x-sekisho.backend order is not declared: add it to x-sekisho-backends"},
		"no backend":           {tools(get("/a", "orders.a", "x-sekisho: { units: 1 }")), "x-sekisho names a backend or a function"},
		"both":                 {tools(get("/a", "orders.a", "x-sekisho: { units: 1, backend: orders, function: a }")), "x-sekisho names a backend or a function"},
		"no units":             {tools(get("/a", "orders.a", "x-sekisho: { backend: orders }")), "x-sekisho.units is missing"},
		"units as text":        {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: one }")), "GET /a (orders.a): x-sekisho.units: write a whole number, not a string"},
		"no responses":         {tools(get("/a", "orders.a", "responses:")), "GET /a (orders.a): responses is missing"},
		"negative units":       {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: -1 }")), "units must not be negative"},
		"a backend of nothing": {tools(get("/a", "orders.a", "x-sekisho: { function: a, units: 1 }")), "x-sekisho-backends.orders: no operation names it: take it out"},
		"a resource":           {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, resource: /b }")), "x-sekisho.resource is what the merge finds out"},
		"an open operation":    {tools(get("/a", "orders.a", "security: []")), "security: every operation of a backend needs a key"},
		"an integration":       {tools(get("/a", "orders.a", "x-amazon-apigateway-integration: {}")), "the relay serves every operation"},
		"parameters above":     {tools("  /a:\n    parameters: []\n"), "path /a: parameters is not read here"},
		"a path without slash": {tools(get("a", "orders.a")), `path "a": begin it with /`},
		"an unpaired brace":    {tools(get("/{a", "orders.a")), `unpaired brace in "{a"`},
		"two parameters":       {tools(get("/{a}{b}", "orders.a")), `nothing lies between two parameters in "{a}{b}"`},
		"greedy in the middle": {tools(get("/{a+}/b", "orders.a")), "can only be the last segment"},
		"one route":            {tools(get("/a/{id}", "orders.a", path1) + get("/a/{key}/", "orders.b", strings.ReplaceAll(path1, "id", "key"))), "GET /a/{id} and GET /a/{key}/ are one route: give one of them another path"},
		"a path of a function": {tools(get("/b", "orders.b") + get("/a/{id}.json", "orders.a", "x-sekisho: { function: a, units: 1 }")), `GET /a/{id}.json: API Gateway can't hold the segment "{id}.json"`},
		"an argument's name":   {tools(get("/a", "orders.a", "parameters: [{ name: a-b, in: query, schema: { type: string } }]")), `contract: orders.a: argument "a-b": use 1 to 64 letters`},
		"an argument twice":    {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query, schema: { type: string } }, { name: a, in: query, schema: { type: string } }]")), `orders.a: parameter "a" is described twice`},
		"a header":             {tools(get("/a", "orders.a", "parameters: [{ name: a, in: header, schema: { type: string } }]")), `orders.a: parameter "a" is in "header"; only path and query are served`},
		"no schema":            {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query }]")), `orders.a: parameter "a" has no schema`},
		"no path parameter":    {tools(get("/a/{id}", "orders.a")), "orders.a: path /a/{id}: no path parameter is called id; describe one under parameters"},
		"no placeholder":       {tools(get("/a", "orders.a", path1)), "orders.a: path parameter id: /a has no {id}"},
		"a renamed one":        {tools(get("/a/{id}", "orders.a", path1, "x-sekisho: { backend: orders, units: 1, request: { path: '/b/{ID}' } }")), "path /b/{ID}: no path parameter is called ID"},
		"a path with a query":  {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, request: { path: '/b?c=d' } }")), "a query goes under x-sekisho.request.query"},
		"a relative path":      {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, request: { path: b } }")), `x-sekisho.request.path "b": begin it with /`},
		"a method":             {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, request: { method: post } }")), `x-sekisho.request.method "post": write a method in upper case`},
		"a member of request":  {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, request: { url: x } }")), `x-sekisho.request: json: unknown field "url"`},
		"an answer":            {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, answer: list }")), `x-sekisho.answer "list": write object, wrapped or text`},
		"a style":              {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query, x-sekisho-style: csv, schema: { type: string } }]")), "argument a: x-sekisho-style csv: in a query write one of [form comma space pipe brackets deep json]"},
		"a style of a path":    {tools(get("/a/{id}", "orders.a", strings.Replace(path1, "in: path", "in: path, x-sekisho-style: deep", 1))), "argument id: x-sekisho-style deep: in a path write one of [comma space pipe json]"},
		"a style in JSON":      {tools(operation("post", "/a", "orders.a", body+"{ a: { type: array, items: { type: string }, x-sekisho-style: pipe } } } } } }")), "argument a: x-sekisho-style pipe: only a body of the form `form` has styles"},
		"two of one name":      {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query, schema: { type: string } }, { name: b, in: query, x-sekisho-name: a, schema: { type: string } }]")), "argument a and argument b both go to the query a of the backend"},
		"a fixed one again":    {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query, schema: { type: string } }]", "x-sekisho: { backend: orders, units: 1, request: { query: { a: '1' } } }")), "x-sekisho.request.query.a and argument a both go to the query a"},
		"a forbidden header":   {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query, x-sekisho-in: header, x-sekisho-name: X-Sekisho-User, schema: { type: string } }]")), `argument a: a header called "X-Sekisho-User" can't be sent`},
		"a broken header":      {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, request: { headers: { 'a b': c } } }")), `x-sekisho.request.headers.a b: a header called "a b" can't be sent`},
		"a path as a header":   {tools(get("/a/{id}", "orders.a", strings.Replace(path1, "in: path", "in: path, x-sekisho-in: header", 1))), "parameter id: x-sekisho-in header: only a query parameter can go elsewhere"},
		"a body of nothing":    {tools(get("/a", "orders.a", "x-sekisho: { backend: orders, units: 1, request: { body: form } }")), `x-sekisho.request.body "form": the operation has no requestBody`},
		"a form of a body":     {tools(operation("post", "/a", "orders.a", body+"{ a: { type: string } } } } } }", "x-sekisho: { backend: orders, units: 1, request: { body: xml } }")), `x-sekisho.request.body "xml": write json, form, value or text`},
		"a value of two":       {tools(operation("post", "/a", "orders.a", body+"{ a: { type: string }, b: { type: string } } } } } }", "x-sekisho: { backend: orders, units: 1, request: { body: value } }")), "x-sekisho.request.body value: the body has 2 members; describe one"},
		"no such schema":       {tools(get("/a", "orders.a", "responses: { '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } } } }")), `orders.a: response 200: reference "#/components/schemas/Order" leads nowhere`},
		"a pattern":            {tools(get("/a", "orders.a", "parameters: [{ name: a, in: query, schema: { type: string, pattern: '(?=a)' } }]")), "orders.a: input schema"},
	} {
		if _, err := merge(t, c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant %s", name, err, c.says)
		}
	}
}

// TestBackendIsAFunction: it has an entry in the table like any other.
func TestBackendIsAFunction(t *testing.T) {
	api := merged(t, tools(get("/a", "orders.a"))+"x-sekisho-limits: { resources: 600 }\nx-sekisho-import: { from: somewhere }\n")
	op := api.Operation("orders.a")
	if op.Function != "orders" || op.Backend != "orders" || op.Answer != AnswerObject || op.Resource != "/a" {
		t.Errorf("the operation is %+v", op)
	}
	if f := api.Function("orders"); f.Binary != "relay" || !f.Braked || f.Timeout <= api.Function("postal").Timeout || f.Timeout >= api.Function("mcp").Timeout {
		t.Errorf("the function is %+v", f)
	}
	if want := (Backend{Type: "http", URL: "https://api.example.com/v2"}); api.Backends["orders"] != want || api.Limits.Resources != 600 {
		t.Errorf("the backends are %v, the limits %+v", api.Backends, api.Limits)
	}
	if api.Operation("postal.lookup") != nil || api.Operation("utility.get_usage") == nil {
		t.Error("the default tools are still there, or the service's own are not")
	}
}

// TestCall: every way to say how a backend is asked.
func TestCall(t *testing.T) {
	api := merged(t, tools(
		operation("post", "/orders/{order_id}", "orders.update",
			`parameters:
        - { name: order_id, in: path, required: true, schema: { type: string }, x-sekisho-name: orderId }
        - { name: x_trace, in: query, schema: { type: string }, x-sekisho-name: X-Trace, x-sekisho-in: header }
        - { name: tags, in: query, schema: { type: array, items: { type: string } }, x-sekisho-style: brackets }
        - { name: filter, in: query, schema: { type: object }, x-sekisho-style: deep }
        - $ref: "#/components/parameters/Page"`,
			`requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Update" } } } }`,
			`x-sekisho: { backend: orders, units: 2, tool: true, answer: wrapped, request: { method: PUT, path: "/v2/orders/{orderId}:update", query: { api-version: "2024-01" }, headers: { Accept: application/vnd.github+json } } }`)+
			operation("post", "/forms", "orders.form", `requestBody: { content: { application/json: { schema: { type: object, properties: { ids: { type: array, items: { type: string } } } } } } }`, "x-sekisho: { backend: orders, units: 0, request: { body: form } }")+
			operation("put", "/blob", "orders.text", `requestBody: { content: { application/json: { schema: { type: object, properties: { body: { type: string } } } } } }`, "x-sekisho: { backend: orders, units: 0, request: { body: text } }")+
			get("/plain/{a}/{b}/", "orders.plain", "parameters: [{ name: a, in: path, x-sekisho-name: A-A, required: true, schema: { type: string } }, { name: b, in: path, required: true, schema: { type: string } }]"),
	)+`components:
  parameters: { Page: { name: page, in: query, schema: { type: integer }, x-sekisho-name: 'page[number]' } }
  schemas: { Update: { type: object, properties: { note: { $ref: "#/components/schemas/Note" }, at: { type: string } } }, Note: { type: string, x-sekisho-name: Note } }
`)
	for id, want := range map[string]BackendCall{
		"orders.update": {
			Method: "PUT", Path: "/v2/orders/{orderId}:update", Body: BodyJSON,
			Query: map[string]string{"api-version": "2024-01"}, Headers: map[string]string{"Accept": "application/vnd.github+json"},
			Arguments: []Argument{
				{"order_id", "orderId", InPath, Comma, nil}, {"x_trace", "X-Trace", InHeader, Comma, nil}, {"tags", "tags", InQuery, Brackets, nil},
				{"filter", "filter", InQuery, Deep, nil}, {"page", "page[number]", InQuery, Form, nil}, {"at", "at", InBody, "", nil}, {"note", "Note", InBody, "", nil},
			},
		},
		"orders.form":  {Method: "POST", Path: "/forms", Body: BodyForm, Arguments: []Argument{{"ids", "ids", InBody, Form, nil}}},
		"orders.text":  {Method: "PUT", Path: "/blob", Body: BodyText, Arguments: []Argument{{"body", "body", InBody, "", nil}}},
		"orders.plain": {Method: "GET", Path: "/plain/{A-A}/{b}/", Arguments: []Argument{{"a", "A-A", InPath, Comma, nil}, {"b", "b", InPath, Comma, nil}}},
	} {
		got, err := api.Operation(id).Call()
		if err != nil {
			t.Fatal(err)
		}
		if have, want := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", want); have != want {
			t.Errorf("%s:\n have %s\n want %s", id, have, want)
		}
	}
	s, err := api.Operation("orders.update").Schemas()
	if err != nil || strings.Contains(string(s.Input), "x-sekisho") {
		t.Errorf("agents see what is for the backend: %s, %v", s.Input, err)
	}
}

// TestMergeIsDeterministic: the same two documents make the same bytes.
func TestMergeIsDeterministic(t *testing.T) {
	text, err := os.ReadFile("tools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := WithListSizes(document, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		doc, err := merge(t, string(text))
		if err != nil || string(doc) != string(embedded) {
			t.Fatalf("%v, or other bytes", err)
		}
	}
}

// FuzzMerge: whatever a contract of tools holds, the merge ends in an error or in a contract that
// every function can read.
func FuzzMerge(f *testing.F) {
	f.Add(`{"openapi":"3.0.3"}`)
	f.Add(string(asJSON(f, []byte(tools(get("/a/{id}", "orders.a", path1)+get("/a/{id}:b", "orders.b", path1))))))
	own := asJSON(f, base)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		doc, err := Merge(own, []byte(text))
		if err != nil {
			return
		}
		api, err := Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range api.Operations {
			for _, name := range slices.Sorted(maps.Keys(api.Backends)) {
				if op.Backend == name && op.Function != name {
					t.Errorf("%s has the backend %s and the function %s", op.ID, name, op.Function)
				}
			}
		}
	})
}
