package lambda

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
)

// InvokeStream runs a function once for a stream, as InvokeWithResponseStream does. It returns when
// there is a stream to read, after limit at the latest, 0 for no limit. Reading ends with io.EOF,
// or with the error that an Invoke would have given. Whoever closes the stream before its end does
// not stop the function, as in Lambda. One that knows nothing of streams gives its answer in one
// piece.
func (fs *Functions) InvokeStream(name string, payload []byte, limit time.Duration) (io.ReadCloser, error) {
	f := fs.get(name)
	if f == nil {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	if limit <= 0 || limit > f.timeout {
		limit = f.timeout + time.Second
	}
	ctx, cancel, err := fs.invocation(f)
	if err != nil {
		return nil, err
	}
	body, write := io.Pipe()
	opened := make(chan error, 2) // when there is a stream, and at the end
	end := f.ending(ctx, cancel, func(o outcome) {
		_ = write.CloseWithError(o.err) // never fails; nil is io.EOF
		opened <- o.err
	})
	go func() {
		defer fs.handlers.Done()
		end(f.stream(ctx, payload, write, opened, fs.log))
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-opened:
		if err != nil {
			return nil, err
		}
		return body, nil
	case <-timer.C:
		_ = body.Close()
		return nil, ErrNotWaited
	}
}

// stream calls the handler and writes what it answers, to nobody once the reader has gone.
func (f *function) stream(ctx context.Context, payload []byte, to io.Writer, opened chan<- error, log *zap.Logger) (o outcome) {
	defer f.recover(log, &o)
	s, ok := f.handler.(boot.Streamer)
	if !ok {
		if o = f.run(ctx, payload, log); o.err == nil {
			opened <- nil
			_, _ = to.Write(o.answer)
		}
		return o
	}
	from, err := s.Stream(ctx, payload)
	if err != nil {
		return outcome{err: failure(err)}
	}
	defer from.Close()
	opened <- nil
	audience := &audience{to: to}
	if _, err := io.Copy(audience, from); err != nil {
		return outcome{err: failure(err)}
	}
	return outcome{}
}

// audience takes everything, whether anybody listens or not.
type audience struct{ to io.Writer }

func (a *audience) Write(p []byte) (int, error) {
	if a.to != nil {
		if _, err := a.to.Write(p); err != nil {
			a.to = nil
		}
	}
	return len(p), nil
}
