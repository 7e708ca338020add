package mcpserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modernSince is the protocol version from which on there is no handshake: every request
// carries its version, and JSON-RPC errors have HTTP statuses.
const modernSince = "2026-07-28"

// versions are the protocol versions served, newest first. 2024-11-05 is not among them:
// its transport was another one.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
)

// modern says which era a request belongs to, by its header and its _meta.
func modern(header string, m *message) bool {
	return header >= modernSince || m.version >= modernSince
}

// checkVersion refuses a version that is not served, and a header that contradicts the
// message. What it lets pass the SDK checks further. The codes are those of 2026-07-28,
// for older requests too, which know none of their own.
func checkVersion(h http.Header, m *message) *refusal {
	header := h.Get(versionHeader)
	switch {
	case header != "" && m.version != "" && header != m.version:
		return invalid(http.StatusBadRequest, mcp.CodeHeaderMismatch, m.id,
			"The header MCP-Protocol-Version and the version in _meta differ. Send the same in both.")
	case header != "" && !slices.Contains(versions, header):
		r := invalid(http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion, m.id,
			"This protocol version is not served. Use one of: "+strings.Join(versions, ", ")+".")
		r.data, _ = json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: header})
		return r
	}
	return nil
}

// checkNotification holds a notification to the headers of its era. Requests are held to
// them by the SDK.
func checkNotification(h http.Header, m *message) *refusal {
	if modern(h.Get(versionHeader), m) && h.Get(methodHeader) != m.method {
		return invalid(http.StatusBadRequest, mcp.CodeHeaderMismatch, nil,
			"The header Mcp-Method is missing or differs from the message's method.")
	}
	return nil
}

// status is the HTTP status of a JSON-RPC error in reply to a well-formed request. Since 2026-07-28
// the specification names them; before, an error that the method itself gives is an
// ordinary answer.
func status(isModern bool, code int64) int {
	switch {
	case !isModern:
		return http.StatusOK
	case code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case code == jsonrpc.CodeInvalidParams:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
