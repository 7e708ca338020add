package mcpserver

import (
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// maxBody is the largest request body, in bytes. The largest argument is far below it.
const maxBody = 1 << 20

// guard refuses what can be refused without a message or a key.
func (s *server) guard(r *http.Request) *refusal {
	if refused := s.checkOrigin(r); refused != nil {
		return refused
	}
	if path := strings.TrimRight(r.URL.Path, "/"); !strings.HasSuffix(path, "/mcp") {
		return refuse(nil, problem.New(problem.RouteNotFound, ""))
	}
	switch r.Method {
	case http.MethodOptions:
		return nil
	case http.MethodPost:
		return checkContent(r.Header)
	}
	refused := refuse(nil, problem.New(problem.MethodNotAllowed, "This MCP server is stateless: only POST carries messages, there is no stream to open and no session to end."))
	refused.header = http.Header{"Allow": {http.MethodPost}}
	return refused
}

func checkContent(h http.Header) *refusal {
	if media, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || media != "application/json" {
		return refuseAs(http.StatusUnsupportedMediaType, nil, "Send the message as Content-Type: application/json.")
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
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
	return parseMessage(body)
}

// accepts reads Accept leniently: an absent header, or one that names neither
// form, takes JSON.
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

// Headers that scripts of an allowed origin may send; gateway.ExposedHeaders they may read.
const (
	corsSend = "Content-Type, Accept, Authorization, x-api-key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"
	// corsMaxAge is how long a browser may remember a preflight, in seconds.
	corsMaxAge = "600"
)

// checkOrigin protects against pages that make a browser call (DNS rebinding included): an
// Origin must be one that is allowed, or the API's own, whose page for key holders tries /mcp.
// Requests from outside a browser have none. Host is not checked: the gateway in front checks it,
// and behind a loopback adapter a public Host is right (modelcontextprotocol/go-sdk#857).
func (s *server) checkOrigin(r *http.Request) *refusal {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && (s.allowed(origins[0]) || own(r, origins[0])) {
		return nil
	}
	return refuse(nil, problem.New(problem.OriginNotAllowed,
		"Pages of this web origin may not call here. The owner of this server can add it to its allowed origins."))
}

// own: a page of this API, which needs no CORS headers to read the answer.
func own(r *http.Request, origin string) bool {
	event, ok := gateway.Event(r.Context())
	return ok && gateway.SameOrigin(event, origin)
}

func (s *server) allowed(origin string) bool {
	return slices.ContainsFunc(s.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) })
}

// shareWithOrigin lets the page read the answer, whatever it is.
func (s *server) shareWithOrigin(h http.Header, request http.Header) {
	h.Add("Vary", "Origin")
	if origin := request.Get("Origin"); origin != "" && s.allowed(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", gateway.ExposedHeaders)
	}
}

// preflight answers OPTIONS, which a browser sends without the key.
func preflight(w http.ResponseWriter, request http.Header) {
	h := w.Header()
	h.Set("Allow", http.MethodPost)
	if request.Get("Origin") != "" {
		h.Set("Access-Control-Allow-Methods", http.MethodPost)
		h.Set("Access-Control-Allow-Headers", corsSend+paramHeaders(request))
		h.Set("Access-Control-Max-Age", corsMaxAge)
	}
	w.WriteHeader(http.StatusNoContent)
}

// mostParamHeaders is how many bytes of the names that a preflight asks for are repeated.
const mostParamHeaders = 1024

// paramHeaders lists the Mcp-Param-… headers that a preflight asks for: there is no
// wildcard for a part of a name.
func paramHeaders(request http.Header) string {
	var b strings.Builder
	for name := range strings.SplitSeq(request.Get("Access-Control-Request-Headers"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if b.Len()+len(name) > mostParamHeaders {
			break
		}
		if strings.HasPrefix(name, "mcp-param-") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			b.WriteString(", " + name)
		}
	}
	return b.String()
}
