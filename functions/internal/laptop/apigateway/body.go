package apigateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// API Gateway holds any number of bodies; a laptop does not. Bodies over smallBody share
// maxBodies bytes, from their first byte to the end of the call, and a call that finds none
// left is throttled. What a call takes in all is a small multiple of its body: the event, and
// the function's own copy.
const (
	smallBody = 64 << 10
	maxBodies = 64 << 20
)

// memory is what the bodies of all calls may still take.
type memory struct {
	mu   sync.Mutex
	left int64
}

func (m *memory) take(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.left {
		return false
	}
	m.left -= n
	return true
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left += n
}

// checkLength refuses a body that says that it is too long, before the authorizer takes units.
func (c *call) checkLength(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close") // or net/http would read on
		return refuseTooLarge()
	}
	return nil
}

// readBody reads the body, and never more than one byte over the limit.
func (g *Gateway) readBody(c *call, w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	from := http.MaxBytesReader(w, r.Body, maxBody)
	var blocks []*bytes.Buffer // one buffer would take twice as much while it grows
	for {
		block := &bytes.Buffer{}
		if len(blocks) > 0 {
			block.Grow(smallBody + bytes.MinRead)
		}
		blocks = append(blocks, block)
		n, err := io.CopyN(block, from, smallBody)
		var tooLarge *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			c.body = strings.ToValidUTF8(joined(blocks), "\uFFFD")
			return nil
		case errors.As(err, &tooLarge):
			return refuseTooLarge()
		case err != nil:
			return &refusal{kind: "DEFAULT_4XX", status: http.StatusBadRequest, message: "Bad Request"}
		case !g.bodies.take(n):
			w.Header().Set("Connection", "close")
			return refuseThrottled()
		}
		c.held += n
	}
}

func joined(blocks []*bytes.Buffer) string {
	if len(blocks) == 1 {
		return blocks[0].String()
	}
	var all strings.Builder
	all.Grow(len(blocks) * smallBody)
	for _, block := range blocks {
		all.Write(block.Bytes())
	}
	return all.String()
}
