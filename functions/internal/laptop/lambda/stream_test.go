package lambda

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/boot"
)

type reader struct{ io.Reader }

func (reader) ContentType() string { return "text/plain" }
func (reader) Close() error        { return nil }

// streams is a function that hands over a reader.
func streams(open func(context.Context) (io.Reader, error)) Invoker {
	return boot.HandleStream(nil, func(ctx context.Context, _ []byte) (reader, error) {
		r, err := open(ctx)
		return reader{r}, err
	})
}

// TestInvokeStream: the place is taken until the stream's end, however that comes.
func TestInvokeStream(t *testing.T) {
	failed := errors.New("failed")
	endless := func(ctx context.Context) (io.Reader, error) {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { _ = w.CloseWithError(failed) }) // too late to be heard
		go func() { _, _ = io.WriteString(w, "one") }()
		return r, nil
	}
	for _, c := range []struct {
		name       string
		open       func(context.Context) (io.Reader, error)
		read       string
		opens, end error
		took       time.Duration
	}{
		{"ends", func(context.Context) (io.Reader, error) { return strings.NewReader("all"), nil }, "all", nil, nil, 0},
		{"fails at once", func(context.Context) (io.Reader, error) { return nil, failed }, "", &Failure{}, nil, 0},
		{"panics", func(context.Context) (io.Reader, error) { panic(failed) }, "", &Failure{}, nil, 0},
		{"fails later", func(context.Context) (io.Reader, error) {
			return io.MultiReader(strings.NewReader("half"), &failing{failed}), nil
		}, "half", nil, &Failure{}, 0},
		{"takes too long", endless, "one", nil, ErrTimedOut, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := deploy(t, map[string]Function{"f": {Handler: streams(c.open), Timeout: time.Minute, Reserved: 1}})
				began := time.Now()
				stream, err := fs.InvokeStream("f", nil, 0)
				if !sameKind(err, c.opens) {
					t.Fatalf("opened with %v", err)
				}
				if err == nil {
					if fs.Counts()["f"].Concurrent != 1 {
						t.Error("the place is free while the stream runs")
					}
					raw, err := io.ReadAll(stream)
					if string(raw) != c.read || !sameKind(err, c.end) {
						t.Errorf("read %q, %v", raw, err)
					}
				}
				synctest.Wait()
				errs := 0
				if c.opens != nil || c.end != nil {
					errs = 1
				}
				if got := fs.Counts()["f"]; got.Concurrent != 0 || got.Errors != errs || time.Since(began) != c.took {
					t.Errorf("%+v after %s", got, time.Since(began))
				}
			})
		})
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func sameKind(got, want error) bool {
	if f := (*Failure)(nil); errors.As(want, &f) {
		return errors.As(got, &f)
	}
	return errors.Is(got, want)
}

// A function that knows nothing of streams gives its answer in one piece.
func TestInvokeStreamOfAWholeAnswer(t *testing.T) {
	fs := deploy(t, map[string]Function{"f": {Reserved: Unreserved, Handler: handler(func(context.Context) (string, error) { return "all", nil })}})
	stream, err := fs.InvokeStream("f", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := io.ReadAll(stream); string(raw) != "all" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
}
