package mcpserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Calls and lists are most of the traffic. A usual one that asks for no stream is answered here, with
// no connection of the SDK made for it, which costs several times the call itself. The SDK judges
// everything else: whatever it might refuse, or read in another way, is unusual.

// nameHeader repeats the tool of a call, since 2026-07-28.
const nameHeader = "Mcp-Name"

// isUsual says that the SDK takes a message for what is read of it here.
func isUsual(h http.Header, m *message) bool {
	if m.unusual || !isPlainID(m.id) || !isShallow(m.params) || !m.isDecodable() {
		return false
	}
	if eraOf(h, m) == legacy {
		return m.version == ""
	}
	return h.Get(versionHeader) == m.version && h.Get(methodHeader) == m.method &&
		(m.method != "tools/call" || h.Get(nameHeader) == m.name)
}

// isPlainID says that an ID comes back as it was sent. The SDK writes others in its own way: 1e3,
// or a text with escapes.
func isPlainID(id json.RawMessage) bool {
	if id[0] == '"' {
		for _, c := range id {
			if c < ' ' || c > '~' || c == '\\' {
				return false
			}
		}
		return true
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	return len(bytes.Trim(digits, "0123456789")) == 0 && (digits[0] != '0' || len(id) == 1)
}

// mostNested is fewer than the objects and arrays that the SDK takes within each other, which is 1,000.
const mostNested = 500

func isShallow(params json.RawMessage) bool {
	return bytes.Count(params, []byte("{"))+bytes.Count(params, []byte("[")) <= mostNested
}

// isDecodable says that the SDK can decode what it reads: _meta, and in 2026-07-28 all of params. There a
// request has to name the client's capabilities.
func (m *message) isDecodable() bool {
	if bytes.IndexByte(m.meta, '\\') >= 0 {
		return false
	}
	if m.version < modernSince {
		return m.meta == nil || decodes(m.meta, &map[string]any{})
	}
	return decodes(m.params, &map[string]any{}) && decodes(m.clientCapabilities, &mcp.ClientCapabilities{}) &&
		(m.clientInfo == nil || decodes(m.clientInfo, &mcp.Implementation{}))
}

func decodes(raw json.RawMessage, into any) bool {
	return raw != nil && raw[0] == '{' && json.Unmarshal(raw, into) == nil
}

// inline gives the result of a usual message that asks for no stream; nil where the SDK is to give it.
func (s *server) inline(x *exchange, m *message) (result json.RawMessage) {
	if !s.isUsual(x.request.Header, m) {
		return nil
	}
	modern := eraOf(x.request.Header, m) == modern
	switch t := s.tools.byName[m.name]; {
	case m.method == "tools/list" && m.name == "" && m.arguments == nil && !s.extended:
		return s.list(x, modern)
	case m.method == "tools/call" && t != nil && t.schemas != nil:
		x.called = t
		x.setTool(t.name)
		return s.encode(s.serveCall(x, m.arguments, &progress{}), modern)
	}
	return nil
}

// about is what results of 2026-07-28 say of the server, and of themselves.
func (s *server) about(modern bool) (meta mcp.Meta, resultType string) {
	if !modern {
		return nil, ""
	}
	return mcp.Meta{mcp.MetaKeyServerInfo: s.implementation}, "complete"
}

// encode writes the result of a call as the SDK does.
func (s *server) encode(c *called, modern bool) json.RawMessage {
	about, resultType := s.about(modern)
	if c.ResultType = resultType; c.Meta == nil {
		c.Meta = about
	} else {
		maps.Copy(c.Meta, about)
	}
	// With HTML escapes, which finish undoes: they come with those of U+2028 and U+2029.
	encoded, err := json.Marshal(c)
	if err != nil {
		panic(err) // the call was made; serve says that its result is lost
	}
	return encoded
}

// respond answers with the result of a request, as the SDK does.
func respond(a answer, m *message, result json.RawMessage) {
	a.Header().Set("Cache-Control", "no-cache, no-transform")
	a.Header().Set("Content-Type", "application/json")
	body := make([]byte, 0, len(result)+len(m.id)+len(`{"jsonrpc":"2.0","id":,"result":}`))
	body = append(append(body, `{"jsonrpc":"2.0","id":`...), m.id...)
	body = append(append(append(body, `,"result":`...), result...), '}')
	_, _ = a.Write(body) // it is kept in memory
}
