package suite

import (
	"net/http"
	"strings"
	"testing"
)

func testBadInputREST(t *testing.T, g Target) {
	k := g.newKey(t)
	big := strings.Repeat("x", 5<<20)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"unknown route", "GET", "/v1/nothing", "", 404, "route_not_found"},
		{"wrong method", "DELETE", "/v1/postal/1000001", "", 404, "route_not_found"},
		{"OAuth probe", "GET", "/.well-known/oauth-protected-resource", "", 404, "route_not_found"},
		{"OAuth probe below", "GET", "/.well-known/oauth-protected-resource/mcp", "", 404, "route_not_found"},
		{"missing parameter", "GET", "/v1/calendar/holidays", "", 400, "invalid_argument"},
		{"doubled parameter", "GET", "/v1/calendar/holidays?year=2026&year=2027", "", 400, "invalid_argument"},
		{"unknown parameter", "GET", "/v1/calendar/holidays?year=2026&yaer=1", "", 400, "invalid_argument"},
		{"wrong type", "GET", "/v1/calendar/holidays?year=soon", "", 400, "invalid_argument"},
		{"not UTF-8", "GET", "/v1/postal?address=%ff%fe", "", 400, "invalid_argument"},
		{"both of two", "GET", "/v1/postal?prefix=1&address=x", "", 400, "invalid_argument"},
		{"neither of two", "GET", "/v1/postal", "", 400, "invalid_argument"},
		{"a body that is none", "POST", "/v1/convert/width", "text", 400, "invalid_argument"},
		{"a body that is an array", "POST", "/v1/convert/width", "[]", 400, "invalid_argument"},
		{"a body that is cut off", "POST", "/v1/convert/width", `{"text":"a"`, 400, "invalid_argument"},
		{"5 MB", "POST", "/v1/convert/width", `{"to":"half","text":"` + big + `"}`, 413, "too_large"},
		{"settings of 5 MB", "PUT", "/v1/user/tool-settings", `{"disabled_tools":["` + big + `"]}`, 413, "too_large"},
		{"settings of the wrong type", "PUT", "/v1/user/tool-settings", `{"disabled_tools":"all"}`, 400, "invalid_argument"},
	} {
		a := send(t, c.method, g.APIURL+c.path, k.Secret, c.body)
		if a.Status != c.status {
			t.Errorf("%s: HTTP %d %.300s; want %d", c.name, a.Status, a.Body, c.status)
			continue
		}
		if p := a.problem(t); p.Error != c.code {
			t.Errorf("%s: %s; want %s", c.name, p.Error, c.code)
		} else if c.code == "invalid_argument" && p.Detail == "" {
			t.Errorf("%s: does not say what is wrong", c.name)
		}
	}
	if a := send(t, "POST", g.APIURL+"/register", "", `{"redirect_uris":[]}`); a.Status != 400 || !strings.Contains(string(a.Body), "x-api-key") {
		t.Errorf("/register: %s", a)
	}
	g.settles(t, k, 0)
}

func testBadInputMCP(t *testing.T, g Target) {
	k := g.newKey(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	call := func(name, arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
	}
	g.startsNothing(t, func() {
		for _, c := range []struct {
			name, body string
			options    []option
			status     int
			code       int
		}{
			{"an array", "[" + list + "]", nil, 400, -32600},
			{"no JSON", "{", nil, 400, -32700},
			{"no object", `"x"`, nil, 400, -32600},
			{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`, nil, 200, -32601},
			{"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("<", 890_000) + `","method":"ping"}`, nil, 400, -32600},
			{"a long progress token", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":"` + strings.Repeat("<", 300) + `"}}}`, nil, 400, -32600},
			{"a cursor of another server", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, nil, 200, -32602},
			{"unknown tool", call("postal.find", `{}`), nil, 200, -32602},
			{"unknown version", list, []option{header("MCP-Protocol-Version", "1999-01-01")}, 400, 0},
			{"5 MB", call("convert.width", `{"text":"`+strings.Repeat("x", 5<<20)+`"}`), nil, 413, 0},
			{"not JSON by its type", list, []option{header("Content-Type", "text/plain")}, 415, 0},
			{"a foreign origin", list, []option{header("Origin", "https://evil.example")}, 403, 0},
		} {
			a := g.rpc(t, k.Secret, c.body, c.options...)
			code := rpcCode(t, a)
			if a.Status != c.status || code == 0 || c.code != 0 && code != c.code || len(a.Body) > 2000 {
				t.Errorf("%s: HTTP %d, code %d, %.300s; want %d, %d", c.name, a.Status, code, a.Body, c.status, c.code)
			}
		}
		for name, arguments := range map[string]string{
			"missing": `{}`, "wrong type": `{"postal_code":["1000001"]}`, "number without its zero": `{"postal_code":600000}`, "unknown": `{"postal_code":"1000001","x":1}`,
		} {
			if p := g.callTool(t, k.Secret, "postal.lookup", arguments).tool(t).problem(t); p.Error != "invalid_argument" || p.Detail == "" {
				t.Errorf("%s argument: %+v", name, p)
			}
		}
	})
	for name, options := range map[string][]option{
		"no Accept": {noHeader("Accept")}, "any Accept": {header("Accept", "*/*")}, "JSON only": {header("Accept", "application/json")},
	} {
		if a := g.rpc(t, k.Secret, list, options...); a.Status != 200 {
			t.Errorf("%s: %s", name, a)
		}
	}
	for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
		if a := g.rpc(t, k.Secret, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`); a.Status != 200 || !strings.Contains(string(a.Body), "[]") {
			t.Errorf("%s: %s", method, a)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := send(t, method, g.MCPURL, k.Secret, "")
		if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %s, Allow %q", method, a, a.Header.Get("Allow"))
		}
	}
	if a := send(t, http.MethodPost, g.MCPURL+"/", k.Secret, list); a.Status != 200 {
		t.Errorf("with a final slash: %s", a)
	}
	g.settles(t, k, 0)
}
