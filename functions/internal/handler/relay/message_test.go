package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
)

// tools is a contract of one operation, to be merged; members are YAML below it.
func operation(t testing.TB, path, members string) *contract.Operation {
	t.Helper()
	tools, err := source.JSON([]byte(fmt.Sprintf(`
openapi: 3.0.3
info: { title: t, version: "1" }
tags: [{ name: orders, description: d }]
x-sekisho-backends: { orders: { type: http } }
paths:
  %s:
    post:
      operationId: orders.do
      tags: [orders]
      summary: s
      description: d
      responses: { "200": { description: d, content: { application/json: { schema: { type: object } } } } }
%s`, path, members)))
	if err != nil {
		t.Fatal(err)
	}
	base, err := source.JSON(contract.Base())
	if err != nil {
		t.Fatal(err)
	}
	merged, err := contract.Merge(base, tools)
	if err != nil {
		t.Fatal(err)
	}
	api, err := contract.Parse(merged)
	if err != nil {
		t.Fatal(err)
	}
	return api.Operation("orders.do")
}

const everything = `
      parameters:
        - { name: order_id, in: path, required: true, schema: { type: string }, x-sekisho-name: orderId }
        - { name: trace, in: query, schema: { type: string }, x-sekisho-name: X-Trace, x-sekisho-in: header }
        - { name: repeated, in: query, schema: { type: array, items: { type: string } } }
        - { name: comma, in: query, schema: { type: array, items: { type: string } }, x-sekisho-style: comma }
        - { name: space, in: query, schema: { type: array, items: { type: string } }, x-sekisho-style: space }
        - { name: pipe, in: query, schema: { type: array, items: { type: string } }, x-sekisho-style: pipe }
        - { name: brackets, in: query, schema: { type: array, items: { type: string } }, x-sekisho-style: brackets }
        - { name: deep, in: query, schema: { type: object }, x-sekisho-style: deep }
        - { name: json, in: query, schema: { type: object }, x-sekisho-style: json }
        - { name: spread, in: query, schema: { type: object } }
        - { name: exact, in: query, schema: { type: boolean } }
      requestBody:
        required: true
        content: { application/json: { schema: { type: object, properties: { note: { type: string, x-sekisho-name: Note }, count: { type: number }, tags: { type: array, items: { type: string } },
          ship_to: { type: object, properties: { postal_code: { type: string, x-sekisho-name: postal-code } } }, meta: { type: string, x-sekisho-json: true } } } } }
      x-sekisho:
        backend: orders
        units: 1
        tool: true
        request:
          method: PATCH
          path: /v2/orders/{orderId}
          body: %s
          query: { api-version: "2024-01" }
          headers: { Accept: application/vnd.example+json, Idempotency-Key: '"o/{order_id}"' }
`

// TestWhatABackendIsSent: places, names and styles of arguments.
func TestWhatABackendIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		body, args string
		target     string
		sent       string // the body
		as         string
	}{
		"names and places": {"json", `{"order_id":"a b","trace":"t1","note":"n","count":9007199254740993}`,
			"/v2/orders/a%20b?api-version=2024-01", `{"Note":"n","count":9007199254740993}`, "application/json"},
		"names within": {"json", `{"order_id":"7","ship_to":{"postal_code":"1"},"meta":"{\"n\":[9007199254740993]}"}`,
			"/v2/orders/7?api-version=2024-01", `{"meta":{"n":[9007199254740993]},"ship_to":{"postal-code":"1"}}`, "application/json"},
		"no member":       {"json", `{"order_id":"7"}`, "/v2/orders/7?api-version=2024-01", `{}`, "application/json"},
		"repeated":        {"json", `{"order_id":"7","repeated":["a","b&c"]}`, "/v2/orders/7?api-version=2024-01&repeated=a&repeated=b%26c", `{}`, "application/json"},
		"comma":           {"json", `{"order_id":"7","comma":["a","b,c"]}`, "/v2/orders/7?api-version=2024-01&comma=a,b%2Cc", `{}`, "application/json"},
		"space":           {"json", `{"order_id":"7","space":["a","b"]}`, "/v2/orders/7?api-version=2024-01&space=a%20b", `{}`, "application/json"},
		"pipe":            {"json", `{"order_id":"7","pipe":["a","b"]}`, "/v2/orders/7?api-version=2024-01&pipe=a%7Cb", `{}`, "application/json"},
		"brackets":        {"json", `{"order_id":"7","brackets":["a","b"]}`, "/v2/orders/7?api-version=2024-01&brackets%5B%5D=a&brackets%5B%5D=b", `{}`, "application/json"},
		"deep":            {"json", `{"order_id":"7","deep":{"s":"x","n":{"m":1.5},"l":[1,2],"none":null}}`, "/v2/orders/7?api-version=2024-01&deep%5Bl%5D=1&deep%5Bl%5D=2&deep%5Bn%5D%5Bm%5D=1.5&deep%5Bs%5D=x", `{}`, "application/json"},
		"json":            {"json", `{"order_id":"7","json":{"a":"<"}}`, "/v2/orders/7?api-version=2024-01&json=%7B%22a%22%3A%22%3C%22%7D", `{}`, "application/json"},
		"spread":          {"json", `{"order_id":"7","spread":{"a":1,"b":true},"exact":false}`, "/v2/orders/7?api-version=2024-01&a=1&b=true&exact=false", `{}`, "application/json"},
		"nothing is null": {"json", `{"order_id":"7","exact":null}`, "/v2/orders/7?api-version=2024-01", `{}`, "application/json"},
		"a form":          {"form", `{"order_id":"7","note":"a b&c","count":0.1,"tags":["x","y"]}`, "/v2/orders/7?api-version=2024-01", `count=0.1&Note=a%20b%26c&tags=x&tags=y`, "application/x-www-form-urlencoded"},
		"a slash":         {"json", `{"order_id":"feature/x"}`, "/v2/orders/feature%2Fx?api-version=2024-01", `{}`, "application/json"},
		"all that is odd": {"json", `{"order_id":"é?#%2e%2e;=&+"}`, "/v2/orders/%C3%A9%3F%23%252e%252e%3B%3D%26%2B?api-version=2024-01", `{}`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			call, err := operation(t, "/orders/{order_id}", fmt.Sprintf(everything, c.body)).Call()
			if err != nil {
				t.Fatal(err)
			}
			m, err := compose(call, arguments(t, c.args))
			if err != nil || m.method != "PATCH" || m.target() != c.target || string(m.body) != c.sent || m.header.Get("Content-Type") != c.as {
				t.Errorf("%v: %s %s %s %s\nwant %s %s %s", err, m.method, m.target(), m.header, m.body, c.target, c.as, c.sent)
			}
			if m.header.Get("Accept") != "application/vnd.example+json" || name == "names and places" && (m.header.Get("X-Trace") != "t1" || m.header.Get("Idempotency-Key") != `"o/a b"`) {
				t.Errorf("headers %v", m.header)
			}
		})
	}
}

// TestAValueIsABody: the whole body may be one argument.
func TestAValueIsABody(t *testing.T) {
	for kind, want := range map[string]string{"value": `["a","<"]`, "text": `["a","<"]`} {
		members := `
      requestBody: { required: true, content: { application/json: { schema: { type: object, properties: { body: { type: array, items: { type: string } } } } } } }
      x-sekisho: { backend: orders, units: 1, tool: true, request: { body: ` + kind + ` } }`
		call, err := operation(t, "/orders", members).Call()
		if err != nil {
			t.Fatal(err)
		}
		m, err := compose(call, arguments(t, `{"body":["a","<"]}`))
		if err != nil || string(m.body) != want {
			t.Errorf("%s: %v %s", kind, err, m.body)
		}
	}
}

// TestArgumentsStayInTheirPlace: none leads to another path of the backend, or into another header.
func TestArgumentsStayInTheirPlace(t *testing.T) {
	call, err := operation(t, "/orders/{order_id}", fmt.Sprintf(everything, "json")).Call()
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", ".", "..", "../admin", "a/../b", `..\admin`, "a/.", "/../"} {
		args := map[string]any{"order_id": value}
		if m, err := compose(call, args); !wrong(err, "order_id") {
			t.Errorf("%q: %v, %s", value, err, m.target())
		}
	}
	if _, err := compose(call, map[string]any{"order_id": "7", "meta": "{"}); !wrong(err, "meta") {
		t.Errorf("no JSON: %v", err)
	}
	for _, value := range []string{"a\r\nX-Sekisho-User: bob", "a\nb", "\x00", "\x7f"} {
		if _, err := compose(call, map[string]any{"order_id": "7", "trace": value}); !wrong(err, "trace") {
			t.Errorf("header %q: %v", value, err)
		}
	}
	mixed := `
      parameters:
        - { name: a, in: path, required: true, schema: { type: string } }
        - { name: b, in: path, required: true, schema: { type: string } }
      x-sekisho: { backend: orders, units: 1, tool: true, request: { path: "/files/{a}{b}/x" } }`
	if call, err = operation(t, "/files/{a}/{b}", mixed).Call(); err != nil {
		t.Fatal(err)
	}
	if m, err := compose(call, map[string]any{"a": ".x", "b": "y."}); err != nil || m.path != "/files/.xy./x" {
		t.Errorf("%v %s", err, m.path)
	}
	if _, err := compose(call, map[string]any{"a": ".", "b": "."}); err == nil {
		t.Error("two dots that meet are a way up")
	}
}

func wrong(err error, param string) bool {
	var e *contract.ArgumentError
	return errors.As(err, &e) && e.Param == param
}

func arguments(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var args map[string]any
	if err := decoder.Decode(&args); err != nil {
		t.Fatal(err)
	}
	return args
}

// FuzzCompose: whatever the argument, the path has as many segments as the template.
func FuzzCompose(f *testing.F) {
	for _, value := range []string{"7", "..", "a/b", "%2e%2e", "\\", "\x00", "é", "{note}"} {
		f.Add(value)
	}
	call, err := operation(f, "/orders/{order_id}", fmt.Sprintf(everything, "json")).Call()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		m, err := compose(call, map[string]any{"order_id": value, "comma": []any{value}, "trace": value})
		if err != nil {
			return
		}
		path, query, _ := strings.Cut(m.target(), "?")
		if strings.Count(path, "/") != 3 || strings.ContainsAny(path+query, "\r\n #\x00") || strings.Contains(query, "?") {
			t.Errorf("%q: %s", value, m.target())
		}
	})
}
