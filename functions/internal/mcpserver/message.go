package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/trace"
)

// message is what the guard knows of a JSON-RPC message. The SDK gets it in the form that
// encode writes, not as it came: so both read the same message, whatever a body says twice
// or in another case.
type message struct {
	// id is the raw JSON of a request's id; nil for a notification or a response.
	id     json.RawMessage
	method string
	params json.RawMessage
	// response says that it answers a request, of which a stateless server makes none.
	response bool
	// version is the protocol version in the request's _meta, since 2026-07-28.
	version string
	// progressToken is raw JSON; nil when the caller wants no progress.
	progressToken json.RawMessage
	// cursor asks a list for a later page.
	cursor string
	// name and arguments are those of a tool call, meta is _meta with its two parts that describe the
	// client; nil where they are left out.
	name                           string
	arguments, meta                json.RawMessage
	clientInfo, clientCapabilities json.RawMessage
	// unusual says that params has more than these, or one of them twice or of another type.
	unusual bool
	// traceParent and traceState are those of _meta.
	traceParent, traceState string
}

// isNotification says that nobody waits for an answer.
func (m *message) isNotification() bool {
	return m.id == nil && strings.HasPrefix(m.method, "notifications/")
}

// parseMessage reads one JSON-RPC message (https://www.jsonrpc.org/specification) with the
// rules that MCP adds: no batches, ids are strings or whole numbers and never null.
func parseMessage(body []byte) (*message, *refusal) {
	if !utf8.Valid(body) {
		return nil, malformed(jsonrpc.CodeParseError, nil, "The body is not UTF-8. Send one JSON-RPC message as UTF-8 encoded JSON.")
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil, malformed(jsonrpc.CodeParseError, nil, "The body is empty. Send one JSON-RPC message as JSON.")
	}
	if body[0] == '[' {
		return nil, malformed(jsonrpc.CodeInvalidRequest, nil, "The body is a JSON array. Batches are not served and nothing of it was run: send one message per request.")
	}
	if !json.Valid(body) {
		return nil, malformed(jsonrpc.CodeParseError, nil, "The body is not JSON. Send one JSON-RPC message as JSON.")
	}
	if body[0] != '{' {
		return nil, malformed(jsonrpc.CodeInvalidRequest, nil, "The body is JSON, but no object. Send one JSON-RPC message.")
	}
	return newMessage(body)
}

// newMessage takes the last member of each name, as the SDK does.
func newMessage(body []byte) (*message, *refusal) {
	var version, id, method, params, result, failure json.RawMessage
	members(body, func(name string, value json.RawMessage) {
		switch name {
		case "jsonrpc":
			version = value
		case "id":
			id = value
		case "method":
			method = value
		case "params":
			params = value
		case "result":
			result = value
		case "error":
			failure = value
		}
	})
	m := &message{params: params}
	if id != nil {
		if !validID(id) {
			return nil, malformed(jsonrpc.CodeInvalidRequest, nil, "id must be a string of at most 256 bytes, with its quotes, or a whole number between -(2^53-1) and 2^53-1, and not null.")
		}
		m.id = id
	}
	invalid := func(detail string) (*message, *refusal) {
		return nil, malformed(jsonrpc.CodeInvalidRequest, m.id, detail)
	}
	if text(version) != "2.0" {
		return invalid(`jsonrpc must be "2.0".`)
	}
	if method == nil {
		if m.id == nil || result == nil && failure == nil {
			return invalid("method is missing.")
		}
		m.response = true
		return m, nil
	}
	if m.method = text(method); m.method == "" {
		return invalid("method must be a string and not empty.")
	}
	if string(m.params) == "null" {
		m.params = nil
	}
	if m.params != nil && m.params[0] != '{' {
		return nil, malformed(jsonrpc.CodeInvalidParams, m.id, "params must be a JSON object.")
	}
	m.readParams()
	if m.progressToken != nil && !validID(m.progressToken) {
		return invalid("progressToken must be a string of at most 256 bytes, with its quotes, or a whole number between -(2^53-1) and 2^53-1.")
	}
	return m, nil
}

const (
	// maxInteger is the largest id that survives every JSON implementation.
	maxInteger = 1<<53 - 1
	// maxID bounds ids and progress tokens as they are written, in bytes: every answer and
	// every event repeats one.
	maxID = 256
)

func validID(raw json.RawMessage) bool {
	if len(raw) > maxID {
		return false
	}
	if raw[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) <= maxInteger
}

// readParams takes out of params what is needed here; what is malformed there is left to
// the SDK.
func (m *message) readParams() {
	if m.params == nil {
		return
	}
	var name, cursor json.RawMessage
	members(m.params, func(member string, value json.RawMessage) {
		var of *json.RawMessage
		switch member {
		case "name":
			of = &name
		case "arguments":
			of = &m.arguments
		case "cursor":
			of = &cursor
		case "_meta":
			of = &m.meta
		default:
			m.unusual = true
			return
		}
		m.unusual = m.unusual || *of != nil
		*of = value
	})
	m.name, m.cursor = text(name), text(cursor)
	m.unusual = m.unusual || cursor != nil || name != nil && m.name == "" ||
		m.arguments != nil && m.arguments[0] != '{' || m.meta != nil && m.meta[0] != '{'
	m.readMeta()
}

func (m *message) readMeta() {
	if m.meta == nil || m.meta[0] != '{' {
		return
	}
	var version, parent, state json.RawMessage
	members(m.meta, func(member string, value json.RawMessage) {
		switch member {
		case mcp.MetaKeyProtocolVersion:
			version = value
		case mcp.MetaKeyClientInfo:
			m.clientInfo = value
		case mcp.MetaKeyClientCapabilities:
			m.clientCapabilities = value
		case "progressToken":
			m.progressToken = value
		case trace.Parent:
			parent = value
		case trace.State:
			state = value
		}
	})
	m.version, m.traceParent, m.traceState = text(version), text(parent), text(state)
	if string(m.progressToken) == "null" {
		m.progressToken = nil
	}
}

// encode writes the message for the SDK.
func (m *message) encode() []byte {
	method, _ := reply.JSON(m.method) // strings always encode
	b := make([]byte, 0, len(m.params)+len(m.id)+len(method)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, m.id...)
	b = append(b, `,"method":`...)
	b = append(b, method...)
	if m.params != nil {
		b = append(b, `,"params":`...)
		b = append(b, m.params...)
	}
	return append(b, '}')
}

// modernSince is the first protocol version without a handshake: every request carries its
// version, and JSON-RPC errors have HTTP statuses.
const modernSince = "2026-07-28"

// versions are the protocol versions served, newest first. 2024-11-05 is not among them:
// its transport was another one.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
)

// era is one of the two ways of the protocol, or both.
type era uint8

const (
	legacy era = 1 << iota
	modern
)

// eraOf says which era a request belongs to, by its header and its _meta.
func eraOf(h http.Header, m *message) era {
	if h.Get(versionHeader) >= modernSince || m.version >= modernSince {
		return modern
	}
	return legacy
}

// checkVersion refuses a version that is not served, and a header that contradicts the
// message. What it lets pass the SDK checks further. The codes are those of 2026-07-28, for
// older requests too: their versions define none.
func checkVersion(h http.Header, m *message) *refusal {
	header := h.Get(versionHeader)
	if header != "" && m.version != "" && header != m.version {
		return invalid(http.StatusBadRequest, mcp.CodeHeaderMismatch, m.id,
			"The header MCP-Protocol-Version and the version in _meta differ. Send the same in both.")
	}
	asked := cmp.Or(header, m.version)
	if asked == "" || slices.Contains(versions, asked) {
		return nil
	}
	r := invalid(http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion, m.id,
		"This protocol version is not served. Use one of: "+strings.Join(versions, ", ")+".")
	r.data, _ = reply.JSON(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: reply.Cut(asked, maxVersion)})
	return r
}

// maxVersion is how much is repeated of a version that is not served, in characters.
const maxVersion = 40

// checkNotification holds a notification to the headers of its era. Requests are held to
// them by the SDK.
func checkNotification(h http.Header, m *message) *refusal {
	if eraOf(h, m) == modern && h.Get(methodHeader) != m.method {
		return invalid(http.StatusBadRequest, mcp.CodeHeaderMismatch, nil,
			"The header Mcp-Method is missing or differs from the message's method.")
	}
	return nil
}

// status is the HTTP status of a JSON-RPC error in reply to a well-formed request. Since 2026-07-28
// the specification names them; before, an error that the method itself gives is an
// ordinary answer.
func status(e era, code int64) int {
	switch {
	case e == legacy:
		return http.StatusOK
	case code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case code == jsonrpc.CodeInvalidParams:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
