package mcpserver

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	// progress says that the caller gave a progress token.
	progress bool
}

// fault says why a body is no message that is served.
type fault struct {
	code   int64
	id     json.RawMessage
	detail string
}

// parseMessage reads one JSON-RPC message (https://www.jsonrpc.org/specification) with the
// rules that MCP adds: no batches, ids are strings or whole numbers and never null.
func parseMessage(body []byte) (*message, *fault) {
	if !utf8.Valid(body) {
		return nil, &fault{code: jsonrpc.CodeParseError, detail: "The body is not UTF-8. Send one JSON-RPC message as UTF-8 encoded JSON."}
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil, &fault{code: jsonrpc.CodeParseError, detail: "The body is empty. Send one JSON-RPC message as JSON."}
	}
	if body[0] == '[' {
		return nil, &fault{code: jsonrpc.CodeInvalidRequest, detail: "The body is a JSON array. Batches are not served and nothing of it was run: send one message per request."}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		if json.Valid(body) {
			return nil, &fault{code: jsonrpc.CodeInvalidRequest, detail: "The body is JSON, but no object. Send one JSON-RPC message."}
		}
		return nil, &fault{code: jsonrpc.CodeParseError, detail: "The body is not JSON. Send one JSON-RPC message as JSON."}
	}
	return newMessage(members)
}

func newMessage(members map[string]json.RawMessage) (*message, *fault) {
	m := &message{params: members["params"]}
	if raw, ok := members["id"]; ok {
		if !validID(raw) {
			return nil, &fault{code: jsonrpc.CodeInvalidRequest, detail: "id must be a string or a whole number between -(2^53-1) and 2^53-1, and not null."}
		}
		m.id = raw
	}
	invalid := func(detail string) (*message, *fault) {
		return nil, &fault{code: jsonrpc.CodeInvalidRequest, id: m.id, detail: detail}
	}
	if text(members["jsonrpc"]) != "2.0" {
		return invalid(`jsonrpc must be "2.0".`)
	}
	raw, ok := members["method"]
	if !ok {
		_, result := members["result"]
		_, failure := members["error"]
		if m.id == nil || !result && !failure {
			return invalid("method is missing.")
		}
		m.response = true
		return m, nil
	}
	if m.method = text(raw); m.method == "" {
		return invalid("method must be a string and not empty.")
	}
	if string(m.params) == "null" {
		m.params = nil
	}
	if m.params != nil && m.params[0] != '{' {
		return nil, &fault{code: jsonrpc.CodeInvalidParams, id: m.id, detail: "params must be a JSON object."}
	}
	m.readMeta()
	return m, nil
}

// maxInteger is the largest id that survives every JSON implementation.
const maxInteger = 1<<53 - 1

func validID(raw json.RawMessage) bool {
	if raw[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) <= maxInteger
}

// readMeta takes out of params._meta what the guard needs; what is malformed there is left
// to the SDK.
func (m *message) readMeta() {
	if m.params == nil {
		return
	}
	var params, meta map[string]json.RawMessage
	if json.Unmarshal(m.params, &params) != nil || json.Unmarshal(params["_meta"], &meta) != nil {
		return
	}
	m.version = text(meta[mcp.MetaKeyProtocolVersion])
	token, ok := meta["progressToken"]
	m.progress = ok && validID(token)
}

// name is that of the tool or prompt in params; empty where there is none.
func (m *message) name() string {
	var params map[string]json.RawMessage
	if json.Unmarshal(m.params, &params) != nil {
		return ""
	}
	return text(params["name"])
}

// encode writes the message for the SDK.
func (m *message) encode() []byte {
	method, _ := json.Marshal(m.method) // strings always encode
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

// text decodes a JSON string; anything else is empty.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
