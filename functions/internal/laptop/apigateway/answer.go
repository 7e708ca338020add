package apigateway

import (
	"io"
	"net/http"
)

// answer is what the client gets.
type answer struct {
	status int
	header http.Header
	body   string
	// stream is set where the body comes while the function makes it.
	stream io.ReadCloser
	// refusal is set when the gateway answered by itself.
	refusal *refusal
}

// newAnswer begins an answer with the headers that every one has.
func (g *Gateway) newAnswer(c *call, status int) *answer {
	h := make(http.Header, 8)
	h.Set("X-Amzn-Requestid", c.requestID)
	h.Set("X-Amz-Apigw-Id", c.extendedID)
	return &answer{status: status, header: h}
}

func (a *answer) write(w http.ResponseWriter) {
	a.writeHeader(w)
	_, _ = io.WriteString(w, a.body) // a client that has gone is no fault of ours
}

func (a *answer) writeHeader(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	w.WriteHeader(a.status)
}
