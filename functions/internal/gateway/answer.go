package gateway

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/problem"
)

// Answer is an http.ResponseWriter that keeps the whole answer. Until it goes out, all of it can
// still be changed or replaced, headers too. Where the invoker takes a stream, Start sends what
// there is, and what is written from then on goes out at once. Several goroutines may write.
type Answer struct {
	mu     sync.Mutex
	header http.Header
	status int
	body   bytes.Buffer
	// begin hands status and headers over and returns where the body goes; nil for an invoker
	// that takes no stream. out is what it returned.
	begin func(status int, header http.Header) io.Writer
	out   io.Writer
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
	if a.out != nil {
		return a.out.Write(p)
	}
	return a.body.Write(p)
}

// Flush does nothing: only Start sends an answer before its end.
func (a *Answer) Flush() {}

// Streams says that the invoker takes a stream.
func (a *Answer) Streams() bool { return a.begin != nil }

// Start sends status, headers and what was written so far; none of it can be changed any more.
// It needs an invoker that takes a stream, and does nothing the second time.
func (a *Answer) Start() {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.out != nil {
		return
	}
	a.out = a.begin(a.status, a.header)
	_, _ = a.out.Write(a.body.Bytes()) // a caller that is gone can't be told
	a.body.Reset()
}

// Started says that the answer is on its way.
func (a *Answer) Started() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out != nil
}

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

// fail replaces the answer by a problem. One that is on its way is cut short instead.
func (a *Answer) fail(p *problem.Problem) {
	if a.Started() {
		return
	}
	a.Reset()
	a.Header().Set("Content-Type", problem.ContentType)
	a.WriteHeader(p.Status)
	_, _ = a.Write(p.JSON()) // it is kept in memory
}

// wholeBody is the body that goes out, which some answers have none of.
func (a *Answer) wholeBody(method string) *bytes.Buffer {
	a.WriteHeader(http.StatusOK)
	if status := a.Status(); method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified {
		return &bytes.Buffer{}
	}
	return bytes.NewBuffer(a.Body())
}

// text is the body as an event's answer holds it. Text stays text, so that no binary media type
// has to be configured.
func (a *Answer) text(method string) (body string, isBase64 bool) {
	raw := a.wholeBody(method).Bytes()
	if !utf8.Valid(raw) {
		return base64.StdEncoding.EncodeToString(raw), true
	}
	return string(raw), false
}

// first is the answer in format 1.0. A header with one value goes into Headers and one with
// several into MultiValueHeaders: API Gateway merges both.
func (a *Answer) first(method string) events.APIGatewayProxyResponse {
	r := events.APIGatewayProxyResponse{Headers: map[string]string{}}
	r.Body, r.IsBase64Encoded = a.text(method)
	r.StatusCode = a.Status()
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
	return r
}

// second is the answer in format 2.0, which an HTTP API and a function URL share.
func (a *Answer) second(method string) events.LambdaFunctionURLResponse {
	r := events.LambdaFunctionURLResponse{}
	r.Body, r.IsBase64Encoded = a.text(method)
	r.StatusCode = a.Status()
	r.Headers, r.Cookies = joined(a.header)
	return r
}

// joined has one value for each header, with commas between several (RFC 9110, section 5.3),
// except for cookies, which can't be joined.
func joined(header http.Header) (headers map[string]string, cookies []string) {
	headers = make(map[string]string, len(header))
	for name, values := range header {
		if name == "Set-Cookie" {
			cookies = values
		} else if len(values) > 0 {
			headers[name] = strings.Join(values, ", ")
		}
	}
	return headers, cookies
}
