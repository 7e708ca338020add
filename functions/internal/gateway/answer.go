package gateway

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Answer is an http.ResponseWriter that keeps the whole answer, since a proxy integration has
// no other way to give one. Until it goes out, all of it can still be changed or replaced,
// headers too. Several goroutines may write.
type Answer struct {
	mu     sync.Mutex
	header http.Header
	status int
	body   bytes.Buffer
}

// NewAnswer makes an empty answer.
func NewAnswer() *Answer { return &Answer{header: http.Header{}} }

// Keep returns w if it is an Answer already, else a new one, for Send to pass on to w.
func Keep(w http.ResponseWriter) *Answer {
	if a, ok := w.(*Answer); ok {
		return a
	}
	return NewAnswer()
}

// Header has the headers to be sent.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader sets the status. The first final one counts; informational ones can't be sent.
func (a *Answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

func (a *Answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.body.Write(p)
}

// Flush does nothing: the answer goes out as one piece.
func (a *Answer) Flush() {}

// Status is 0 while nothing has been written.
func (a *Answer) Status() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

// Body is what was written so far. It is valid until the next change.
func (a *Answer) Body() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.body.Bytes()
}

// SetBody replaces what was written so far.
func (a *Answer) SetBody(body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body = *bytes.NewBuffer(body)
}

// Reset forgets the answer so far.
func (a *Answer) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = 0
	a.body.Reset()
	clear(a.header)
}

// Send writes the answer to w, unless w is the answer itself.
func (a *Answer) Send(w http.ResponseWriter) {
	a.WriteHeader(http.StatusOK)
	if w == a {
		return
	}
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	w.WriteHeader(a.Status())
	_, _ = w.Write(a.Body()) // a caller that is gone can't be told
}

// response makes the answer to an event. A header with one value goes into Headers and one
// with several into MultiValueHeaders: API Gateway merges both. Text stays text, so that no
// binary media type has to be configured.
func (a *Answer) response(method string) events.APIGatewayProxyResponse {
	a.WriteHeader(http.StatusOK)
	r := events.APIGatewayProxyResponse{StatusCode: a.Status(), Headers: map[string]string{}}
	for name, values := range a.header {
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
	if method == http.MethodHead || r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified {
		return r
	}
	if body := a.Body(); utf8.Valid(body) {
		r.Body = string(body)
	} else {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return r
}
