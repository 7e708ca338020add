package mcpserver

import (
	"encoding/json"
	"net/http"
	"strconv"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
)

// refusal is a JSON-RPC error that does not come from the SDK.
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

// mostDetail is how long a detail may be, in characters: the SDK's sentences repeat what the
// caller sent. None of ours is as long.
const mostDetail = 300

// refuse makes a refusal of a problem. Its JSON-RPC code is the HTTP status: the codes that
// JSON-RPC and MCP define fit none of these, −32000 to −32019 should not be used by new
// implementations, and the rest of −32768 to −32000 is reserved.
func refuse(id json.RawMessage, p *problem.Problem) *refusal {
	p.Detail = reply.Cut(p.Detail, mostDetail)
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

// malformed refuses a body that is not a message.
func malformed(code int64, id json.RawMessage, detail string) *refusal {
	return invalid(http.StatusBadRequest, code, id, detail)
}

// sentence is for clients that show nothing but the message.
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

// refuse answers with a refusal in the place of what was written before. Of an answer that is on
// its way it can only be the last event.
func (x *exchange) refuse(a answer, r *refusal) {
	x.setOutcome(r.outcome)
	body := rpcError{Version: "2.0", ID: r.id}
	if body.ID == nil {
		body.ID = json.RawMessage("null")
	}
	body.Error.Code, body.Error.Message, body.Error.Data = r.code, r.message, r.data
	encoded, _ := reply.JSON(body) // strings, numbers and valid raw JSON always encode
	if a.Started() {
		x.live.end(encoded)
		return
	}
	a.Reset()
	h := a.Header()
	for name, values := range r.header {
		h[name] = values
	}
	if r.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(r.retryAfter, 10))
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	a.WriteHeader(r.status)
	_, _ = a.Write(encoded) // it is kept in memory
}
