//go:build interop

package hosts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fault is what the proxy does to every tools/call, in place of passing it on.
type fault struct {
	// status is answered, with Retry-After in seconds where wait is not 0.
	status, wait int
	cut          bool
	// hold keeps the call from its answer for so long.
	hold time.Duration
	// mark makes the structured content differ from the text, so that it shows which one arrives.
	mark bool
}

// sent is what passed between a host and the service during one step.
type sent struct {
	calls, connects int
	// most calls that were under way at once.
	under, most int
	// withProgress: the host asks for notifications of progress.
	withProgress bool
	// words are what the answers to calls say: the text of a result, or the body of what is no result.
	words []string
}

// proxy is between a host and the service. It counts, and does to calls what the step says.
type proxy struct {
	to, host string // the service's origin; the host's own key

	mu   sync.Mutex
	step *step
	// protocol is the version in which the host calls tools.
	protocol string
}

type step struct {
	sent
	fault fault
	// key replaces the host's, where it isn't "".
	key string
	// over is closed when the next step begins; what is held until then is answered no more.
	over chan struct{}
}

// begin starts a step, and returns what was counted in the one before.
func (p *proxy) begin(f fault, key string) sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.step
	p.step = &step{fault: f, key: key, over: make(chan struct{})}
	if was == nil {
		return sent{}
	}
	close(was.over)
	return was.sent
}

type rpc struct {
	Method string
	Params struct {
		ProtocolVersion string
		Meta            struct{ ProgressToken any } `json:"_meta"`
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var message rpc
	_ = json.Unmarshal(body, &message) // what is no message isn't counted
	at, f, done := p.arrives(message, r.Header.Get("MCP-Protocol-Version"))
	defer done()
	if f.hold > 0 {
		select {
		case <-at.over:
			// To cut the connection would make some send the call again.
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		case <-r.Context().Done():
			return
		case <-time.After(f.hold):
		}
	}
	switch {
	case f.cut:
		panic(http.ErrAbortHandler)
	case f.status != 0:
		p.said(at, refuse(w, f))
	default:
		answer := p.pass(w, r, body, at.key, f.mark)
		if message.Method == "tools/call" {
			p.said(at, words(answer))
		}
	}
}

// arrives counts a request, and returns the step that it belongs to and what is done to it.
func (p *proxy) arrives(message rpc, protocol string) (at *step, f fault, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at = p.step
	switch message.Method {
	case "initialize", "server/discover":
		p.protocol = message.Params.ProtocolVersion
		at.connects++
	case "tools/call":
		p.protocol = cmp.Or(protocol, p.protocol)
		at.calls++
		at.under++
		at.most = max(at.most, at.under)
		at.withProgress = at.withProgress || message.Params.Meta.ProgressToken != nil
		return at, at.fault, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			at.under--
		}
	}
	return at, fault{}, func() {}
}

func (p *proxy) said(at *step, words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at.words = append(at.words, words)
}

// words are the text of a result or the message of an error, or else all that came. A message may be an
// event of a stream.
func words(answer []byte) string {
	for line := range bytes.Lines(answer) {
		var message struct {
			Result struct{ Content []struct{ Text string } }
			Error  struct{ Message string }
		}
		line = bytes.TrimPrefix(line, []byte("data: "))
		if json.Unmarshal(line, &message) != nil {
			continue
		}
		if len(message.Result.Content) > 0 {
			return message.Result.Content[0].Text
		}
		if message.Error.Message != "" {
			return message.Error.Message
		}
	}
	return string(answer)
}

// refuse answers as something before the function does, whose answers are no JSON-RPC.
func refuse(w http.ResponseWriter, f fault) (body string) {
	w.Header().Set("Content-Type", "application/problem+json")
	if f.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.wait))
	}
	w.WriteHeader(f.status)
	body = fmt.Sprintf(`{"title":%q,"status":%d,"detail":"The words of the body."}`, http.StatusText(f.status), f.status)
	_, _ = io.WriteString(w, body) // the host may have gone away
	return body
}

func (p *proxy) pass(w http.ResponseWriter, r *http.Request, body []byte, key string, mark bool) []byte {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(err) // the host's request was one
	}
	request.Header = r.Header.Clone()
	request.Header.Del("Accept-Encoding")
	if key != "" && request.Header.Get("x-api-key") == p.host {
		request.Header.Set("x-api-key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if mark {
		answer = marked(answer)
	}
	for name, values := range response.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer) // the host may have gone away
	return answer
}

// marked changes one value of the structured content only: the last in the answer, where it stands in
// no string.
func marked(answer []byte) []byte {
	return []byte(strings.Replace(string(answer), `"formatted":"`+place+`"`, `"formatted":"`+markedPlace+`"`, 1))
}

const place, markedPlace = "100-0001", "100-0009"
