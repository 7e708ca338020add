//go:build interop

package hosts

import (
	"bytes"
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

// sent is what a host sent during one step.
type sent struct {
	calls, others int
	// most calls that were under way at once.
	most int
	// withProgress: the host asks for notifications of progress.
	withProgress bool
	// gaveUp is how long the host waited for a held call, and 0 if to the end.
	gaveUp time.Duration
	under  int
}

// proxy is between a host and the service. It counts, and does to calls what the step says.
type proxy struct {
	to, host string // the service's origin; the host's own key

	mu    sync.Mutex
	step  sent
	fault fault
	key   string // replaces the host's, where it isn't ""
}

// begin starts counting anew, and returns what was counted.
func (p *proxy) begin(f fault, key string) sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.step
	p.step, p.fault, p.key = sent{}, f, key
	return was
}

type rpc struct {
	Method string
	Params struct {
		Meta struct{ ProgressToken any } `json:"_meta"`
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var message rpc
	_ = json.Unmarshal(body, &message) // what is no message is counted as something else
	f, key, done := p.arrives(message)
	defer done()
	switch {
	case f.hold > 0:
		start := time.Now()
		select {
		case <-r.Context().Done():
			p.mu.Lock()
			p.step.gaveUp = time.Since(start)
			p.mu.Unlock()
			return
		case <-time.After(f.hold):
		}
	case f.cut:
		panic(http.ErrAbortHandler)
	case f.status != 0:
		refuse(w, f)
		return
	}
	p.pass(w, r, body, key, f.mark)
}

// arrives counts a request, and returns what is done to it.
func (p *proxy) arrives(message rpc) (f fault, key string, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if message.Method != "tools/call" {
		p.step.others++
		return fault{}, p.key, func() {}
	}
	p.step.calls++
	p.step.under++
	p.step.most = max(p.step.most, p.step.under)
	p.step.withProgress = p.step.withProgress || message.Params.Meta.ProgressToken != nil
	return p.fault, p.key, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.step.under--
	}
}

// refuse answers as something before the function does, whose answers are no JSON-RPC.
func refuse(w http.ResponseWriter, f fault) {
	w.Header().Set("Content-Type", "application/problem+json")
	if f.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.wait))
	}
	w.WriteHeader(f.status)
	fmt.Fprintf(w, `{"title":%q,"status":%d,"detail":"The words of the body."}`, http.StatusText(f.status), f.status)
}

func (p *proxy) pass(w http.ResponseWriter, r *http.Request, body []byte, key string, mark bool) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
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
}

// marked changes one value of the structured content only: the last in the answer, where it stands in
// no string.
func marked(answer []byte) []byte {
	return []byte(strings.Replace(string(answer), `"formatted":"`+place+`"`, `"formatted":"`+markedPlace+`"`, 1))
}

const place, markedPlace = "100-0001", "100-0009"
