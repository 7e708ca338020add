package suite

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func testWithoutKey(t *testing.T, g Target) {
	good := g.newKey(t).Secret
	last := good[len(good)-1]
	typo := good[:len(good)-1] + map[bool]string{true: "b", false: "a"}[last == 'a']
	g.startsNothing(t, func() {
		for name, options := range map[string][]option{
			"no key":           nil,
			"mistyped":         {header("x-api-key", typo)},
			"another's form":   {header("Authorization", "Bearer sk-live-123")},
			"basic":            {header("Authorization", "Basic "+good)},
			"the wrong header": {header("api-key", good)},
			"in the query":     nil,
			"two that differ":  {header("x-api-key", good), header("Authorization", "Bearer "+typo)},
		} {
			path := "/v1/postal/1000001"
			if name == "in the query" {
				path += "?x-api-key=" + good
			}
			a := g.get(t, path, "", options...)
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s: %s", name, a)
				continue
			}
			if p := a.problem(t); !strings.Contains(p.Hint, "x-api-key") || !strings.Contains(p.Hint, "Authorization") {
				t.Errorf("%s: the hint does not name both headers: %s", name, p.Hint)
			}
			a = g.rpc(t, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, options...)
			if a.Status != http.StatusUnauthorized || rpcCode(t, a) == 0 {
				t.Errorf("%s over MCP: %s", name, a)
			}
		}
	})
}

// rpcCode returns the code of a JSON-RPC error.
func rpcCode(t testing.TB, a answer) int {
	t.Helper()
	var out struct {
		JSONRPC string `json:"jsonrpc"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	decode(t, a.Body, &out)
	if out.JSONRPC != "2.0" || out.Error.Message == "" {
		t.Errorf("no JSON-RPC error: %s", a)
	}
	return out.Error.Code
}

func testRevoked(t *testing.T, g Target) {
	k := g.newKey(t)
	g.Sekisho(t, "keys", "revoke", k.ID)
	g.startsNothing(t, func() {
		if a := g.get(t, "/v1/postal/1000001", k.Secret); a.Status != http.StatusUnauthorized {
			t.Errorf("a revoked key: %s", a)
		}
		if a := g.callTool(t, k.Secret, "postal.lookup", `{"postal_code":"1000001"}`); a.Status != http.StatusUnauthorized || !strings.Contains(string(a.Body), "revoked") {
			t.Errorf("a revoked key over MCP: %s", a)
		}
	})

	old := g.newKey(t)
	if a := g.get(t, "/v1/postal/1000001", old.Secret); a.Status != http.StatusOK {
		t.Fatalf("before rotation: %s", a)
	}
	var next key
	decode(t, []byte(g.Sekisho(t, "keys", "rotate", "--json", "--grace", "1h", old.ID)), &next)
	if used := g.usageOf(t, next).Used; used != 1 {
		t.Errorf("a rotated key starts with %d used; the count must go on at 1", used)
	}
	for _, secret := range []string{old.Secret, next.Secret} {
		if a := g.get(t, "/v1/postal/1000001", secret); a.Status != http.StatusOK {
			t.Errorf("within the grace period: %s", a)
		}
	}
	if used := g.usageOf(t, next).Used; used != 3 {
		t.Errorf("old and new key have used %d together, want 3", used)
	}
}

// toolNames are the names in tools/list: those of the operations, with underscores.
func (g Target) toolNames(t testing.TB, k key) map[string]bool {
	t.Helper()
	var out struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	decode(t, g.rpc(t, k.Secret, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body, &out)
	names := map[string]bool{}
	for _, tool := range out.Result.Tools {
		names[tool.Name] = true
	}
	return names
}

func testToolSettings(t *testing.T, g Target) {
	all := g.toolNames(t, g.newKey(t))
	if len(all) < 11 || !all["postal_lookup"] {
		t.Fatalf("tools: %v", all)
	}
	k := g.newKey(t)
	put := func(body string) answer {
		return send(t, http.MethodPut, g.APIURL+"/v1/user/tool-settings", k.Secret, body)
	}
	if a := put(`{"disabled_tools":["postal.lookpu"]}`); a.Status != http.StatusBadRequest || !strings.Contains(a.problem(t).Detail, "postal.lookup") {
		t.Errorf("a tool that does not exist: %s", a)
	}
	if a := put(`{"disabled_categories":["convert"],"disabled_tools":["postal.lookup"]}`); a.Status != http.StatusOK {
		t.Fatalf("put: %s", a)
	}
	names := g.toolNames(t, k)
	for name := range all {
		off := strings.HasPrefix(name, "convert_") || name == "postal_lookup"
		if names[name] == off {
			t.Errorf("%s: listed %v", name, names[name])
		}
	}
	g.startsNothing(t, func() {
		for tool, arguments := range map[string]string{
			"postal.lookup": `{"postal_code":"1000001"}`, "convert_era": `{"date":"2026-11-30"}`,
		} {
			if p := g.callTool(t, k.Secret, tool, arguments).tool(t).problem(t); p.Error != "tool_disabled" || p.Retryable {
				t.Errorf("%s: %+v", tool, p)
			}
		}
	})
	g.settles(t, k, 0)
	var settings struct {
		Tools []struct {
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
		} `json:"tools"`
	}
	decode(t, g.get(t, "/v1/user/tool-settings", k.Secret).Body, &settings)
	// The settings also name the tools that find others, which this list leaves out.
	for _, tool := range settings.Tools {
		delete(all, strings.ReplaceAll(tool.Name, ".", "_"))
	}
	if len(all) > 0 {
		t.Errorf("listed, and not among the settings: %v", all)
	}
	for _, c := range []struct{ tool, arguments, off string }{
		{"utility_find_tools", `{"words":"postal code"}`, "postal_lookup"},
		{"utility_find_tools", `{"words":"","category":"calendar"}`, "convert_era"},
	} {
		if r := g.callTool(t, k.Secret, c.tool, c.arguments).tool(t); r.IsError || strings.Contains(r.Content[0].Text, c.off) {
			t.Errorf("%s finds what is off: %+v", c.tool, r)
		}
	}
	for _, tool := range []string{"utility_describe_tool", "utility_call_tool"} {
		if p := g.callTool(t, k.Secret, tool, `{"name":"postal_lookup"}`).tool(t).problem(t); p.Error != "tool_disabled" {
			t.Errorf("%s of a tool that is off: %+v", tool, p)
		}
	}
}

// testSettingsOfTwo: of two who have read the same settings, the second to write hears of it.
func testSettingsOfTwo(t *testing.T, g Target) {
	k := g.newKey(t)
	const path = "/v1/user/tool-settings"
	put := func(body, ifMatch string) answer {
		t.Helper()
		return send(t, http.MethodPut, g.APIURL+path, k.Secret, body, header("If-Match", ifMatch))
	}
	read := g.get(t, path, k.Secret)
	tag := read.Header.Get("ETag")
	if again := g.get(t, path, k.Secret).Header.Get("ETag"); tag == "" || again != tag {
		t.Errorf("read twice: %q, %q", tag, again)
	}
	first := put(`{"disabled_tools":["convert.era"]}`, tag)
	if first.Status != http.StatusOK || first.Header.Get("ETag") == tag || first.Header.Get("ETag") == "" {
		t.Fatalf("the first: %s, %q", first, first.Header.Get("ETag"))
	}
	second := put(`{"disabled_tools":["convert.width"]}`, tag)
	if p := second.problem(t); second.Status != http.StatusPreconditionFailed || p.Error != "settings_changed" || p.Retryable || second.Header.Get("ETag") != "" {
		t.Errorf("the second: %s", second)
	}
	now := g.get(t, path, k.Secret)
	if now.Header.Get("ETag") != first.Header.Get("ETag") || string(now.Body) != string(first.Body) || !strings.Contains(string(now.Body), `"disabled_tools":["convert.era"]`) {
		t.Errorf("after both: %s", now)
	}
	for _, ifMatch := range []string{now.Header.Get("ETag"), `"other", ` + tag, "*"} { // tag was that of no settings at all
		if a := put(`{}`, ifMatch); a.Status != http.StatusOK || a.Header.Get("ETag") != tag {
			t.Errorf("If-Match %s: %s, %q", ifMatch, a, a.Header.Get("ETag"))
		}
	}
	for _, ifMatch := range []string{`"other"`, "W/" + tag, strings.Trim(tag, `"`)} {
		if a := put(`{}`, ifMatch); a.Status != http.StatusPreconditionFailed {
			t.Errorf("If-Match %s: %s", ifMatch, a)
		}
	}
	var settings struct {
		Tools []struct {
			Description string
			Units       *int64
			Bytes       int `json:"list_bytes"`
			Tokens      int `json:"estimated_tokens"`
		}
	}
	decode(t, now.Body, &settings)
	for _, tool := range settings.Tools {
		if tool.Description == "" || tool.Units == nil || tool.Bytes < 100 || tool.Tokens < 10 {
			t.Errorf("of a tool: %+v", tool)
		}
	}
}

func testData(t *testing.T, g Target) {
	k := g.newKey(t)
	for path, want := range map[string]string{
		"/v1/postal/100-0001":                                            "千代田区",
		"/v1/postal/1000001":                                             `"town":"千代田"`,
		"/v1/postal/%EF%BC%91%EF%BC%90%EF%BC%900001":                     "東京都",
		"/v1/postal?address=%E5%8D%83%E4%BB%A3%E7%94%B0&limit=1":         `"next_cursor":"`,
		"/v1/calendar/holidays?year=2026":                                "2026-05-03",
		"/v1/calendar/business-day?date=2026-11-30":                      `"is_business_day":true`,
		"/v1/calendar/business-days?date=2026-12-30&days=1":              `"result":"2026-12-31"`,
		"/v1/calendar/business-days-between?from=2026-11-30&to=2026-12-": "",
		"/v1/convert/era?date=2026-11-30":                                "令和8年11月30日",
		"/v1/convert/era?era_date=R8.11.30":                              `"date":"2026-11-30"`,
		"/v1/convert/era?date=2026-11-30&era_date=":                      "令和8年11月30日",
		"/v1/convert/units?value=1&from=kan&to=kg":                       `"result":3.75`,
	} {
		a := g.get(t, path, k.Secret)
		if want == "" {
			if a.Status != http.StatusBadRequest {
				t.Errorf("%s: %s", path, a)
			}
			continue
		}
		if a.Status != http.StatusOK || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %s; want %s", path, a, want)
		}
	}
	for _, arguments := range []string{`{"date":"2026-11-30","era_date":null}`, `{"date":"2026-11-30","era_date":""}`} {
		if r := g.callTool(t, k.Secret, "convert_era", arguments).tool(t); r.IsError {
			t.Errorf("%s: %+v", arguments, r)
		}
	}
	a := send(t, http.MethodPost, g.APIURL+"/v1/convert/width", k.Secret, `{"text":"ﾊﾟﾝ１","to":"full","scope":"kana"}`)
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"result":"パン１"`) {
		t.Errorf("width: %s", a)
	}
}

// testEveryTool calls each listed tool with the contract's examples of its arguments, or with
// the arguments below, where more is worth trying or none is required.
func testEveryTool(t *testing.T, g Target) {
	k := g.newKey(t)
	contract := readContract(t)
	arguments := map[string]string{
		"calendar_business_days": `{"date":"2026-11-30","days":-3,"bank_holidays":true}`,
		"postal_lookup":          `{"postal_code":"１００－０００１"}`,
		"postal_search":          `{"prefix":"100","limit":2}`,
		"convert_era":            `{"era_date":"令和元年5月1日"}`,
		"convert_width":          `{"text":"ＡＢＣ","to":"half"}`,
		"utility_diagnose_mcp":   `{}`,
	}
	for name := range g.toolNames(t, k) {
		args, ok := arguments[name]
		if !ok {
			if args, ok = contract.example(name); !ok {
				t.Errorf("%s: the contract has no example for one of its arguments; give its schema one", name)
				continue
			}
		}
		r := g.callTool(t, k.Secret, name, args).tool(t)
		if strings.HasPrefix(name, "external_") && !g.Upstream {
			if p := r.problem(t); p.Error != "upstream_not_configured" || p.Retryable {
				t.Errorf("%s without an upstream: %+v", name, p)
			}
			continue
		}
		var structured map[string]any
		if r.IsError || json.Unmarshal(r.StructuredContent, &structured) != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
