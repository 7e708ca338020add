package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/mcpserver"
)

var update = flag.Bool("update", false, "write the golden files under testdata")

func itoa(n int) string { return strconv.Itoa(n) }

// exchange is one request and, in its golden file, the answer to it.
type exchange struct {
	name   string
	method string
	path   string
	// headers as name, value, name, value; a name may come twice.
	headers []string
	body    string
	change  func(*mcpserver.Config)
}

// Sets of headers that most requests have.
var (
	plain  = []string{"content-type", "application/json"}
	authed = with("x-api-key", goodKey)
)

func with(more ...string) []string { return slices.Concat(plain, more) }

func keyed(more ...string) []string { return slices.Concat(authed, more) }

// era are the headers of a 2026-07-28 request.
func era(method string, more ...string) []string {
	return keyed(slices.Concat([]string{"mcp-protocol-version", "2026-07-28", "mcp-method", method}, more)...)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// modern writes a 2026-07-28 request.
func modern(method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + modernMeta + `}}`
}

func legacy(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
}

const (
	ping    = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	lookup  = `"name":"postal.lookup","arguments":{"postal_code":"100-0001"}`
	unknown = `"name":"postal.find","arguments":{}`
)

func searching(c *mcpserver.Config) { c.Listing = mcpserver.ListSearch }

func exchanges() []exchange {
	initialize := legacy("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}`)
	return []exchange{
		// Methods and paths.
		{name: "get", method: "GET", headers: []string{"accept", "text/event-stream"}},
		{name: "head", method: "HEAD"},
		{name: "put", method: "PUT", headers: authed, body: ping},
		{name: "delete", method: "DELETE", headers: keyed("mcp-session-id", "x")},
		{name: "final_slash", path: "/mcp/", headers: authed, body: ping},
		{name: "base_path", path: "/base/mcp", headers: authed, body: ping},
		{name: "well_known", method: "GET", path: "/.well-known/oauth-protected-resource/mcp2"},
		{name: "other_path", path: "/authorize", headers: plain, body: `{}`},
		{name: "register", path: "/register", headers: plain, body: `{}`},
		{name: "register_get", path: "/register", method: "GET"},
		// Origins.
		{name: "options", method: "OPTIONS"},
		{name: "options_allowed", method: "OPTIONS", headers: []string{"origin", "https://console.example", "access-control-request-method", "POST", "access-control-request-headers", "content-type, mcp-param-region, x-evil"}},
		{name: "options_other", method: "OPTIONS", headers: []string{"origin", "https://evil.example", "access-control-request-method", "POST"}},
		{name: "origin_allowed", headers: keyed("origin", "https://console.example"), body: ping},
		{name: "origin_allowed_call", headers: keyed("origin", "https://console.example"), body: legacy("tools/call", lookup)},
		{name: "origin_allowed_without_key", headers: with("origin", "https://console.example"), body: ping},
		{name: "origin_other", headers: keyed("origin", "https://evil.example"), body: ping},
		{name: "origin_null", headers: keyed("origin", "null"), body: ping},
		{name: "origin_twice", headers: keyed("origin", "https://console.example", "origin", "https://evil.example"), body: ping},
		{name: "foreign_host", headers: keyed("host", "rebound.example"), body: ping},
		// Accept and content types.
		{name: "accept_absent", headers: authed, body: ping},
		{name: "accept_any", headers: keyed("accept", "*/*"), body: ping},
		{name: "accept_json", headers: keyed("accept", "application/json"), body: ping},
		{name: "accept_stream", headers: keyed("accept", "text/event-stream"), body: ping},
		{name: "accept_both", headers: keyed("accept", "application/json, text/event-stream"), body: ping},
		{name: "accept_other", headers: keyed("accept", "text/html"), body: ping},
		{name: "content_type_charset", headers: []string{"Content-Type", "application/json; charset=utf-8", "X-API-KEY", goodKey}, body: ping},
		{name: "content_type_absent", headers: []string{"x-api-key", goodKey}, body: ping},
		{name: "content_type_form", headers: []string{"content-type", "application/x-www-form-urlencoded", "x-api-key", goodKey}, body: "a=b"},
		{name: "content_encoding", headers: keyed("content-encoding", "gzip"), body: ping},
		// Bodies.
		{name: "body_empty", headers: authed},
		{name: "body_not_json", headers: authed, body: `{"jsonrpc":`},
		{name: "body_trailing", headers: authed, body: ping + ping},
		{name: "body_not_utf8", headers: authed, body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"},
		{name: "body_number", headers: authed, body: `42`},
		{name: "body_array", headers: authed, body: `[` + legacy("tools/call", lookup) + `]`},
		{name: "body_array_2025_03_26", headers: keyed("mcp-protocol-version", "2025-03-26"), body: `[` + legacy("tools/call", lookup) + `,` + ping + `]`},
		{name: "body_array_empty", headers: authed, body: `[]`},
		{name: "body_too_large", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`},
		{name: "body_5mb_without_key", headers: plain, body: strings.Repeat(" ", 5<<20)},
		// Messages.
		{name: "id_null", headers: authed, body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
		{name: "id_fraction", headers: authed, body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`},
		{name: "id_object", headers: authed, body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`},
		{name: "id_huge", headers: authed, body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`},
		{name: "id_long", headers: authed, body: `{"jsonrpc":"2.0","id":"` + strings.Repeat("<", 255) + `","method":"ping"}`},
		{name: "id_longest", headers: authed, body: `{"jsonrpc":"2.0","id":"` + strings.Repeat("<", 254) + `","method":"ping"}`},
		{name: "id_long_without_key", headers: plain, body: `{"jsonrpc":"2.0","id":"` + strings.Repeat("<", 890_000) + `","method":"ping"}`},
		{name: "progress_token_long", headers: authed, body: legacy("tools/call", lookup+`,"_meta":{"progressToken":"`+strings.Repeat("p", 255)+`"}`)},
		{name: "progress_token_object", headers: authed, body: legacy("tools/call", lookup+`,"_meta":{"progressToken":{"a":1}}`)},
		{name: "id_text", headers: authed, body: `{"jsonrpc":"2.0","id":"a\"b","method":"ping"}`},
		{name: "id_missing", headers: authed, body: `{"jsonrpc":"2.0","method":"tools/list"}`},
		{name: "version_tag", headers: authed, body: `{"id":1,"method":"ping"}`},
		{name: "method_missing", headers: authed, body: `{"jsonrpc":"2.0","id":1}`},
		{name: "method_number", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":7}`},
		{name: "params_array", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`},
		{name: "params_missing", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`},
		{name: "params_null", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`},
		{name: "params_missing_modern", headers: era("tools/call"), body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`},
		{name: "params_wrong_type", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`},
		{name: "initialize_wrong_type", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`},
		{name: "smuggled_method", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","Method":"ping","METHOD":"ping","params":{"notifications":{"toolsListChanged":true}}}`},
		{name: "response", headers: authed, body: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{name: "notification", headers: authed, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{name: "notification_unknown", headers: authed, body: `{"jsonrpc":"2.0","method":"notifications/whatever"}`},
		{name: "notification_modern", headers: era("notifications/cancelled"), body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
		{name: "notification_modern_mismatch", headers: era("tools/call"), body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
		{name: "notification_with_id", headers: authed, body: `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`},
		{name: "notification_without_key", headers: plain, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		// Versions and headers by era.
		{name: "version_unsupported", headers: keyed("mcp-protocol-version", "1999-01-01"), body: ping},
		{name: "version_2024_11_05", headers: keyed("mcp-protocol-version", "2024-11-05"), body: ping},
		{name: "version_garbage", headers: keyed("mcp-protocol-version", "latest"), body: ping},
		{name: "version_future", headers: keyed("mcp-protocol-version", "2099-01-01", "mcp-method", "tools/list"), body: strings.ReplaceAll(modern("tools/list", ""), "2026-07-28", "2099-01-01")},
		{name: "version_mismatch", headers: keyed("mcp-protocol-version", "2025-11-25", "mcp-method", "tools/list"), body: modern("tools/list", "")},
		{name: "version_header_missing", headers: keyed("mcp-method", "tools/list"), body: modern("tools/list", "")},
		{name: "method_header_missing", headers: keyed("mcp-protocol-version", "2026-07-28"), body: modern("tools/list", "")},
		{name: "method_header_mismatch", headers: era("tools/call"), body: modern("tools/list", "")},
		{name: "name_header_missing", headers: era("tools/call"), body: modern("tools/call", lookup)},
		{name: "name_header_mismatch", headers: era("tools/call", "mcp-name", "postal.search"), body: modern("tools/call", lookup)},
		{name: "meta_missing", headers: era("tools/list"), body: legacy("tools/list", "")},
		{name: "session_unknown", headers: keyed("mcp-session-id", "nobody-knows-me", "last-event-id", "7_1"), body: ping},
		// Methods.
		{name: "method_unknown", headers: authed, body: legacy("tools/explode", "")},
		{name: "method_unknown_modern", headers: era("tools/explode"), body: modern("tools/explode", "")},
		{name: "prompts", headers: authed, body: legacy("prompts/list", "")},
		{name: "prompts_modern", headers: era("prompts/list"), body: modern("prompts/list", "")},
		{name: "resources", headers: authed, body: legacy("resources/list", "")},
		{name: "resources_modern", headers: era("resources/list"), body: modern("resources/list", "")},
		{name: "resource_templates", headers: authed, body: legacy("resources/templates/list", "")},
		{name: "resource_templates_modern", headers: era("resources/templates/list"), body: modern("resources/templates/list", "")},
		{name: "method_prompts_get", headers: authed, body: legacy("prompts/get", `"name":"a"`)},
		{name: "method_logging", headers: authed, body: legacy("logging/setLevel", `"level":"debug"`)},
		{name: "method_listen", headers: era("subscriptions/listen"), body: modern("subscriptions/listen", `"notifications":{"toolsListChanged":true}`)},
		{name: "method_ping_modern", headers: era("ping"), body: modern("ping", "")},
		{name: "method_discover_legacy", headers: authed, body: legacy("server/discover", "")},
		{name: "initialize", headers: authed, body: initialize},
		{name: "initialize_old", headers: authed, body: strings.ReplaceAll(initialize, "2025-11-25", "2024-11-05")},
		{name: "discover", headers: era("server/discover"), body: modern("server/discover", "")},
		// Keys.
		{name: "key_none", headers: plain, body: ping},
		{name: "key_none_modern", headers: slices.Concat(plain, []string{"mcp-protocol-version", "2026-07-28", "mcp-method", "server/discover"}), body: modern("server/discover", "")},
		{name: "key_unknown", headers: with("x-api-key", "SECRET-nobody"), body: ping},
		{name: "key_revoked", headers: with("x-api-key", revokedKey), body: ping},
		{name: "key_store_down", headers: with("x-api-key", brokenStore), body: ping},
		{name: "key_basic", headers: with("authorization", "Basic U0VDUkVU"), body: ping},
		{name: "key_bearer_lower_case", headers: with("authorization", "bearer "+goodKey), body: ping},
		{name: "key_twice_same", headers: with("authorization", "Bearer "+goodKey, "x-api-key", goodKey, "Authorization", "Bearer "+goodKey), body: ping},
		{name: "key_twice_different", headers: with("authorization", "Bearer "+goodKey, "x-api-key", revokedKey), body: ping},
		{name: "key_remapped", headers: with("x-amzn-Remapped-Authorization", "Bearer "+goodKey), body: ping},
		// Tools.
		{name: "call", headers: authed, body: legacy("tools/call", lookup)},
		{name: "call_modern", headers: era("tools/call", "mcp-name", "postal.lookup"), body: modern("tools/call", lookup)},
		{name: "call_underscore", headers: authed, body: legacy("tools/call", strings.ReplaceAll(lookup, "postal.lookup", "postal_lookup"))},
		{name: "call_progress_canonical", headers: keyed("accept", "text/event-stream"), body: legacy("tools/call", lookup+`,"_meta":{"progressToken":"p1"}`), change: canonical},
		{name: "call_unknown", headers: authed, body: legacy("tools/call", unknown)},
		{name: "call_unknown_modern", headers: era("tools/call", "mcp-name", "postal.find"), body: modern("tools/call", unknown)},
		{name: "call_argument_null", headers: authed, body: legacy("tools/call", `"name":"postal_search","arguments":{"prefix":"100","address":"","limit":"5","cursor":null}`)},
		{name: "call_argument_number", headers: authed, body: legacy("tools/call", `"name":"postal_lookup","arguments":{"postal_code":600000}`)},
		{name: "call_argument_missing", headers: authed, body: legacy("tools/call", `"name":"postal.lookup","arguments":{}`)},
		{name: "call_argument_wrong", headers: authed, body: legacy("tools/call", `"name":"calendar.holidays","arguments":{"year":1492}`)},
		{name: "call_argument_unknown", headers: authed, body: legacy("tools/call", `"name":"calendar.holidays","arguments":{"year":2026,"month":1}`)},
		{name: "call_arguments_text", headers: authed, body: legacy("tools/call", `"name":"calendar.holidays","arguments":"2026"`)},
		{name: "search_list", headers: authed, body: legacy("tools/list", ""), change: searching},
		{name: "search_list_modern", headers: era("tools/list"), body: modern("tools/list", ""), change: searching},
		{name: "search_initialize", headers: authed, body: initialize, change: searching},
		{name: "search_find", headers: authed, body: legacy("tools/call", `"name":"utility_find_tools","arguments":{"words":"which address belongs to a postal code","limit":2}`), change: searching},
		{name: "search_find_nothing", headers: authed, body: legacy("tools/call", `"name":"utility_find_tools","arguments":{"words":"weather"}`), change: searching},
		{name: "search_describe", headers: authed, body: legacy("tools/call", `"name":"utility_describe_tool","arguments":{"name":"postal_search"}`), change: searching},
		{name: "search_call", headers: authed, body: legacy("tools/call", `"name":"utility_call_tool","arguments":{"name":"postal_lookup","arguments":"{\"postal_code\":\"100-0001\"}"}`), change: searching},
		{name: "search_call_modern", headers: era("tools/call", "mcp-name", "utility_call_tool"), body: modern("tools/call", `"name":"utility_call_tool","arguments":{"name":"postal_lookup","arguments":"{\"postal_code\":\"100-0001\"}"}`), change: searching},
		{name: "search_unknown", headers: authed, body: legacy("tools/call", `"name":"postal.lokup","arguments":{}`), change: searching},
		{name: "call_composite_argument", headers: authed, body: legacy("tools/call", `"name":"utility.diagnose_mcp","arguments":{"x":1}`)},
		{name: "call_disabled_category", headers: with("x-api-key", limitedKey), body: legacy("tools/call", `"name":"calendar.holidays","arguments":{"year":2026}`)},
		{name: "call_disabled_tool", headers: with("x-api-key", limitedKey), body: legacy("tools/call", `"name":"convert_era","arguments":{"date":"2026-11-30"}`)},
		{name: "call_disabled_modern", headers: with("x-api-key", limitedKey, "mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call", "mcp-name", "convert.era"), body: modern("tools/call", `"name":"convert.era","arguments":{"date":"2026-11-30"}`)},
		{name: "call_diagnose", headers: authed, body: legacy("tools/call", `"name":"utility.diagnose_mcp"`)},
		{name: "call_progress", headers: keyed("accept", "application/json, text/event-stream"), body: legacy("tools/call", lookup+`,"_meta":{"progressToken":"p1"}`)},
		{name: "call_progress_modern", headers: era("tools/call", "mcp-name", "postal.lookup", "accept", "application/json, text/event-stream"), body: strings.Replace(modern("tools/call", lookup), `"_meta":{`, `"_meta":{"progressToken":7,`, 1)},
		{name: "call_progress_json_only", headers: keyed("accept", "application/json"), body: legacy("tools/call", lookup+`,"_meta":{"progressToken":"p1"}`)},
		{name: "call_progress_failure", headers: keyed("accept", "application/json, text/event-stream"), body: legacy("tools/call", unknown+`,"_meta":{"progressToken":"p1"}`)},
		{name: "call_stream_only", headers: keyed("accept", "text/event-stream"), body: legacy("tools/call", lookup)},
		{name: "call_stream_only_failure", headers: keyed("accept", "text/event-stream"), body: legacy("tools/call", unknown)},
		{name: "discover_legacy_stream_only", headers: keyed("accept", "text/event-stream"), body: legacy("server/discover", "")},
		{name: "list_limited", headers: with("x-api-key", limitedKey), body: legacy("tools/list", "")},
		{name: "list_modern", headers: era("tools/list"), body: modern("tools/list", "")},
		{name: "list_limited_canonical", headers: with("x-api-key", limitedKey), body: legacy("tools/list", ""), change: canonical},
		{name: "list_cursor", headers: authed, body: legacy("tools/list", `"cursor":"?"`)},
		{name: "list_cursor_modern", headers: era("tools/list"), body: modern("tools/list", `"cursor":"?"`)},
		{name: "list_cursor_null", headers: authed, body: legacy("prompts/list", `"cursor":null`)},
	}
}

func canonical(c *mcpserver.Config) { c.ToolNames = mcpserver.Canonical }

// TestExchanges holds every answer to its golden file: status, all headers, body, what the
// REST API was asked, and the line in the log.
func TestExchanges(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range exchanges() {
		t.Run(x.name, func(t *testing.T) {
			if seen[x.name] {
				t.Fatal("two exchanges have this name")
			}
			seen[x.name] = true
			change := []func(*mcpserver.Config){}
			if x.change != nil {
				change = append(change, x.change)
			}
			w := newWorld(t, change...)
			response := w.event(t.Context(), x.event())
			got := x.write(response, w.called(), w.log.String())
			compare(t, filepath.Join("testdata", "exchanges", x.name+".txt"), got)
			holdsRules(t, x, response)
			noSecrets(t, w, response)
		})
	}
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".txt"); !seen[name] {
			t.Errorf("%s belongs to no exchange", f)
		}
	}
}

// startedByProgress are the exchanges whose answer, where it is streamed, lacks the RateLimit header
// of its golden file: headers go out with the first news of progress, and what is left is known
// later. The result's _meta has it in any case. Nothing else may differ by door.
var startedByProgress = []string{"call_progress", "call_progress_canonical", "call_progress_modern"}

// TestDoors holds every answer to the same golden file whatever the payload format, and whether it
// is streamed or whole.
func TestDoors(t *testing.T) {
	for _, x := range exchanges() {
		t.Run(x.name, func(t *testing.T) {
			change := []func(*mcpserver.Config){}
			if x.change != nil {
				change = append(change, x.change)
			}
			file := filepath.Join("testdata", "exchanges", x.name+".txt")
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, change...)
			if got := x.write(w.second(t.Context(), x.event()), w.called(), w.log.String()); !bytes.Equal(got, want) {
				t.Errorf("in format 2.0 it differs from %s:\n%s", file, got)
			}
			w = newWorld(t, change...)
			answer := w.stream(t.Context(), x.event())
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(startedByProgress, x.name) {
				if answer.Headers["Ratelimit"] != "" {
					t.Error("the stream has the header that it is said to lack")
				}
				answer.Headers["Ratelimit"] = `"monthly";r=958;t=2592000`
			}
			response := events.APIGatewayProxyResponse{StatusCode: answer.StatusCode, Headers: answer.Headers, Body: string(body)}
			if got := x.write(response, w.called(), w.log.String()); !bytes.Equal(got, want) {
				t.Errorf("streamed it differs from %s:\n%s", file, got)
			}
		})
	}
}

// TestAllowedOriginsReadEverything: without CORS headers a browser hides an answer from its
// page, most of all the errors.
func TestAllowedOriginsReadEverything(t *testing.T) {
	const origin = "https://console.example"
	for _, x := range exchanges() {
		if slices.Contains(x.headers, "origin") {
			continue
		}
		x.headers = slices.Concat(x.headers, []string{"Origin", origin})
		r := newWorld(t).event(t.Context(), x.event())
		if r.Headers["Access-Control-Allow-Origin"] != origin || !strings.Contains(r.Headers["Access-Control-Expose-Headers"], "Retry-After") {
			t.Errorf("%s: HTTP %d with %v", x.name, r.StatusCode, r.Headers)
		}
	}
}

// holdsRules checks what no golden file may ever say.
func holdsRules(t *testing.T, x exchange, r events.APIGatewayProxyResponse) {
	t.Helper()
	if r.StatusCode == 405 && r.Headers["Allow"] != "POST" {
		t.Error("405 without Allow: POST")
	}
	if x.method == "HEAD" || r.StatusCode == 202 || r.StatusCode == 204 {
		if r.Body != "" {
			t.Errorf("a body with %d", r.StatusCode)
		}
		return
	}
	if strings.HasPrefix(r.Headers["Content-Type"], "text/event-stream") || x.name == "register" { // the one answer for OAuth clients
		return
	}
	if r.Headers["Content-Type"] != "application/json" {
		t.Errorf("content type %q", r.Headers["Content-Type"])
	}
	var body struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   *struct {
			Code    int64           `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil || body.Version != "2.0" || body.ID == nil {
		t.Fatalf("no JSON-RPC response: %v", err)
	}
	if (body.Result == nil) == (body.Error == nil) {
		t.Error("neither a result nor an error, or both")
	}
	if body.Error != nil && (body.Error.Code == 0 || body.Error.Message == "") {
		t.Errorf("error without code or message: %+v", body.Error)
	}
	if r.StatusCode >= 400 && body.Error == nil {
		t.Errorf("status %d with a result", r.StatusCode)
	}
}

// noSecrets: no key in any answer or log line, of which there is one.
func noSecrets(t *testing.T, w *world, r events.APIGatewayProxyResponse) {
	t.Helper()
	noSecretIn(t, w, r)
	if n := strings.Count(w.log.String(), `"msg":"mcp"`); n != 1 {
		t.Errorf("%d log lines for one request:\n%s", n, w.log.String())
	}
}

func noSecretIn(t *testing.T, w *world, r events.APIGatewayProxyResponse) {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"the answer": string(encoded), "the log": w.log.String()} {
		if strings.Contains(text, "SECRET") {
			t.Errorf("a key is in %s: %s", what, text)
		}
	}
}

func (x *exchange) event() events.APIGatewayProxyRequest {
	if x.method == "" {
		x.method = "POST"
	}
	e := events.APIGatewayProxyRequest{HTTPMethod: x.method, Path: x.path, Body: x.body, MultiValueHeaders: map[string][]string{}}
	for pair := range slices.Chunk(x.headers, 2) {
		e.MultiValueHeaders[pair[0]] = append(e.MultiValueHeaders[pair[0]], pair[1])
	}
	return e
}

// write puts request and answer into one readable text.
func (x *exchange) write(r events.APIGatewayProxyResponse, calls []string, log string) []byte {
	var b bytes.Buffer
	path := x.path
	if path == "" {
		path = "/mcp"
	}
	fmt.Fprintf(&b, "> %s %s\n", x.method, path)
	for pair := range slices.Chunk(x.headers, 2) {
		fmt.Fprintf(&b, "> %s: %s\n", pair[0], pair[1])
	}
	body := strings.ToValidUTF8(x.body, "�")
	if len(body) > 2000 {
		body = fmt.Sprintf("(%d bytes)", len(x.body))
	}
	fmt.Fprintf(&b, "> %s\n\n", body)
	for _, call := range slices.Sorted(slices.Values(calls)) { // the diagnosis calls at once
		fmt.Fprintf(&b, "REST %s\n", call)
	}
	for line := range strings.Lines(log) {
		fmt.Fprintf(&b, "LOG %s", line)
	}
	fmt.Fprintf(&b, "< %d\n", r.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(&b, "< %s: %s\n", name, r.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.MultiValueHeaders)) {
		fmt.Fprintf(&b, "< %s: %s\n", name, strings.Join(r.MultiValueHeaders[name], " | "))
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(r.Body), "", "  ") == nil {
		fmt.Fprintf(&b, "\n%s\n", pretty.String())
	} else {
		fmt.Fprintf(&b, "\n%s\n", r.Body)
	}
	return b.Bytes()
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./functions/internal/mcpserver -update", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; got:\n%s", file, got)
	}
}
