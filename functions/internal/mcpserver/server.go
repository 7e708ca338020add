package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
)

// server is the handler of the MCP endpoint.
type server struct {
	Config
	tools *toolSet
	// offered are the methods that are served, and in which eras.
	offered map[string]era
	// sdk is the one SDK server of the process, implementation how it introduces itself. With extended
	// it has tools of its own.
	sdk            *mcp.Server
	implementation *mcp.Implementation
	extended       bool
	// isUsual picks the messages that are answered without a connection of the SDK: see inline.
	isUsual  func(http.Header, *message) bool
	dispatch dispatcher
	// plain answers as application/json, streaming as text/event-stream, for calls with
	// progress. Both serve the same SDK server.
	plain, streaming http.Handler
}

func newServer(c Config) (*server, error) {
	s := &server{Config: c, offered: offered, isUsual: isUsual, implementation: &mcp.Implementation{Name: "sekisho", Title: "Sekisho", Version: c.Version}}
	var err error
	if s.tools, err = newToolSet(c.API, c.ToolNames); err != nil {
		return nil, err
	}
	for _, t := range s.tools.all {
		if t.composite != nil && t.name != callTool && s.composite(t) == nil {
			return nil, fmt.Errorf("mcpserver: nothing serves the composite tool %s", t.name)
		}
	}
	s.dispatch = proxy{s}
	if c.Direct != nil {
		if s.dispatch, err = newDirect(s); err != nil {
			return nil, err
		}
	}
	// A broken contract is found here, and the lists of most keys are made before the first asks.
	list, mode, err := s.listFor(account.Settings{})
	if err != nil {
		return nil, err
	}
	if _, err := definitions(list); err != nil {
		return nil, err
	}
	s.sdk = s.newSDKServer(mode)
	get := func(*http.Request) *mcp.Server { return s.sdk }
	options := mcp.StreamableHTTPOptions{
		Stateless:    true,
		JSONResponse: true,
		// Both are checked by the guard, in the order and with the bodies that it promises.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        -1,
	}
	s.plain = mcp.NewStreamableHTTPHandler(get, &options)
	options.JSONResponse = false
	s.streaming = mcp.NewStreamableHTTPHandler(get, &options)
	return s, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := s.Now()
	x := &exchange{request: r}
	a := answer{gateway.Keep(w)}
	s.serve(a, x)
	s.finish(a, x)
	s.dispatch.end(x)
	x.endTrace()
	a.Send(w)
	s.logExchange(x, a.Status(), s.Now().Sub(started))
}

// serve answers a request whatever happens.
func (s *server) serve(a answer, x *exchange) {
	defer func() {
		if v := recover(); v != nil {
			logPanic(s.Log, v, debug.Stack())
			x.refuse(a, refuse(x.id, s.unclear(x, problem.Internal, "")))
		}
	}()
	if refused := s.answer(a, x); refused != nil {
		x.refuse(a, refused)
	}
}

// answer takes a request through all checks to its result, or says why it got no further.
func (s *server) answer(a answer, x *exchange) *refusal {
	r := x.request
	if s.isRegistration(r) {
		return register(a, x, s.API.Operation(Registration).Integration)
	}
	if refused := s.guard(r); refused != nil {
		return refused
	}
	if r.Method == http.MethodOptions {
		x.method = r.Method
		x.setOutcome(succeeded)
		preflight(a, r.Header)
		return nil
	}
	m, refused := readMessage(r)
	if refused != nil {
		return refused
	}
	x.method, x.id, x.progressToken = knownMethod(m.method), m.id, m.progressToken
	x.trace(m)
	r = x.request
	if refused := checkVersion(r.Header, m); refused != nil {
		return refused
	}
	if refused := s.authenticate(x); refused != nil {
		return refused
	}
	if m.method != "tools/call" { // of those, only the free ones are bounded: see serveTool
		if wait, ok := s.Free.Allow(x.key.Meter, s.Now()); !ok {
			return refuse(m.id, problem.Denial(problem.Throttled, nil, wait))
		}
	}
	if m.response || m.isNotification() {
		return accept(a, x, m)
	}
	if refused := s.checkRequest(r.Header, m); refused != nil {
		return refused
	}
	// Progress comes before the result, which only a stream can hold.
	_, stream := accepts(r.Header.Values("Accept"))
	if stream = stream && m.method == "tools/call" && m.progressToken != nil; !stream {
		if result := s.inline(x, m); result != nil {
			x.addHeaders(a.Header())
			respond(a, m, result)
			return nil
		}
	}
	return s.passOn(a, x, m, stream)
}

// accept takes a notification or a response, neither of which changes a stateless server.
func accept(a answer, x *exchange, m *message) *refusal {
	if m.isNotification() {
		if refused := checkNotification(x.request.Header, m); refused != nil {
			return refused
		}
	}
	x.setOutcome(succeeded)
	a.WriteHeader(http.StatusAccepted)
	return nil
}

// finish gives every answer its form, refusals included: within the contract's limit,
// without HTML escapes, as a stream where the caller takes nothing else, and readable for a
// page of an allowed origin. One that has gone out got it event by event.
func (s *server) finish(a answer, x *exchange) {
	if a.Started() {
		return
	}
	if wantsJSON, _ := accepts(x.request.Header.Values("Accept")); !wantsJSON {
		a.asStream()
	}
	if a.unescape() > s.API.Limits.AnswerBytes {
		x.refuse(a, refuse(x.id, s.unclear(x, problem.AnswerTooLarge, "")))
	}
	s.finishHeaders(a.Header(), x)
}

func (s *server) finishHeaders(h http.Header, x *exchange) {
	h.Del("Connection") // the connection is not the handler's, and API Gateway takes none
	if h.Get("Content-Type") == eventStream {
		h.Set("Content-Type", eventStream+"; charset=utf-8") // some clients guess Latin-1
	}
	s.shareWithOrigin(h, x.request.Header)
}

// unescape undoes the HTML escapes of the SDK's encoder, and returns the size that is left.
func (a answer) unescape() int {
	body := reply.Unescape(a.Body())
	a.SetBody(body)
	return len(body)
}

// offered are the methods that are served. The lists of what there is none of are empty: some
// clients drop a server that refuses them, though it declares tools only.
var offered = map[string]era{
	"initialize": legacy, "ping": legacy, "server/discover": modern,
	"tools/list": legacy | modern, "tools/call": legacy | modern,
	"prompts/list": legacy | modern, "resources/list": legacy | modern, "resources/templates/list": legacy | modern,
}

// served says in each era what to use instead of a method that is not offered.
var served = map[era]string{
	legacy: "initialize, ping, tools/list and tools/call", modern: "server/discover, tools/list and tools/call",
}

// needsParams are the methods that mean nothing without.
var needsParams = map[string]bool{"initialize": true, "tools/call": true}

// listen is never offered: its answer is a stream without an end, which no function can
// give.
const listen = "subscriptions/listen"

func (s *server) checkRequest(h http.Header, m *message) *refusal {
	e := eraOf(h, m)
	refused := func(code int64, detail string) *refusal { return invalid(status(e, code), code, m.id, detail) }
	switch {
	case m.id == nil:
		return malformed(jsonrpc.CodeInvalidRequest, nil, "id is missing: only notifications have none.")
	case s.offered[m.method]&e == 0:
		return refused(jsonrpc.CodeMethodNotFound, "This method is not offered. The server has tools only: use "+served[e]+".")
	case needsParams[m.method] && m.params == nil:
		return refused(jsonrpc.CodeInvalidParams, "params is missing.")
	case m.cursor != "" && strings.HasSuffix(m.method, "/list"):
		return refused(jsonrpc.CodeInvalidParams, "params.cursor is not one that this server gave: each of its lists is one page. Leave cursor out.")
	}
	return nil
}

// passOn lets the SDK answer, and makes a JSON-RPC error of an answer that is not JSON-RPC.
func (s *server) passOn(a answer, x *exchange, m *message, stream bool) *refusal {
	r := x.request
	inner := r.Clone(context.WithValue(r.Context(), exchangeKey{}, x))
	body := m.encode()
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	inner.Header.Set("Accept", "application/json, text/event-stream")
	inner.Header.Set("Content-Type", "application/json")
	inner.Header.Del("Last-Event-Id") // nothing can be resumed
	inner.Header.Del("Mcp-Session-Id")
	if stream {
		s.stream(a, x, inner)
	} else {
		s.plain.ServeHTTP(a, inner)
	}
	if !x.ended() {
		x.setOutcome("rejected") // by the SDK, before any code of ours saw it
	}
	if a.Started() {
		return s.missing(x, m)
	}
	x.addHeaders(a.Header())
	refused := a.repair(r.Context(), m)
	if refused == nil {
		return nil
	}
	if code := problem.Code(refused.outcome); code == problem.Timeout || code == problem.Internal {
		known := refuse(m.id, s.unclear(x, code, ""))
		known.status, known.code = refused.status, refused.code
		return known
	}
	return refused
}

// writing is kept of the caller's time to write the answer.
const writing = 500 * time.Millisecond

// deadline is until when a call may last: the function's own deadline, with reserve left after it.
// Where there is none, as outside Lambda, it is that of a function with this timeout. An error means
// that no time is left to start.
func deadline(ctx context.Context, timeout, reserve time.Duration) (time.Time, error) {
	now := time.Now()
	until, ok := ctx.Deadline()
	if !ok {
		until = now.Add(timeout)
	}
	until = until.Add(-reserve)
	if !until.After(now) {
		return until, errors.New("no time left for a call")
	}
	return until, nil
}
