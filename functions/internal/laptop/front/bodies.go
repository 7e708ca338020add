package front

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// A gateway of AWS holds any number of bodies; a laptop does not. Bodies over SmallBody share the
// bytes of Bodies, from their first byte to the end of the call, and a call that finds none left
// is throttled. What a call takes in all is a small multiple of its body: the event, and the
// function's own copy.
const (
	SmallBody = 64 << 10
	MaxBodies = 64 << 20
)

// The ways in which a body is not read.
var (
	ErrBodyTooLarge = errors.New("the body is larger than allowed")
	ErrNoMemory     = errors.New("other bodies take all memory that there is for bodies")
)

// Bodies is what the bodies of all calls may still take. It is safe for concurrent use.
type Bodies struct {
	mu   sync.Mutex
	left int64
}

// NewBodies has so many bytes to give.
func NewBodies(bytes int64) *Bodies { return &Bodies{left: bytes} }

// Left is how many bytes are not taken.
func (b *Bodies) Left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

func (b *Bodies) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

// CheckLength refuses a body that says that it is longer than most bytes, before anything is read.
func CheckLength(w http.ResponseWriter, r *http.Request, most int64) error {
	if r.ContentLength > most {
		w.Header().Set("Connection", "close") // or net/http would read on
		return ErrBodyTooLarge
	}
	return nil
}

// Read reads a body, and never more than one byte over most. done gives its memory back, also
// after an error: ErrBodyTooLarge, ErrNoMemory, or that of a client that sent too little.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, most int64) (body []byte, done func(), err error) {
	var held int64
	done = func() { b.take(-held) }
	if r.Body == nil {
		return nil, done, nil
	}
	from := http.MaxBytesReader(w, r.Body, most)
	var blocks []*bytes.Buffer // one buffer would take twice as much while it grows
	for {
		block := &bytes.Buffer{}
		if len(blocks) > 0 {
			block.Grow(SmallBody + bytes.MinRead)
		}
		blocks = append(blocks, block)
		n, err := io.CopyN(block, from, SmallBody)
		var tooLarge *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			return joined(blocks), done, nil
		case errors.As(err, &tooLarge):
			return nil, done, ErrBodyTooLarge
		case err != nil:
			return nil, done, err
		case !b.take(n):
			w.Header().Set("Connection", "close")
			return nil, done, ErrNoMemory
		}
		held += n
	}
}

func joined(blocks []*bytes.Buffer) []byte {
	if len(blocks) == 1 {
		return blocks[0].Bytes()
	}
	all := make([]byte, 0, len(blocks)*SmallBody)
	for _, block := range blocks {
		all = append(all, block.Bytes()...)
	}
	return all
}
