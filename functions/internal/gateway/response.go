package gateway

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// recorder keeps a whole answer, since a proxy integration has no other way to give one.
type recorder struct {
	header http.Header
	// sent is the header as it was when the status was written; later changes are void,
	// as they are for any http.ResponseWriter.
	sent   http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return // the first final status counts; informational ones can't be sent
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush does nothing: the answer goes out as one piece.
func (w *recorder) Flush() {}

// response turns what was recorded into the answer to an event. A header with one value
// goes into Headers and one with several into MultiValueHeaders: API Gateway merges both.
// Text stays text, so that no binary media type has to be configured.
func (w *recorder) response(method string) events.APIGatewayProxyResponse {
	w.WriteHeader(http.StatusOK)
	r := events.APIGatewayProxyResponse{StatusCode: w.status, Headers: map[string]string{}}
	for name, values := range w.sent {
		switch len(values) {
		case 0:
		case 1:
			r.Headers[name] = values[0]
		default:
			if r.MultiValueHeaders == nil {
				r.MultiValueHeaders = map[string][]string{}
			}
			r.MultiValueHeaders[name] = values
		}
	}
	if method == http.MethodHead || w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return r
	}
	if body := w.body.Bytes(); utf8.Valid(body) {
		r.Body = string(body)
	} else {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return r
}
