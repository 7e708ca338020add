package mcpserver

import (
	"encoding/json"
	"net/http"
	"strconv"

	"sekisho/functions/internal/problem"
)

// refusal is an answer that the layer around the SDK gives by itself.
type refusal struct {
	status int
	// code of the JSON-RPC error.
	code    int64
	id      json.RawMessage
	message string
	data    json.RawMessage
	// outcome is the word for the log.
	outcome string
	// retryAfter in seconds, 0 for none.
	retryAfter int64
	header     http.Header
}

// refuse makes a refusal of a problem. Its JSON-RPC code is the HTTP status: the codes that
// JSON-RPC and MCP define fit none of these, −32000 to −32019 should not be used by new
// implementations, and the rest of −32768 to −32000 is reserved.
func refuse(id json.RawMessage, p *problem.Problem) *refusal {
	r := &refusal{
		status: p.Status, code: int64(p.Status), id: id,
		message: sentence(p), data: p.AgentJSON(), outcome: string(p.Code),
	}
	r.retryAfter, _ = p.RetryAfterSeconds()
	return r
}

// refuseAs is refuse with a status for which there is no problem code.
func refuseAs(status int, id json.RawMessage, detail string) *refusal {
	p := problem.New(problem.BadRequest, detail)
	p.Status = status
	return refuse(id, p)
}

// invalid makes a refusal with a code of JSON-RPC or MCP.
func invalid(status int, code int64, id json.RawMessage, detail string) *refusal {
	r := refuse(id, problem.New(problem.BadRequest, detail))
	r.status, r.code = status, code
	return r
}

// sentence is what a client shows that looks at the message only.
func sentence(p *problem.Problem) string {
	if p.Detail != "" {
		return p.Detail + " " + p.Hint
	}
	return p.Title + ". " + p.Hint
}

// rpcError is a JSON-RPC error response. The id of a request that could not be read is null.
type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	} `json:"error"`
}

func (r *refusal) write(w http.ResponseWriter) {
	body := rpcError{Version: "2.0", ID: r.id}
	if body.ID == nil {
		body.ID = json.RawMessage("null")
	}
	body.Error.Code, body.Error.Message, body.Error.Data = r.code, r.message, r.data
	encoded, _ := json.Marshal(body) // strings, numbers and valid raw JSON always encode
	h := w.Header()
	for name, values := range r.header {
		h[name] = values
	}
	if r.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(r.retryAfter, 10))
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(r.status)
	_, _ = w.Write(encoded) // a caller that is gone can't be told
}
