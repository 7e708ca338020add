package mcpserver

import (
	"net/http"
	"slices"
	"strings"

	"sekisho/functions/internal/problem"
)

// Headers that scripts of an allowed origin may send, and those that they may read.
const (
	corsSend   = "Content-Type, Accept, Authorization, x-api-key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"
	corsExpose = "Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate"
	// corsMaxAge is how long a browser may remember a preflight, in seconds.
	corsMaxAge = "600"
)

// checkOrigin protects against pages that make a browser call (DNS rebinding included): an
// Origin must be one that is allowed. Requests from outside a browser have none. Host is
// not checked: the gateway in front has its own, and behind a loopback adapter a public
// Host is right (modelcontextprotocol/go-sdk#857).
func (s *server) checkOrigin(h http.Header) *refusal {
	origins := h.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && s.allowed(origins[0]) {
		return nil
	}
	return refuse(nil, problem.New(problem.OriginNotAllowed,
		"Pages of this web origin may not call here. The owner of this server can add it to its allowed origins."))
}

func (s *server) allowed(origin string) bool {
	return slices.ContainsFunc(s.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) })
}

// shareWithOrigin lets the page read the answer, whatever it is.
func (s *server) shareWithOrigin(h http.Header, request http.Header) {
	h.Add("Vary", "Origin")
	if origin := request.Get("Origin"); origin != "" && s.allowed(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsExpose)
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

// paramHeaders lists the Mcp-Param-… headers that a preflight asks for: there is no
// wildcard for a part of a name.
func paramHeaders(request http.Header) string {
	var b strings.Builder
	for name := range strings.SplitSeq(request.Get("Access-Control-Request-Headers"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, "mcp-param-") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			b.WriteString(", " + name)
		}
	}
	return b.String()
}
