package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
)

// eventStream is the media type of a stream as the SDK writes it.
const eventStream = "text/event-stream"

// live passes on what the SDK writes for a call with progress, each event as soon as it is
// written and in the form that finish gives a whole answer.
type live struct {
	a       answer
	headers func(http.Header)
	// left is how many bytes the answer may still have.
	left int

	mu      sync.Mutex
	pending bytes.Buffer
	// complete says that the response to the call was among the events.
	complete bool
}

// stream lets the SDK answer a call with progress. Through a door that takes whole answers only
// the events are in the answer all the same, before the result.
func (s *server) stream(a answer, x *exchange, r *http.Request) {
	if !a.Streams() {
		s.streaming.ServeHTTP(a, r)
		return
	}
	x.live = &live{a: a, left: s.API.Limits.AnswerBytes, headers: func(h http.Header) { s.finishHeaders(h, x) }}
	s.streaming.ServeHTTP(x.live, r)
	x.live.keep()
}

// Header is that of the answer, and so is WriteHeader.
func (l *live) Header() http.Header { return l.a.Header() }

// WriteHeader sets the status of the answer.
func (l *live) WriteHeader(status int) { l.a.WriteHeader(status) }

func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending.Write(p)
}

// Flush sends an event; the SDK calls it after each. The first one that is sent starts the
// answer, and is never the response: without news on the way there is no need to stream.
func (l *live) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	response := isResponse(l.pending.Bytes())
	if !l.a.Started() {
		if response || l.Header().Get("Content-Type") != eventStream {
			return
		}
		l.headers(l.Header())
		l.a.Start()
	}
	event := reply.Unescape(l.pending.Bytes())
	l.pending.Reset()
	if l.left -= len(event); l.left >= 0 {
		l.complete = l.complete || response
		_, _ = l.a.Write(event) // a caller that is gone can't be told
	}
}

// isResponse says that an event is the answer to the call and not a notification on the way.
func isResponse(event []byte) bool {
	_, data, _ := bytes.Cut(event, []byte("data: "))
	var message struct{ Method string }
	return json.Unmarshal(data, &message) == nil && message.Method == ""
}

// keep leaves what was not sent in the answer.
func (l *live) keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.a.Started() {
		_, _ = l.a.Write(l.pending.Bytes()) // it is kept in memory
	}
}

// missing is the refusal in the place of a response that did not come, as the SDK leaves it out
// when the time is up; nil where it came.
func (s *server) missing(x *exchange, m *message) *refusal {
	l := x.live
	l.mu.Lock()
	defer l.mu.Unlock()
	code := problem.Internal
	switch {
	case l.complete:
		return nil
	case l.left < 0:
		code = problem.AnswerTooLarge
	case x.context().Err() != nil:
		code = problem.Timeout
	}
	return refuse(m.id, s.unclear(x, code, ""))
}

// end sends a response as the last event, unless one was sent.
func (l *live) end(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.complete {
		l.complete = true
		_, _ = l.a.Write(event(message))
	}
}
