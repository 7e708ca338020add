package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

// stream begins to serve a POST and returns what comes back.
func stream(t *testing.T, ctx context.Context, h http.HandlerFunc) io.ReadCloser {
	t.Helper()
	payload, err := json.Marshal(events.LambdaFunctionURLRequest{Version: "2.0", RawPath: "/mcp", RequestContext: events.LambdaFunctionURLRequestContext{
		HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{Method: "POST"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := gateway.Streaming{Function: gateway.Handler(h, nil)}.Stream(ctx, payload)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// split takes a stream's status and headers off its body.
func split(t *testing.T, raw []byte) (prelude, body string) {
	t.Helper()
	before, after, ok := bytes.Cut(raw, make([]byte, 8))
	if !ok {
		t.Fatalf("no prelude in %q", raw)
	}
	return string(before), string(after)
}

// A part that is started is there before the handler writes the next: the handler waits for the
// reader to have it.
func TestStreamGoesOutAsItIsWritten(t *testing.T) {
	read := make(chan struct{})
	out := stream(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		a := gateway.Keep(w)
		a.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "one")
		a.Start()
		<-read
		_, _ = io.WriteString(w, "two")
	})
	defer out.Close()
	typed, ok := out.(interface{ ContentType() string })
	if !ok || typed.ContentType() != "application/vnd.awslambda.http-integration-response" {
		t.Error("Lambda is not told what kind of an answer this is")
	}
	const prelude = `{"statusCode":200,"headers":{"Content-Type":"text/event-stream"}}`
	first := make([]byte, len(prelude)+8+len("one"))
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatal(err)
	}
	if before, body := split(t, first); before != prelude || body != "one" {
		t.Errorf("first %q, %q", before, body)
	}
	close(read)
	if rest, err := io.ReadAll(out); err != nil || string(rest) != "two" {
		t.Errorf("then %q, %v", rest, err)
	}
}

// An answer that nobody started is whole, and goes out in the same form.
func TestStreamOfAWholeAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		handler       http.HandlerFunc
		prelude, body string
	}{
		"whole": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", "a=1")
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte{0xff})
		}, `{"statusCode":418,"cookies":["a=1"]}`, "\xff"},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, `{"statusCode":204}`, ""},
		"panic before": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic("early")
		}, `{"statusCode":500,"headers":{"Content-Type":"application/problem+json"}}`, string(problem.New(problem.Internal, "").JSON())},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := io.ReadAll(stream(t, t.Context(), c.handler))
			if err != nil {
				t.Fatal(err)
			}
			prelude, body := split(t, raw)
			if prelude != c.prelude || body != c.body {
				t.Errorf("got %q, %q", prelude, body)
			}
		})
	}
}

// After a panic what has gone out stays as it is, and the answer ends.
func TestStreamPanic(t *testing.T) {
	raw, err := io.ReadAll(stream(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		gateway.Keep(w).Start()
		panic("late")
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, body := split(t, raw); body != "half" {
		t.Errorf("body %q", body)
	}
}

// A caller that goes away, or one that never reads, does not keep the handler for ever.
func TestStreamWithoutAReader(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		ended := make(chan error, 1)
		out := stream(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			gateway.Keep(w).Start()
			_, err := io.WriteString(w, "more")
			ended <- err
		})
		_ = out.Close()
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
	})
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended := make(chan error, 1)
			stream(t, ctx, func(w http.ResponseWriter, _ *http.Request) {
				gateway.Keep(w).Start()
				_, err := io.WriteString(w, "more")
				ended <- err
			})
			began := time.Now()
			if err := <-ended; !errors.Is(err, io.ErrClosedPipe) || time.Since(began) != time.Minute {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	})
}
