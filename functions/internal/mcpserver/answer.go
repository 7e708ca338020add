package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sekisho/functions/internal/problem"
)

// answer keeps a whole answer back, so that it can still be replaced: the SDK answers some
// errors as text/plain, and some not at all. It is locked because the SDK writes from the
// goroutine of the call.
type answer struct {
	mu     sync.Mutex
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}} }

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.body.Write(p)
}

// Flush does nothing: the answer goes out as one piece.
func (a *answer) Flush() {}

// reset forgets the answer so far.
func (a *answer) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = 0
	a.body.Reset()
	clear(a.header)
}

// asStream makes a stream of one event out of a JSON answer, for who takes nothing else.
// Errors with a status of their own stay JSON, as they do in the SDK.
func (a *answer) asStream() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		return
	}
	body := slices.Concat([]byte("event: message\ndata: "), a.body.Bytes(), []byte("\n\n"))
	a.body.Reset()
	a.body.Write(body)
	a.header.Set("Content-Type", "text/event-stream")
}

func (a *answer) sendTo(w http.ResponseWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 {
		a.status = http.StatusOK
	}
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h.Del("Connection") // the connection is not the handler's, and API Gateway takes none
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // a caller that is gone can't be told
}

// repair says what to answer instead when the SDK gave no JSON-RPC response.
func (a *answer) repair(ctx context.Context, m *message) *refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	switch {
	case a.body.Len() == 0 && ctx.Err() != nil:
		return refuse(m.id, problem.New(problem.Timeout, ""))
	case a.body.Len() == 0:
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
func (a *answer) fromText(m *message) *refusal {
	if a.status >= 500 {
		return refuse(m.id, problem.New(problem.Internal, ""))
	}
	return invalid(a.status, jsonrpc.CodeInvalidRequest, m.id, readable(a.body.String()))
}

// errorMember is how the SDK begins an error. In a tool's text the quotes are escaped.
var errorMember = []byte(`,"error":{"code":`)

// fromError gives an error of the SDK the data that every refusal has. Where it has given
// no code, it could not read what the caller sent.
func (a *answer) fromError(m *message) *refusal {
	if !bytes.Contains(a.body.Bytes(), errorMember) {
		return nil
	}
	var response struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(a.body.Bytes(), &response) != nil || response.Error == nil || response.Error.Data != nil {
		return nil
	}
	code := response.Error.Code
	switch code {
	case 0:
		code = jsonrpc.CodeInvalidParams
	case jsonrpc.CodeInternalError:
		r := refuse(m.id, problem.New(problem.Internal, ""))
		r.status, r.code = a.status, code
		return r
	}
	return invalid(a.status, code, m.id, readable(response.Error.Message))
}

// wrongType finds the member of params that the SDK could not decode.
var wrongType = regexp.MustCompile(`Go struct field \w+\.\w+\.([\w.]+) of type`)

// readable makes a sentence for callers of one of the SDK, without the names of Go types.
func readable(text string) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "unmarshal") {
		if member := wrongType.FindStringSubmatch(text); member != nil {
			return "params." + member[1] + " has the wrong type."
		}
		return "A member of params has the wrong type."
	}
	return "The request is not valid: " + text + "."
}
