package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/mcpserver"
	"sekisho/tests/bench"
)

// hop is a REST API that answers at once: what a tool asks, the same for every server compared.
type hop struct{}

func (hop) RoundTrip(q *http.Request) (*http.Response, error) {
	const body = `{"postal_code":"1000001","formatted":"100-0001","addresses":[{"prefecture":"東京都","city":"千代田区","town":"千代田","prefecture_kana":"トウキョウト","city_kana":"チヨダク","town_kana":"チヨダ"}]}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: q,
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}, nil
}

const api = "http://api.invalid"

// lookUp is the tool of the servers that Sekisho is compared with.
func lookUp(ctx context.Context, client *http.Client, secret string, arguments json.RawMessage) (json.RawMessage, error) {
	var in struct {
		PostalCode string `json:"postal_code"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/v1/postal/"+url.PathEscape(in.PostalCode), nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("X-Api-Key", secret)
	a, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	return io.ReadAll(a.Body)
}

// era is a version of the protocol, and how its requests look.
type era struct {
	version string
	meta    string
	headers func(method, tool string) map[string]string
}

var eras = []era{
	{"2025-11-25", "", func(string, string) map[string]string { return nil }},
	{"2026-07-28", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
		func(method, tool string) map[string]string {
			named := map[string]string{"Mcp-Method": method}
			if tool != "" {
				named["Mcp-Name"] = tool
			}
			return named
		}},
}

// exchange is one request, made anew for each call as Lambda's adapter would.
type exchange struct {
	method string
	header http.Header
	body   string
	// want is in every good answer.
	want string
}

func (e era) exchange(secret, method, tool, params, want string) exchange {
	var members []string
	for _, m := range []string{params, e.meta} {
		if m != "" {
			members = append(members, m)
		}
	}
	x := exchange{method, http.Header{}, `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + strings.Join(members, ",") + `}}`, want}
	for name, value := range headersWith(secret) {
		x.header.Set(name, value)
	}
	x.header.Set("Accept", "application/json, text/event-stream")
	x.header.Set("Mcp-Protocol-Version", e.version)
	for name, value := range e.headers(method, tool) {
		x.header.Set(name, value)
	}
	return x
}

// answer is a ResponseWriter that keeps what is written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) Flush()                      {}

func (x exchange) with(h http.Handler) *answer {
	q, err := http.NewRequestWithContext(context.Background(), http.MethodPost, api+"/mcp", strings.NewReader(x.body))
	if err != nil {
		panic(err) // the URL is a constant
	}
	q.Header, q.RemoteAddr = x.header.Clone(), "203.0.113.9:443"
	a := &answer{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(a, q)
	return a
}

// rival is a server that is compared. prepare returns what asks it and gets its answer.
type rival struct {
	name string
	server
}

type server interface {
	prepare(r *run, x exchange) (ask func() string)
}

// served is asked by an HTTP request.
type served struct{ http.Handler }

func (s served) prepare(_ *run, x exchange) func() string {
	return func() string { return x.with(s).body.String() }
}

// invoked is asked by an event of API Gateway, in JSON.
type invoked struct{ *gateway.Function }

func (i invoked) prepare(r *run, x exchange) func() string {
	e := events.APIGatewayProxyRequest{Resource: "/mcp", Path: "/mcp", HTTPMethod: http.MethodPost, Body: x.body, Headers: map[string]string{}, MultiValueHeaders: x.header}
	for name, values := range x.header {
		e.Headers[name] = values[0]
	}
	e.RequestContext.Identity.SourceIP = "203.0.113.9"
	payload := r.encode(e)
	return func() string {
		answer, err := i.Invoke(r.Context(), payload)
		if err != nil {
			return err.Error()
		}
		return string(answer)
	}
}

// byEvent ends the names of rows that have Lambda's event and answer around the handler.
const byEvent = ", from Lambda's event"

// mcpLayer compares servers by the same request, which each answers with the same hop.
func mcpLayer(r *run) {
	secret, ours, function := r.sekisho()
	tools := r.toolsOf(ours, secret)
	bare := r.bareSDK(tools)
	rivals := []rival{
		{"bare SDK", served{bare}}, {"sekisho", served{ours}}, {"mcp-go", served{mcpGo(tools)}}, {"naive switch", served{naive(tools)}},
		{"bare SDK" + byEvent, invoked{gateway.Handler(bare, nil)}}, {"sekisho" + byEvent, invoked{function}},
	}
	type setting struct {
		name string
		env  map[string]string
	}
	settings := []setting{{"Go's defaults", nil}}
	if *which != "" { // planning takes longer than a test may
		settings = append(settings, setting{"deployed", r.deployed()["mcp"].runtimeOnly()})
	}
	for _, e := range eras {
		for _, x := range []exchange{
			e.exchange(secret, "tools/call", "postal_lookup", `"name":"postal_lookup","arguments":{"postal_code":"1000001"}`, "千代田"),
			e.exchange(secret, "tools/list", "", "", "postal_lookup"),
		} {
			for _, s := range settings {
				t := r.table("mcp "+x.method+" "+e.version+", "+s.name, mcpTitle(x.method, len(tools), s.env), bench.CPU, "÷ bare SDK", bench.Allocs, bench.Bytes)
				restore := tune(s.env)
				r.compare(t, rivals, x)
				restore()
			}
		}
	}
}

// compare measures those that can answer.
func (r *run) compare(t *bench.Table, rivals []rival, x exchange) {
	r.Helper()
	var ops []op
	for _, v := range rivals {
		ask := v.prepare(r, x)
		if got := ask(); !strings.Contains(got, x.want) || strings.Contains(strings.ReplaceAll(got, `\`, ""), `"isError":true`) {
			if strings.HasPrefix(v.name, "sekisho") || strings.HasPrefix(v.name, "bare SDK") {
				r.Fatalf("%s: %.300s", v.name, got)
			}
			t.Note("%s does not answer this: %.200s", v.name, got)
			continue
		}
		ops = append(ops, op{v.name, func() { ask() }})
	}
	r.perCall(t, ops)
	ratio := bench.Ratio{Column: "÷ bare SDK", Of: bench.CPU, To: "bare SDK"}
	t.Divide(ratio, "bare SDK", "sekisho", "mcp-go", "naive switch")
	ratio.To += byEvent
	t.Divide(ratio, "bare SDK"+byEvent, "sekisho"+byEvent)
}

func mcpTitle(method string, tools int, env map[string]string) string {
	title := "`" + method + "`, from the HTTP request to the answer: "
	if method == "tools/call" {
		title += "every tool makes one request to a REST API that answers at once."
	} else {
		title += fmt.Sprintf("the same %d tools.", tools)
	}
	if len(env) > 0 {
		title += " Go's runtime as Terraform sets it for mcp: " + strings.Join(pairs(env), " ") + "."
	}
	return title + " Sekisho also checks the key, the tool's settings and the arguments, and writes its log line. " +
		"Rows \"from Lambda's event\" have JSON around the request and the answer, the same for both, and are divided by each other."
}

// sekisho is the whole MCP layer, as its function builds it.
func (r *run) sekisho() (secret string, h http.Handler, function *gateway.Function) {
	r.Helper()
	described, err := contract.Default()
	r.must(err)
	one, err := newOneKey("large", nil)
	r.must(err)
	log, err := boot.NewLogger(boot.Map(nil), "mcp", io.Discard)
	r.must(err)
	config := mcpserver.Config{
		API: described, Authenticator: account.NewAuthenticator(one.Accounts(), time.Now, time.Hour), Log: log,
		BaseURL: func(*http.Request) (string, error) { return api, nil }, Client: &http.Client{Transport: hop{}},
	}
	h, err = mcpserver.New(config)
	r.must(err)
	function, err = mcpserver.Handler(config)
	r.must(err)
	return one.secret.Reveal(), h, function
}

// listed is a tool as tools/list has it.
type listed struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// toolsOf asks for the list, so that the others have the very same tools.
func (r *run) toolsOf(h http.Handler, secret string) []listed {
	r.Helper()
	var said struct {
		Result struct{ Tools []listed }
	}
	a := eras[0].exchange(secret, "tools/list", "", "", "").with(h)
	r.must(json.Unmarshal(a.body.Bytes(), &said))
	if len(said.Result.Tools) < 10 {
		r.Fatalf("too few tools: %s", a.body.String())
	}
	return said.Result.Tools
}

// bareSDK is the official SDK with nothing around it.
func (r *run) bareSDK(tools []listed) http.Handler {
	r.Helper()
	client := &http.Client{Transport: hop{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	for _, l := range tools {
		tool := &mcp.Tool{Name: l.Name, Title: l.Title, Description: l.Description, InputSchema: l.InputSchema, OutputSchema: l.OutputSchema}
		if l.Annotations != nil {
			r.must(json.Unmarshal(l.Annotations, &tool.Annotations))
		}
		server.AddTool(tool, func(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			body, err := lookUp(ctx, client, q.Extra.Header.Get("X-Api-Key"), q.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}, StructuredContent: body}, nil
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

// mcpGo is mark3labs/mcp-go in the same way.
func mcpGo(tools []listed) http.Handler {
	client := &http.Client{Transport: hop{}}
	server := mcpgoserver.NewMCPServer("mcp-go", "1", mcpgoserver.WithToolCapabilities(false))
	for _, l := range tools {
		tool := mcpgo.NewToolWithRawSchema(l.Name, l.Description, l.InputSchema)
		tool.RawOutputSchema = l.OutputSchema
		server.AddTool(tool, func(ctx context.Context, q mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			arguments, err := json.Marshal(q.Params.Arguments)
			if err != nil {
				return nil, err
			}
			body, err := lookUp(ctx, client, q.Header.Get("X-Api-Key"), arguments)
			if err != nil {
				return nil, err
			}
			return mcpgo.NewToolResultStructured(body, string(body)), nil
		})
	}
	return mcpgoserver.NewStreamableHTTPServer(server, mcpgoserver.WithStateLess(true))
}

// naive does what a call takes at the least: one decode, a switch, one encode. It checks nothing.
func naive(tools []listed) http.Handler {
	client := &http.Client{Transport: hop{}}
	all := struct {
		Tools []listed `json:"tools"`
	}{tools}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var in struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = json.Unmarshal(body, &in)
		}
		var result any = all
		if err == nil && in.Method == "tools/call" {
			var said json.RawMessage
			said, err = lookUp(q.Context(), client, q.Header.Get("X-Api-Key"), in.Params.Arguments)
			result = map[string]any{"content": []any{map[string]string{"type": "text", "text": string(said)}}, "structuredContent": said}
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": in.ID, "result": result})
	})
}

// tune sets this process' runtime as variables would set another's, until restore.
func tune(env map[string]string) (restore func()) {
	percent, limit, procs := 100, int64(math.MaxInt64), runtime.GOMAXPROCS(0)
	was := procs
	if env["GOGC"] == "off" {
		percent = -1
	} else if n, err := strconv.Atoi(env["GOGC"]); err == nil {
		percent = n
	}
	if n, ok := mebibytes(env["GOMEMLIMIT"]); ok {
		limit = n
	}
	if n, err := strconv.Atoi(env["GOMAXPROCS"]); err == nil {
		procs = n
	}
	oldPercent, oldLimit := debug.SetGCPercent(percent), debug.SetMemoryLimit(limit)
	runtime.GOMAXPROCS(procs)
	return func() {
		debug.SetGCPercent(oldPercent)
		debug.SetMemoryLimit(oldLimit)
		runtime.GOMAXPROCS(was)
	}
}
