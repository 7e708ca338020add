package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/lazy"
	"sekisho/functions/internal/problem"
)

// answer is kept whole until it goes out, so that it can be replaced: the SDK answers some
// errors as text/plain, and some not at all. Only that of a call with progress goes out before
// its end, where the door streams: see live.
type answer struct{ *gateway.Answer }

// asStream makes a stream of one event out of a JSON answer, for callers who take nothing else.
// Errors with a status of their own stay JSON, as they do in the SDK.
func (a answer) asStream() {
	if a.Status() != http.StatusOK || a.Header().Get("Content-Type") != "application/json" {
		return
	}
	a.SetBody(event(a.Body()))
	a.Header().Set("Content-Type", "text/event-stream")
}

// event is a message as a server-sent event.
func event(message []byte) []byte {
	return slices.Concat([]byte("event: message\ndata: "), message, []byte("\n\n"))
}

// repair says what to answer instead when the SDK gave no JSON-RPC response.
func (a answer) repair(ctx context.Context, m *message) *refusal {
	media, _, _ := mime.ParseMediaType(a.Header().Get("Content-Type"))
	switch {
	case len(a.Body()) == 0 && ctx.Err() != nil:
		return refuse(m.id, problem.New(problem.Timeout, ""))
	case len(a.Body()) == 0:
		return refuse(m.id, problem.New(problem.Internal, ""))
	case media == "text/event-stream" && ctx.Err() != nil:
		// The stream may have been cut off before its result.
		return refuse(m.id, problem.New(problem.Timeout, ""))
	case media == "text/plain":
		return a.fromText(m)
	case media == "application/json":
		return a.fromError(m)
	}
	return nil
}

// fromText puts a sentence of the SDK into a JSON-RPC error.
func (a answer) fromText(m *message) *refusal {
	if a.Status() >= 500 {
		return refuse(m.id, problem.New(problem.Internal, ""))
	}
	return invalid(a.Status(), jsonrpc.CodeInvalidRequest, m.id, readable(string(a.Body())))
}

// errorMember is how the SDK begins an error. In a tool's text the quotes are escaped.
var errorMember = []byte(`,"error":{"code":`)

// fromError gives an error of the SDK the data that every refusal has. Where it has given
// no code, it could not read what the caller sent.
func (a answer) fromError(m *message) *refusal {
	if !bytes.Contains(a.Body(), errorMember) {
		return nil
	}
	var response struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(a.Body(), &response) != nil || response.Error == nil || response.Error.Data != nil {
		return nil
	}
	code := response.Error.Code
	switch code {
	case 0:
		code = jsonrpc.CodeInvalidParams
	case jsonrpc.CodeInternalError:
		r := refuse(m.id, problem.New(problem.Internal, ""))
		r.status, r.code = a.Status(), code
		return r
	}
	return invalid(a.Status(), code, m.id, readable(response.Error.Message))
}

// wrongType finds the member of params that the SDK could not decode.
var wrongType = lazy.Regexp(`Go struct field \w+\.\w+\.([\w.]+) of type`)

// readable makes a sentence for callers of one of the SDK, without the names of Go types.
func readable(text string) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "unmarshal") {
		if member := wrongType().FindStringSubmatch(text); member != nil {
			return "params." + member[1] + " has the wrong type."
		}
		return "A member of params has the wrong type."
	}
	return "The request is not valid: " + text + "."
}
