package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
)

// Invoker runs invocations of a function, any number of them at once.
type Invoker interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// Streamer is an Invoker for those who take the answer while it is made.
type Streamer interface {
	Invoker
	Stream(ctx context.Context, payload []byte) (Stream, error)
}

// Stream is an answer to read to its end, and to close.
type Stream interface {
	io.ReadCloser
	// ContentType tells Lambda whether the stream begins with status and headers.
	ContentType() string
}

// HandleStream makes a Streamer of the two ways to serve an invocation.
func HandleStream[S Stream](whole Invoker, stream func(context.Context, []byte) (S, error)) Streamer {
	return streamer{whole, func(ctx context.Context, payload []byte) (Stream, error) { return stream(ctx, payload) }}
}

type streamer struct {
	Invoker
	stream func(context.Context, []byte) (Stream, error)
}

func (s streamer) Stream(ctx context.Context, payload []byte) (Stream, error) {
	return s.stream(ctx, payload)
}

// Handle makes an Invoker of a handler, with the JSON of lambda.Start: unknown members are
// ignored, and no HTML is escaped.
//
// It exists because a handler made by lambda.NewHandler (aws-lambda-go v1.55.1) serves one
// invocation at a time: its Invoke puts the buffer of the answer back into a pool before it
// returns the bytes, so that of two calls at once one can get the other's answer. A Lambda
// instance runs one call at a time; a laptop's process runs them all, with the same Invoker.
func Handle[In, Out any](handler func(context.Context, In) (Out, error)) Invoker {
	return invokerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
		var in In
		if err := json.Unmarshal(payload, &in); err != nil {
			return nil, err
		}
		out, err := handler(ctx, in)
		if err != nil {
			return nil, err
		}
		var buffer bytes.Buffer
		encoder := json.NewEncoder(&buffer)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(out); err != nil {
			return nil, err
		}
		return buffer.Bytes(), nil
	})
}

// Consume makes an Invoker of a handler whose caller waits for no answer. It answers null, as
// lambda.Start does.
func Consume[In any](handler func(context.Context, In) error) Invoker {
	return Handle(func(ctx context.Context, in In) (any, error) { return nil, handler(ctx, in) })
}

type invokerFunc func(context.Context, []byte) ([]byte, error)

func (f invokerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// After has something done at the end of each invocation, while Lambda still gives the instance time:
// before the answer is handed over, or the end of a stream.
func After(i Invoker, do func()) Invoker {
	whole := invokerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
		defer do()
		return i.Invoke(ctx, payload)
	})
	s, ok := i.(Streamer)
	if !ok {
		return whole
	}
	return HandleStream(whole, func(ctx context.Context, payload []byte) (Stream, error) {
		stream, err := s.Stream(ctx, payload)
		if err != nil {
			do()
			return nil, err
		}
		return ending{stream, sync.OnceFunc(do)}, nil
	})
}

// ending does something before its reader sees the end.
type ending struct {
	Stream
	do func()
}

func (e ending) Read(p []byte) (int, error) {
	n, err := e.Stream.Read(p)
	if err != nil {
		e.do()
	}
	return n, err
}

func (e ending) Close() error {
	defer e.do()
	return e.Stream.Close()
}
