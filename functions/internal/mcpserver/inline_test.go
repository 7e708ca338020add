package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/problem"
)

// pair is one server twice: as it is, and with the SDK answering everything.
type pair struct {
	*world
	asIs, connected http.Handler
	usual           *int
}

func newPair(t testing.TB, change ...func(*mcpserver.Config)) *pair {
	p := &pair{world: newWorld(t, change...)}
	p.connected = mcpserver.Connected(p.handler)
	p.asIs, p.usual = mcpserver.Counting(p.handler)
	return p
}

// sameAnswers holds both to the same answer, byte by byte, to the same calls and to the same log.
func (p *pair) sameAnswers(t *testing.T, x exchange) {
	t.Helper()
	write := func(h http.Handler) []byte {
		p.t, p.handler = t, h
		p.log.reset()
		r := p.event(t.Context(), x.event())
		log := slices.Sorted(strings.Lines(p.log.String())) // the diagnosis calls at once
		return append(x.write(r, p.called(), strings.Join(log, "")), r.Body...)
	}
	if got, want := write(p.asIs), write(p.connected); !bytes.Equal(got, want) {
		t.Errorf("%s is answered\n%s\nand by the SDK\n%s", x.name, got, want)
	}
}

func (l *lockedBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

// hostile are params that could be read in more ways than one, beside usual ones.
func hostile() (params []string) {
	with := func(meta string) string { return lookup + `,"_meta":` + meta }
	for _, value := range []string{`{}`, `null`, `5`, `"x"`, `[]`, `{"a":1e999}`, `{"a":1e308}`, `{"a":-0}`, `{"a":"\ud800"}`, `{"a":"\u0041"}`, `{"a":"\u2028"}`,
		`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`, `{"progressToken":"p"}`, `{"progressToken":1e2}`, `{"a":{"a":{},"a":[]}}`,
		`{"io.modelcontextprotocol/protocolVersion":5}`, `{"io.modelcontextprotocol/protocolVersion":""}`, `{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}`,
		strings.Repeat(`{"a":`, 999) + `1` + strings.Repeat(`}`, 999)} {
		params = append(params, with(value), with(value)+`,"_meta":{}`, `"_meta":{},`+with(value))
	}
	for _, value := range []string{`{}`, `null`, `5`, `"x"`, `""`, `"{\"postal_code\":\"100-0001\"}"`, `[]`, `{"postal_code":"100-0001"}`, ` { "postal_code" : "100-0001" } `,
		`{"postal_code":"\u0031\u0030\u0030-0001"}`, `{"postal_code":"\ud800"}`, `{"postal_code":"<&>\u2028"}`, `{"postal_code":null}`, `{"postal_code":1e999}`,
		`{"postal_code":"100-0001","postal_code":"100-0002"}`, `{"Postal_Code":"100-0001"}`, `{"year":9007199254740993}`, strings.Repeat(`[`, 400) + strings.Repeat(`]`, 400)} {
		params = append(params, `"name":"postal.lookup","arguments":`+value, `"name":"calendar.holidays","arguments":`+value, `"arguments":{},"name":"postal.lookup","arguments":`+value)
	}
	for _, name := range []string{`"postal.lookup"`, `"postal_lookup"`, `"Postal.Lookup"`, `"postal\u002elookup"`, `""`, `null`, `5`, `{}`, `"dispatched"`, `"utility.call_tool"`, `"utility.get_usage"`, `"postal.lookup "`} {
		params = append(params, `"name":`+name, `"name":`+name+`,"name":"postal.lookup","arguments":{"postal_code":"100-0001"}`, `"Name":"postal.search","name":`+name)
	}
	for _, member := range []string{`"cursor":null`, `"cursor":""`, `"cursor":5`, `"task":{"ttl":1}`, `"inputResponses":{}`, `"inputResponses":5`, `"requestState":"x"`, `"requestState":5`, `"resultType":"x"`, `"\u006eame":"postal.search"`} {
		params = append(params, lookup+`,`+member, member+`,`+lookup, member)
	}
	return append(params, ``, lookup)
}

// clients are what a request of 2026-07-28 says of its client.
var clients = []string{
	`"io.modelcontextprotocol/clientCapabilities":{}`,
	`"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{}},"experimental":{"x":{}},"extensions":{"io.example/ui":{}}}`,
	`"io.modelcontextprotocol/clientCapabilities":{"roots":5}`,
	`"io.modelcontextprotocol/clientCapabilities":{"Roots":5,"roots":{}}`,
	`"io.modelcontextprotocol/clientCapabilities":{"sampling":null,"elicitation":[]}`,
	`"io.modelcontextprotocol/clientCapabilities":null`,
	`"io.modelcontextprotocol/clientCapabilities":[]`,
	`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientCapabilities":5`,
	`"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}`,
	`"io.modelcontextprotocol/clientInfo":null,"io.modelcontextprotocol/clientCapabilities":{}`,
	`"io.modelcontextprotocol/clientInfo":{"name":5},"io.modelcontextprotocol/clientCapabilities":{}`,
	`"io.modelcontextprotocol/clientInfo":{"NAME":5},"io.modelcontextprotocol/clientCapabilities":{}`,
	`"io.modelcontextprotocol/clientInfo":{"icons":[{"src":"a","sizes":"b"}]},"io.modelcontextprotocol/clientCapabilities":{}`,
	`"io.modelcontextprotocol/clientInfo":"a","io.modelcontextprotocol/clientCapabilities":{}`,
	`"io.modelcontextprotocol/logLevel":5,"io.modelcontextprotocol/clientCapabilities":{}`,
	`"progressToken":1,"io.modelcontextprotocol/clientCapabilities":{}`,
	`"a":1e999,"io.modelcontextprotocol/clientCapabilities":{}`,
}

// headerSets are the headers of both eras, and some that contradict.
var headerSets = [][]string{
	{}, {"mcp-protocol-version", "2025-03-26"}, {"mcp-protocol-version", "2025-11-25", "mcp-name", "x", "mcp-method", "y"}, {"mcp-protocol-version", ""},
	{"mcp-session-id", "s", "last-event-id", "1"}, {"accept", "text/event-stream"}, {"accept", "application/json"}, {"accept", "text/html"},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call", "mcp-name", "postal.lookup"},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call", "mcp-name", "postal_lookup", "mcp-param-postal_code", "5"},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call", "mcp-name", "=?base64?cG9zdGFsLmxvb2t1cA==?="},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call", "mcp-name", "postal.lookup", "mcp-name", "postal.search"},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "Tools/Call", "mcp-name", "postal.lookup"},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/list"},
	{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call"}, {"mcp-protocol-version", "2026-07-28"},
	{"mcp-protocol-version", "2025-11-25", "mcp-protocol-version", "2026-07-28"},
}

// ids are ways to write one, of which some come back in another.
var ids = []string{`1`, `0`, `-0`, `-1`, `01`, `1.0`, `1e3`, `9007199254740991`, `-9007199254740991`, `"a"`, `""`, `"1"`, `"<&>"`, `"\u0041"`, `"\u2028"`, `"é"`, `"\"\\"`, "\"\x7f\"", "\"\u2028\""}

// TestInlineAnswersAsTheSDK: a message that is answered without the SDK has the answer that the SDK
// gives, whatever the message, and the same calls are made for it.
func TestInlineAnswersAsTheSDK(t *testing.T) {
	p := newPair(t)
	sent := 0
	send := func(headers []string, body string) {
		sent++
		p.sameAnswers(t, exchange{name: body, headers: keyed(headers...), body: body})
	}
	for _, method := range []string{"tools/call", "tools/list"} {
		for _, params := range hostile() {
			send(nil, legacy(method, params))
			send(headerSets[8], modern(method, params))
			send(headerSets[13], modern(method, params))
		}
		for _, headers := range headerSets {
			send(headers, legacy(method, lookup))
			send(headers, modern(method, lookup))
			send(headers, modern(method, ""))
		}
		for _, client := range clients {
			for _, headers := range headerSets {
				send(headers, legacy(method, lookup+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+client+`}`))
			}
		}
		for _, id := range ids {
			send(nil, strings.Replace(legacy(method, lookup), `"id":1`, `"id":`+id, 1))
			send(headerSets[8], strings.Replace(modern(method, lookup), `"id":1`, `"id":`+id, 1))
		}
		send(nil, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)
		send(nil, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":null}`)
		send(nil, " {\n\"params\" : { "+lookup+" } ,\t\"method\":\"ping\",\"method\" : \""+method+"\", \"id\" : 1 , \"jsonrpc\":\"2.0\" } ")
	}
	if *p.usual < sent/10 || *p.usual > sent*9/10 {
		t.Errorf("of %d messages %d were answered without the SDK", sent, *p.usual)
	}
	for _, x := range exchanges() {
		change := []func(*mcpserver.Config){}
		if x.change != nil {
			change = append(change, x.change)
		}
		newPair(t, change...).sameAnswers(t, x)
	}
}

// TestInlineResultsAsTheSDK: so have results, whatever a call came to.
func TestInlineResultsAsTheSDK(t *testing.T) {
	quotas := http.Header{"RateLimit": {`"monthly";r=958;t=2592000`}, "RateLimit-Policy": {`"monthly";q=1000;w=2592000`}, "Retry-After": {"7"}}
	for name, rest := range map[string]http.HandlerFunc{
		"quota":       func(w http.ResponseWriter, r *http.Request) { setAll(w.Header(), quotas); answers(w, r) },
		"limited":     refuses(429, quotas, limited()),
		"failure":     refuses(500, nil, string(problem.New(problem.Internal, "").JSON())),
		"no JSON":     says(200, "text/html", "<html>"),
		"text":        says(200, "application/json", "{\"text\":\"<&> \u2028\u2029 \\u003c \\\\u003c \\ud800 \x7f é 千\", \"n\": 1.0e2}"),
		"redirect":    says(302, "application/json", `{}`),
		"too large":   says(200, "application/json", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`),
		"as large":    says(200, "application/json", `{"text":"`+strings.Repeat("<", 300<<10)+`"}`),
		"blank ended": says(200, "application/json", " {\n\"a\" : [ ] }\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.rest = rest
			for _, accept := range []string{"application/json", "text/event-stream"} {
				for _, tool := range []string{"postal.lookup", "utility.diagnose_mcp", "utility.get_usage"} {
					params := `"name":"` + tool + `"`
					if tool == "postal.lookup" {
						params = lookup
					}
					p.sameAnswers(t, exchange{headers: keyed("accept", accept), body: legacy("tools/call", params)})
					p.sameAnswers(t, exchange{headers: era("tools/call", "mcp-name", tool, "accept", accept), body: modern("tools/call", params)})
				}
			}
			if *p.usual == 0 {
				t.Error("none was answered without the SDK")
			}
		})
	}
	for _, client := range []http.RoundTripper{roundTripper(func(*http.Request) (*http.Response, error) { panic("boom") }), roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })} {
		p := newPair(t, func(c *mcpserver.Config) { c.Client = &http.Client{Transport: client} })
		p.log.reset()
		for _, body := range []string{legacy("tools/call", lookup), modern("tools/call", lookup)} {
			headers := authed
			if strings.Contains(body, "_meta") {
				headers = era("tools/call", "mcp-name", "postal.lookup")
			}
			p.sameOutcome(t, exchange{headers: headers, body: body})
		}
	}
}

// sameOutcome is sameAnswers without the log, which has the stacks of panics.
func (p *pair) sameOutcome(t *testing.T, x exchange) {
	t.Helper()
	var bodies []string
	for _, h := range []http.Handler{p.asIs, p.connected} {
		p.handler = h
		bodies = append(bodies, p.event(t.Context(), x.event()).Body)
	}
	if bodies[0] != bodies[1] {
		t.Errorf("answered\n%s\nand by the SDK\n%s", bodies[0], bodies[1])
	}
}

func says(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func setAll(h, from http.Header) {
	for name, values := range from {
		h.Set(name, values[0])
	}
}

// FuzzInline is TestInlineAnswersAsTheSDK for any message.
func FuzzInline(f *testing.F) {
	for i, params := range slices.Concat(hostile(), clients) {
		body := legacy("tools/call", params)
		if i%2 == 0 {
			body = modern("tools/call", params)
		}
		if len(body) < 1000 {
			f.Add([]byte(body), "2026-07-28", "tools/call", "postal.lookup")
			f.Add([]byte(body), "", "", "")
		}
	}
	p := newPair(f)
	f.Fuzz(func(t *testing.T, body []byte, version, method, name string) {
		if !utf8.Valid(body) || !json.Valid(body) {
			t.Skip() // refused before
		}
		headers := keyed("mcp-method", method, "mcp-name", name)
		if version != "" {
			headers = append(headers, "mcp-protocol-version", version)
		}
		p.sameAnswers(t, exchange{headers: headers, body: string(body)})
	})
}
