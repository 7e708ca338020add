package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
)

// whole is the whole service, with one key that has no limit.
type whole struct {
	t    *testing.T
	api  *contract.API
	base string
	key  string
}

func startWhole(t *testing.T) *whole {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	plans := account.Plans{"all": usage.NoLimits}
	ring := account.Keyring{Store: db.Accounts(), Plans: plans, Now: time.Now}
	if _, err := ring.CreateUser(t.Context(), "user", "all"); err != nil {
		t.Fatal(err)
	}
	secret, _, err := ring.CreateKey(t.Context(), "user", "")
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(floods))
	env := map[string]string{boot.Plans: plans.String(), boot.Backend: backend.Settings{
		URL: upstream.URL, Private: true, PerDay: map[string]int{"external.publish_content": 1000},
	}.String()}
	server := httptest.NewUnstartedServer(nil)
	service, err := laptop.New(laptop.Config{
		Gateway:   apigateway.Config{Domain: server.Listener.Addr().String(), Stage: "local"},
		Functions: laptop.Defaults(env), Stores: db,
		Log: io.Discard, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = service.Server().Handler
	server.Start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := service.Close(ctx); err != nil {
			t.Error(err)
		}
		upstream.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &whole{t: t, api: api, base: server.URL, key: secret.Reveal()}
}

// floods is an upstream whose answers have the size and the filling that a path asks for:
// /stats/a-100000-lt.
func floods(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		name = string(body)
	}
	for filling, text := range fillings {
		for _, size := range upstreamSizes {
			if strings.Contains(name, fmt.Sprintf("-%d-%s", size, filling)) {
				w.Header().Set("Content-Type", "application/json")
				encoded, _ := reply.JSON(strings.Repeat(text, size))
				_, _ = fmt.Fprintf(w, `{"a":%s}`, encoded)
				return
			}
		}
	}
	_, _ = io.WriteString(w, "{}")
}

// fillings are what grows most on the way: by HTML escapes, by JSON's own, twice over in a
// string within a string, and by three and four bytes a character.
var fillings = map[string]string{"lt": "<", "quote": `"`, "control": "\x01", "separator": "\u2028", "kana": "ガ", "kanji": "𠮷", "plain": "x"}

var upstreamSizes = []int{10_000, 60_000, 130_000, 450_000}

// attempts are arguments that make answers of an operation long: each string in turn as long
// as its schema allows and beyond, of each filling, with the rest as the examples have it.
func (w *whole) attempts(op *contract.Operation) []map[string]any {
	w.t.Helper()
	schemas, err := op.Schemas()
	if err != nil {
		w.t.Fatal(err)
	}
	var input struct {
		Properties map[string]struct {
			Type      string
			MaxLength int
			Maximum   float64
			Enum      []any
		}
	}
	if err := json.Unmarshal(schemas.Input, &input); err != nil {
		w.t.Fatal(err)
	}
	good := map[string]any{"year": 2026.0, "date": "2026-11-30", "days": 5.0, "from": "2026-01-01", "to": "2026-11-30",
		"postal_code": "100-0001", "address": "市", "limit": 100.0, "value": 1e300, "resource_id": "demo", "slug": "demo", "text": "a"}
	switch op.ID {
	case "convert.units":
		good["from"], good["to"] = "m", "km"
	case "convert.width":
		good["to"] = "half"
	}
	base := map[string]any{}
	for name := range input.Properties {
		if value, ok := good[name]; ok {
			base[name] = value
		}
	}
	all := []map[string]any{base}
	for name, property := range input.Properties {
		for filling, text := range fillings {
			lengths := []int{property.MaxLength, property.MaxLength + 1}
			if property.Type != "string" {
				lengths = []int{1000}
			}
			if name == "resource_id" || name == "slug" {
				lengths = nil
				for _, size := range upstreamSizes {
					all = append(all, changed(base, name, fmt.Sprintf("a-%d-%s", size, filling)))
				}
			}
			for _, n := range lengths {
				all = append(all, changed(base, name, strings.Repeat(text, n)))
			}
		}
		for _, choice := range property.Enum {
			for _, text := range fillings {
				if input.Properties["text"].MaxLength > 0 {
					all = append(all, changed(changed(base, name, choice), "text", strings.Repeat(text, input.Properties["text"].MaxLength)))
				}
			}
		}
	}
	return all
}

func changed(args map[string]any, name string, value any) map[string]any {
	args = maps.Clone(args)
	args[name] = value
	return args
}

// send returns status and body of the answer.
func (w *whole) send(r *http.Request) (int, []byte) {
	w.t.Helper()
	r.Header.Set("x-api-key", w.key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, body
}

func (w *whole) rpc(body string, headers ...string) (int, []byte) {
	w.t.Helper()
	r, err := http.NewRequest("POST", w.base+"/mcp", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return w.send(r)
}

// tooLarge finds the code, and not upstream_answer_too_large.
var tooLarge = regexp.MustCompile(`"answer_too_large`)

// TestNoAnswerPassesTheLimit: whatever is asked, over REST or MCP, no answer is larger than
// the figure that the worst hour is reckoned with. A call has the same outcome through both
// doors, and what our own tools are asked for within their limits is answered.
func TestNoAnswerPassesTheLimit(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	largest := map[string]int{}
	note := func(what string, status int, body []byte) {
		largest[what] = max(largest[what], len(body))
		if len(body) > w.api.Limits.AnswerBytes {
			t.Errorf("%s: an answer of %d bytes", what, len(body))
		}
		if status >= 400 && !bytes.Contains(body, []byte(`"hint":`)) {
			t.Errorf("%s: a bare %d: %.300s", what, status, body)
		}
	}
	id := `"` + strings.Repeat("<", 254) + `"`
	for _, message := range []string{legacy("tools/list", ""), legacy("tools/call", `"name":"utility_diagnose_mcp"`)} {
		status, body := w.rpc(message)
		note(message, status, body)
	}
	for _, op := range w.api.Operations {
		if op.Function == "" || op.Function == "mcp" {
			continue
		}
		for _, args := range w.attempts(op) {
			encoded, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			r, err := op.Request(w.base, maps.Clone(args))
			if err != nil {
				t.Fatal(err)
			}
			status, body := w.send(r)
			note("REST "+op.ID, status, body)
			if !op.Tool {
				continue
			}
			status, overMCP := w.rpc(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+op.ID+`","arguments":`+string(encoded)+`,"_meta":{"progressToken":`+id+`}}}`, "Accept", "text/event-stream")
			note("MCP "+op.ID, status, overMCP)
			refused, refusedMCP := tooLarge.Match(body), tooLarge.Match(overMCP)
			if refused != refusedMCP {
				t.Errorf("%s %.80s: too large over REST: %v, over MCP: %v", op.ID, encoded, refused, refusedMCP)
			}
			if refused && op.Category != "external" {
				t.Errorf("%s %.80s: our own answer is too large", op.ID, encoded)
			}
			if refused && bytes.Contains(encoded, []byte("-130000-lt")) {
				t.Errorf("%s %.80s: too large, so < was escaped on the way", op.ID, encoded)
			}
		}
	}
	r, err := w.api.Operation("external.publish_content").Request(w.base, map[string]any{"slug": "b-450000-plain"})
	if err != nil {
		t.Fatal(err)
	}
	if status, body := w.send(r); status != 422 || !bytes.Contains(body, []byte("was carried out")) {
		t.Errorf("a publication with a large answer: HTTP %d %s", status, body)
	}
	for _, what := range slices.Sorted(maps.Keys(largest)) {
		t.Logf("%-45s %7d", what, largest[what])
	}
}

// TestRefusalsAreShort: what repeats a caller in a refusal is short, wherever it was sent.
func TestRefusalsAreShort(t *testing.T) {
	t.Parallel()
	const most = 4 << 10
	w := startWhole(t)
	for filling, text := range fillings {
		quoted, _ := json.Marshal(strings.Repeat(text, 10_000))
		long := string(quoted)
		header := url.QueryEscape(strings.Repeat(text, 500))
		modernMeta := strings.Replace(modernMeta, `"2026-07-28"`, long, 1)
		for what, c := range map[string]struct {
			body    string
			headers []string
		}{
			"id":               {`{"jsonrpc":"2.0","id":` + long + `,"method":"ping"}`, nil},
			"id of a response": {`{"jsonrpc":"2.0","id":` + long + `,"result":{}}`, nil},
			"jsonrpc":          {`{"jsonrpc":` + long + `,"id":1,"method":"ping"}`, nil},
			"method":           {`{"jsonrpc":"2.0","id":1,"method":` + long + `}`, nil},
			"notification":     {`{"jsonrpc":"2.0","method":` + long + `}`, nil},
			"params":           {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + long + `}`, nil},
			"cursor":           {legacy("tools/list", `"cursor":`+long), nil},
			"tool":             {legacy("tools/call", `"name":`+long), nil},
			"argument":         {legacy("tools/call", `"name":"postal_lookup","arguments":{`+long+`:1}`), nil},
			"value":            {legacy("tools/call", `"name":"postal_lookup","arguments":{"postal_code":`+long+`}`), nil},
			"arguments":        {legacy("tools/call", `"name":"postal_lookup","arguments":`+long), nil},
			"progress token":   {legacy("tools/call", `"name":"utility_get_usage","_meta":{"progressToken":`+long+`}`), []string{"Accept", "text/event-stream"}},
			"two tokens":       {legacy("tools/call", `"name":"utility_get_usage","_meta":{"progressToken":`+long+`},"_meta":{"progressToken":1}`), []string{"Accept", "text/event-stream"}},
			"protocol version": {legacy("initialize", `"protocolVersion":`+long+`,"capabilities":{},"clientInfo":{"name":`+long+`,"version":`+long+`}`), nil},
			"version in _meta": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, nil},
			"version header":   {ping, []string{"MCP-Protocol-Version", header}},
			"method header":    {modern("tools/list", ""), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", header}},
			"name header":      {modern("tools/call", lookup), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", header}},
			"name in modern":   {modern("tools/call", `"name":`+long), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "a"}},
			"origin":           {ping, []string{"Origin", header}},
			"content type":     {ping, []string{"Content-Type", header}},
			"accept":           {ping, []string{"Accept", header}},
			"session":          {ping, []string{"Mcp-Session-Id", header, "Last-Event-Id", header}},
		} {
			if status, body := w.rpc(c.body, c.headers...); len(body) > most {
				t.Errorf("%s of %s: HTTP %d, %d bytes: %.300s", what, filling, status, len(body), body)
			}
		}
		for _, path := range []string{"/v1/calendar/holidays?year=" + header, "/v1/calendar/holidays?" + header + "=1", "/v1/postal/" + header, "/v1/" + header, "/v1/external/stats/" + header} {
			r, err := http.NewRequest("GET", w.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if status, body := w.send(r); len(body) > most {
				t.Errorf("GET %.60s: HTTP %d, %d bytes", path, status, len(body))
			}
		}
	}
}
