package laptop_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
)

// canary is a secret that a caller puts where it does not belong.
type canary struct {
	text string
	// core is a part of it that no escaping changes and that is early enough to survive clipping.
	core string
}

// canaries makes one of each kind: an API key, somebody else's token, a value of Authorization.
func canaries(t *testing.T) []canary {
	t.Helper()
	key, err := apikey.New()
	if err != nil {
		t.Fatal(err)
	}
	token, basic := rand.Text(), rand.Text()
	const digits = 16
	return []canary{
		{key.Reveal(), key.Reveal()[len(apikey.Prefix):][:digits]},
		{"ghp_" + token + "+/é\"<", token[:digits]},
		{"Basic " + basic + "==", basic[:digits]},
	}
}

var notToken = regexp.MustCompile(`[^A-Za-z0-9_]`)

// word is the canary where only a token of HTTP is possible.
func (c canary) word() string { return notToken.ReplaceAllString(c.text, "") }

// json is the canary as a JSON string.
func (c canary) json() string {
	text, _ := json.Marshal(c.text) // a string always encodes
	return string(text)
}

// place is somewhere in a request that a canary is put.
type place struct {
	name string
	make func(c canary) *http.Request
}

// fine are values that a tool takes, where any value of the schema's type would not do. With them
// a call gets further.
var fine = map[string]map[string]any{
	"calendar.holidays":              {"year": 2026.0},
	"calendar.is_business_day":       {"date": "2026-11-30"},
	"calendar.business_days":         {"date": "2026-11-30"},
	"calendar.business_days_between": {"from": "2026-11-01", "to": "2026-11-30"},
	"postal.lookup":                  {"postal_code": "1000001"},
	"convert.units":                  {"from": "m", "to": "km"},
}

// TestCanary plants secrets in every place of a request and searches all that is written: the
// functions' log, the access log, the database, and what other keys get to see.
func TestCanary(t *testing.T) {
	// This upstream answers with what it was sent, and not in HTTP.
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s %s\r\n\r\n", r.URL.Path, body)
		conn.Close()
	})
	access := &lockedBuffer{}
	s := startWithUpstream(t, upstream, manyADay, func(c *laptop.Config) { c.Gateway.AccessLog = access })
	owner, _ := s.newKey("demo")
	other, _ := s.newKey("demo")

	var planted []canary
	places := s.places(owner.Reveal())
	where := map[string]string{}
	var sending sync.WaitGroup
	atOnce := make(chan struct{}, 16)
	for _, p := range places {
		for _, c := range canaries(t) {
			planted = append(planted, c)
			where[c.core] = p.name
			request := p.make(c).WithContext(t.Context())
			atOnce <- struct{}{}
			sending.Go(func() {
				defer func() { <-atOnce }()
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Errorf("%s: %v", p.name, err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			})
		}
	}
	sending.Wait()
	planted = append(planted, canary{core: owner.Reveal()[len(apikey.Prefix):][:16]})
	where[planted[len(planted)-1].core] = "the caller's own key"
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	written := map[string]string{"log": s.log.String(), "access log": access.String(), "another key's answers": s.whatItSees(other.Reveal())}
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the database has no files: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		written["database "+filepath.Base(file)] = string(content)
	}
	if want := `"problem":"invalid_argument","parameter":"year"`; !strings.Contains(written["log"], want) {
		t.Errorf("the log does not say what was wrong with a call: %s", want)
	}
	for what, content := range written {
		if content == "" {
			t.Errorf("%s is empty: nothing was searched", what)
		}
		lower := strings.ToLower(content)
		for _, c := range planted {
			if i := strings.Index(lower, strings.ToLower(c.core)); i >= 0 {
				t.Errorf("%s holds what was planted in %s: …%s…", what, where[c.core], content[max(0, i-150):min(len(content), i+60)])
			}
		}
	}
	t.Logf("%d places, %d canaries, %d bytes searched", len(places), len(planted), len(strings.Join([]string{written["log"], written["access log"]}, "")))
}

// whatItSees is what a key gets from the operations that show it something stored.
func (s *service) whatItSees(key string) string {
	var seen strings.Builder
	for _, path := range []string{"/v1/user/usage", "/v1/user/tool-settings", "/v1/postal/1000001"} {
		a := s.call("GET", path, key, "")
		fmt.Fprintln(&seen, a.header, string(a.body))
	}
	for _, what := range []string{"stage", "invocations", "functions"} {
		a := s.local("GET", what, "")
		if a.status != http.StatusOK {
			s.t.Errorf("/_local/%s: %d", what, a.status)
		}
		fmt.Fprintln(&seen, a.header, string(a.body))
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"utility.diagnose_mcp","arguments":{}}}`,
	} {
		a := s.call("POST", "/mcp", key, body, "Accept", "application/json")
		fmt.Fprintln(&seen, a.header, string(a.body))
	}
	return seen.String()
}

// places lists every place of a request, for REST and for MCP.
func (s *service) places(key string) []place {
	api, err := contract.Default()
	if err != nil {
		s.t.Fatal(err)
	}
	var places []place
	for _, op := range api.Operations {
		if op.Function == "" || op.Function == "mcp" {
			continue
		}
		places = append(places, s.placesOfOperation(op, key)...)
	}
	places = append(places, s.placesOfAnyRequest(key)...)
	return append(places, s.placesOfMCP(key)...)
}

func (s *service) placesOfOperation(op *contract.Operation, key string) []place {
	var places []place
	names, required := s.arguments(op)
	rest := func(name string, args func(c canary) map[string]any, change func(*http.Request, canary)) {
		places = append(places, place{"REST " + op.ID + " " + name, func(c canary) *http.Request {
			all := maps.Clone(required)
			if args != nil {
				maps.Copy(all, args(c))
			}
			r, err := op.Request(s.base, all)
			if err != nil {
				s.t.Fatal(err)
			}
			r.Header.Set("x-api-key", key)
			if change != nil {
				change(r, c)
			}
			return r
		}})
	}
	query := func(name, value func(canary) string) func(*http.Request, canary) {
		return func(r *http.Request, c canary) {
			q := r.URL.Query()
			q.Add(name(c), value(c))
			r.URL.RawQuery = q.Encode()
		}
	}
	text, known := func(c canary) string { return c.text }, func(canary) string { return "x" }
	for _, name := range names {
		rest("argument "+name, func(c canary) map[string]any { return map[string]any{name: c.text} }, nil)
		rest("argument "+name+" in a list", func(c canary) map[string]any { return map[string]any{name: []any{c.text}} }, nil)
		rest("argument "+name+" in an object", func(c canary) map[string]any { return map[string]any{name: map[string]any{c.text: c.text}} }, nil)
		rest("argument "+name+" given again", nil, query(func(canary) string { return name }, text))
		rest("argument "+name+" in lower case", func(c canary) map[string]any {
			return map[string]any{name: strings.ToLower(strings.ReplaceAll(c.word(), "_", "-"))}
		}, nil)
	}
	rest("name of a query parameter", nil, query(text, known))
	rest("value of an unknown query parameter", nil, query(known, text))
	rest("further path", nil, func(r *http.Request, c canary) { r.URL = r.URL.JoinPath(url.PathEscape(c.text)) })
	rest("method", nil, func(r *http.Request, c canary) { r.Method = c.word() })
	if op.HasBody {
		rest("name of a member", func(c canary) map[string]any { return map[string]any{c.text: "x"} }, nil)
		rest("value of an unknown member", func(c canary) map[string]any { return map[string]any{"unknown": c.text} }, nil)
		for name, body := range map[string]func(canary) string{
			"not JSON": text, "a text": canary.json, "behind the object": func(c canary) string { return "{} " + c.text },
		} {
			rest("body "+name, nil, func(r *http.Request, c canary) { setBody(r, body(c)) })
		}
	}
	if op.Tool {
		for _, name := range append(names, "unknown") {
			places = append(places, s.mcp("MCP "+op.ID+" argument "+name, key, func(c canary) string {
				return toolCall(op.ID, fmt.Sprintf(`{%q:%s}`, name, c.json()))
			}))
		}
		places = append(places, s.mcp("MCP "+op.ID+" name of an argument", key, func(c canary) string {
			return toolCall(op.ID, fmt.Sprintf(`{%s:1}`, c.json()))
		}), s.mcp("MCP "+op.ID+" arguments", key, func(c canary) string { return toolCall(op.ID, c.json()) }))
	}
	return places
}

// arguments are the names of those that an operation takes, and values for the required ones.
func (s *service) arguments(op *contract.Operation) (names []string, required map[string]any) {
	schemas, err := op.Schemas()
	if err != nil {
		s.t.Fatal(err)
	}
	var input struct {
		Properties map[string]struct {
			Type any
			Enum []any
		}
		Required []string
	}
	if schemas.Input != nil {
		if err := json.Unmarshal(schemas.Input, &input); err != nil {
			s.t.Fatal(err)
		}
	}
	required = map[string]any{}
	for _, name := range input.Required {
		p := input.Properties[name]
		switch {
		case len(p.Enum) > 0:
			required[name] = p.Enum[0]
		case p.Type == "integer" || p.Type == "number":
			required[name] = 1.0
		case p.Type == "boolean":
			required[name] = true
		default:
			required[name] = "a"
		}
	}
	maps.Copy(required, fine[op.ID])
	return slices.Sorted(maps.Keys(input.Properties)), required
}

func setBody(r *http.Request, body string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	r.GetBody = nil
}

// placesOfAnyRequest are those that need no operation, and the headers. The canary in a header
// that holds a key is a key that is not taken.
func (s *service) placesOfAnyRequest(key string) []place {
	var places []place
	add := func(name, method, path, body string, change func(*http.Request, canary)) {
		places = append(places, place{name + " of " + method + " " + path, func(c canary) *http.Request {
			r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
			if err != nil {
				s.t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("x-api-key", key)
			change(r, c)
			return r
		}})
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, target := range [][3]string{
		{"GET", "/v1/postal/1000001", ""}, {"GET", "/v1/health", ""}, {"POST", "/register", `{}`}, {"POST", "/mcp", ping}, {"GET", "/nowhere", ""},
	} {
		method, path, body := target[0], target[1], target[2]
		for _, header := range []string{
			"x-api-key", "Authorization", "X-Amzn-Remapped-Authorization", "Proxy-Authorization", "Cookie", "User-Agent", "Referer",
			"Origin", "Accept", "Accept-Language", "Content-Type", "Content-Encoding", "X-Request-Id", "X-Amzn-Requestid",
			"X-Amzn-Trace-Id", "X-Forwarded-For", "Forwarded", "Traceparent", "Idempotency-Key", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name",
			"MCP-Protocol-Version", "Last-Event-Id", "Access-Control-Request-Headers",
		} {
			add("header "+header, method, path, body, func(r *http.Request, c canary) { r.Header.Set(header, c.text) })
			if header == "x-api-key" || header == "Authorization" {
				add("second "+header, method, path, body, func(r *http.Request, c canary) { r.Header.Add(header, "Bearer "+c.text) })
			}
			if header == "X-Amzn-Requestid" {
				add("word in "+header, method, path, body, func(r *http.Request, c canary) { r.Header.Set(header, c.word()) })
			}
		}
		add("name of a header", method, path, body, func(r *http.Request, c canary) { r.Header.Set(c.word(), "x") })
		add("Host", method, path, body, func(r *http.Request, c canary) { r.Host = c.word() })
		add("method", method, path, body, func(r *http.Request, c canary) { r.Method = c.word() })
		add("query", method, path, body, func(r *http.Request, c canary) { r.URL.RawQuery = url.QueryEscape(c.text) })
		add("raw query", method, path, body, func(r *http.Request, c canary) { r.URL.RawQuery = "%zz=" + c.word() })
		add("path", method, path, body, func(r *http.Request, c canary) { r.URL = r.URL.JoinPath(url.PathEscape(c.text)) })
		add("body", method, path, body, func(r *http.Request, c canary) { setBody(r, c.text) })
	}
	add("path alone", "GET", "/", "", func(r *http.Request, c canary) { r.URL.Path = "/" + c.text })
	add("local path", "GET", "/_local/", "", func(r *http.Request, c canary) { r.URL.Path = "/_local/" + c.text })
	return places
}

func toolCall(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

// mcp is a place in a message.
func (s *service) mcp(name, key string, message func(canary) string) place {
	return place{name, func(c canary) *http.Request {
		r, err := http.NewRequest("POST", s.base+"/mcp", strings.NewReader(message(c)))
		if err != nil {
			s.t.Fatal(err)
		}
		for n, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "x-api-key": key,
		} {
			r.Header.Set(n, v)
		}
		return r
	}}
}

// placesOfMCP has %s for the canary as a JSON string.
func (s *service) placesOfMCP(key string) []place {
	var places []place
	for name, format := range map[string]string{
		"version of JSON-RPC":  `{"jsonrpc":%s,"id":1,"method":"ping"}`,
		"id":                   `{"jsonrpc":"2.0","id":%s,"method":"ping"}`,
		"id of a tool call":    `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"postal.lookup","arguments":{"postal_code":"x"}}}`,
		"id in a list":         `{"jsonrpc":"2.0","id":[%s],"method":"ping"}`,
		"method":               `{"jsonrpc":"2.0","id":1,"method":%s}`,
		"notification":         `{"jsonrpc":"2.0","method":%s}`,
		"params":               `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":%s}`,
		"unknown member":       `{"jsonrpc":"2.0","id":1,"method":"ping","unknown":%s}`,
		"name of a member":     `{"jsonrpc":"2.0","id":1,"method":"ping",%s:1}`,
		"tool":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,"arguments":{}}}`,
		"arguments":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"utility.diagnose_mcp","arguments":{"a":%s}}}`,
		"member of params":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"utility.get_usage","arguments":{},%s:1}}`,
		"cursor":               `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%s}}`,
		"progress token":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"utility.diagnose_mcp","arguments":{},"_meta":{"progressToken":%s}}}`,
		"name in _meta":        `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{%s:1}}}`,
		"version in _meta":     `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%s}}}`,
		"version":              `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s,"capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`,
		"client":               `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%s,"version":"1"}}}`,
		"client's version":     `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":%s}}}`,
		"capabilities":         `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{%s:{}}},"clientInfo":{"name":"n","version":"1"}}}`,
		"capabilities as text": `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"n","version":"1"}}}`,
		"result":               `{"jsonrpc":"2.0","id":1,"result":%s}`,
		"error":                `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":%s}}`,
		"batch":                `[{"jsonrpc":"2.0","id":1,"method":%s}]`,
		"cancelled request":    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"r"}}`,
		"broken message":       `{"jsonrpc":"2.0","id":1,"method":%s`,
	} {
		places = append(places, s.mcp("MCP "+name, key, func(c canary) string { return fmt.Sprintf(format, c.json()) }))
	}
	return places
}
