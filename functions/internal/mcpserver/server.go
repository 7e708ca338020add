package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// maxBody is the largest request body, in bytes. The largest argument is far below it.
const maxBody = 1 << 20

// server is the handler of the MCP endpoint.
type server struct {
	Config
	tools *toolSet
	// names replaces the contract's names of tools in a text by those of the list.
	names *strings.Replacer
	// plain answers as application/json, streaming as text/event-stream, for calls with
	// progress. Both serve the same SDK server.
	plain, streaming http.Handler
}

func newServer(c Config) (*server, error) {
	s := &server{Config: c}
	var err error
	if s.tools, err = newToolSet(c.API, c.ToolNames); err != nil {
		return nil, err
	}
	s.names = s.tools.renamer(c.ToolNames)
	inner := s.newSDKServer()
	get := func(*http.Request) *mcp.Server { return inner }
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

// exchange is what is known of one HTTP request by its end, for the log.
type exchange struct {
	requestID, keyID, method string
	call                     *call
	outcome                  string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := s.Now()
	x := &exchange{requestID: requestID(r.Context())}
	a := answer{gateway.Keep(w)}
	s.serve(a, r, x)
	s.shareWithOrigin(a.Header(), r.Header)
	a.Header().Del("Connection") // the connection is not the handler's, and API Gateway takes none
	a.Send(w)
	s.logExchange(x, a.Status(), s.Now().Sub(started))
}

// serve answers a request whatever happens.
func (s *server) serve(a answer, r *http.Request, x *exchange) {
	defer func() {
		if v := recover(); v != nil {
			logPanic(s.Log, v, debug.Stack())
			a.Reset()
			x.refuse(a, refuse(nil, problem.New(problem.Internal, "")))
		}
	}()
	if refused := s.guard(a, r); refused != nil {
		x.refuse(a, refused)
		return
	}
	if a.Status() != 0 { // a preflight
		x.method, x.outcome = "OPTIONS", "ok"
		return
	}
	m, refused := readMessage(r)
	if refused == nil {
		x.method = knownMethod(m.method)
		refused = checkVersion(r.Header, m)
	}
	if refused != nil {
		x.refuse(a, refused)
		return
	}
	secret, key, refused := s.authenticate(r.Context(), r.Header, m.id)
	x.keyID = key.ID
	if refused != nil {
		x.refuse(a, refused)
		return
	}
	x.call = &call{request: r, key: key, secret: secret}
	s.dispatch(a, r, m, x)
}

func (x *exchange) refuse(a answer, r *refusal) {
	x.outcome = r.outcome
	r.write(a)
}

// guard answers what needs neither a message nor a key.
func (s *server) guard(a answer, r *http.Request) *refusal {
	if refused := s.checkOrigin(r.Header); refused != nil {
		return refused
	}
	if path := strings.TrimRight(r.URL.Path, "/"); !strings.HasSuffix(path, "/mcp") {
		return refuse(nil, problem.New(problem.RouteNotFound, ""))
	}
	switch r.Method {
	case http.MethodPost:
	case http.MethodOptions:
		preflight(a, r.Header)
		return nil
	default:
		refused := refuse(nil, problem.New(problem.MethodNotAllowed, "This MCP server is stateless: only POST carries messages, there is no stream to open and no session to end."))
		refused.header = http.Header{"Allow": {http.MethodPost}}
		return refused
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return refuseAs(http.StatusUnsupportedMediaType, nil, "Send the message as Content-Type: application/json.")
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refuseAs(http.StatusUnsupportedMediaType, nil, "Send the message without Content-Encoding.")
	}
	return nil
}

func readMessage(r *http.Request) (*message, *refusal) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, refuseAs(http.StatusBadRequest, nil, "The body could not be read to its end.")
	}
	if len(body) > maxBody {
		return nil, refuse(nil, problem.New(problem.TooLarge, "The body is larger than 1 MiB."))
	}
	m, f := parseMessage(body)
	if f != nil {
		return nil, invalid(http.StatusBadRequest, f.code, f.id, f.detail)
	}
	return m, nil
}

// dispatch answers an authenticated message. Notifications and responses have nothing to
// tell a stateless server: they are accepted, and that is all.
func (s *server) dispatch(a answer, r *http.Request, m *message, x *exchange) {
	switch {
	case m.response, m.id == nil && strings.HasPrefix(m.method, "notifications/"):
		if refused := checkNotification(r.Header, m); refused != nil && !m.response {
			x.refuse(a, refused)
			return
		}
		x.outcome = "ok"
		a.WriteHeader(http.StatusAccepted)
		return
	}
	if refused := s.checkRequest(r, m); refused != nil {
		x.refuse(a, refused)
		return
	}
	s.passOn(a, r, m, x)
}

// offered are the methods that are served.
var offered = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "tools/list": true, "tools/call": true,
}

// needsParams are those of them that mean nothing without.
var needsParams = map[string]bool{"initialize": true, "tools/call": true}

// listen is never offered: its answer is a stream without an end, which no function can
// give.
const listen = "subscriptions/listen"

func (s *server) checkRequest(r *http.Request, m *message) *refusal {
	isModern := modern(r.Header.Get(versionHeader), m)
	switch {
	case m.id == nil:
		return invalid(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, nil, "id is missing: only notifications have none.")
	case !offered[m.method] && (s.Extend == nil || m.method == listen || strings.HasPrefix(m.method, "notifications/")):
		code := int64(jsonrpc.CodeMethodNotFound)
		return invalid(status(isModern, code), code, m.id, "This method is not offered. The server has tools only: tools/list, tools/call, and initialize, ping or server/discover.")
	case needsParams[m.method] && m.params == nil:
		code := int64(jsonrpc.CodeInvalidParams)
		return invalid(status(isModern, code), code, m.id, "params is missing.")
	}
	return nil
}

// passOn lets the SDK answer, and makes a proper answer of what is none.
func (s *server) passOn(a answer, r *http.Request, m *message, x *exchange) {
	inner := r.Clone(context.WithValue(r.Context(), callKey{}, x.call))
	body := m.encode()
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	wantsJSON, wantsStream := accepts(r.Header.Values("Accept"))
	inner.Header.Set("Accept", "application/json, text/event-stream")
	inner.Header.Set("Content-Type", "application/json")
	inner.Header.Del("Last-Event-Id") // nothing can be resumed
	inner.Header.Del("Mcp-Session-Id")
	if wantsStream && s.mayNotify(m) {
		s.streaming.ServeHTTP(a, inner)
	} else {
		s.plain.ServeHTTP(a, inner)
	}
	x.outcome = x.call.outcome()
	x.call.addHeaders(a.Header())
	if refused := a.repair(r.Context(), m); refused != nil {
		a.Reset()
		x.refuse(a, refused)
	}
	if !wantsJSON {
		a.asStream()
	}
}

// mayNotify says whether notifications may come before the result.
func (s *server) mayNotify(m *message) bool {
	return m.method == "tools/call" && (m.progress || len(s.ExtendStreams) > 0 && slices.Contains(s.ExtendStreams, m.name()))
}

// accepts reads Accept leniently: what is absent, or names neither form, takes JSON; only
// who names a form gets no other.
func accepts(values []string) (json, stream bool) {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*", "*":
				json, stream = true, true
			}
		}
	}
	if len(values) == 0 {
		return true, true
	}
	return json || !stream, stream
}

// reserve is kept of the caller's time to write the answer.
const reserve = 500 * time.Millisecond

// deadline is until when a call to the REST API may last. longest is what the contract gives
// this function, a second less than API Gateway waits: a longer timeout, deployed by hand,
// would change nothing. An error means that no time is left to begin.
func deadline(ctx context.Context, longest time.Duration) (time.Time, error) {
	now := time.Now()
	until := now.Add(longest)
	if d, ok := ctx.Deadline(); ok && d.Add(-reserve).Before(until) {
		until = d.Add(-reserve)
	}
	if !until.After(now) {
		return until, errors.New("no time left for a call")
	}
	return until, nil
}
