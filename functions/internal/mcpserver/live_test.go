package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/mcpserver"
)

// progressCall is a call of a counted tool whose caller wants to hear of its progress.
func progressCall(arguments string) events.APIGatewayProxyRequest {
	return (&exchange{headers: keyed("accept", "application/json, text/event-stream"), body: legacy("tools/call", arguments+`,"_meta":{"progressToken":"p1"}`)}).event()
}

// message is what an event of a stream holds.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct{ Message string }
	Result *struct{ IsError bool }
	Error  *struct {
		Code int64
		Data struct{ Error, Hint string }
	}
}

// next reads one event; the error is io.EOF at the end of the stream.
func next(t *testing.T, from *bufio.Reader) (m message, err error) {
	t.Helper()
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return m, err
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			return m, nil
		}
	}
}

// rest reads the events up to the end.
func rest(t *testing.T, from *bufio.Reader) (all []message) {
	t.Helper()
	for {
		m, err := next(t, from)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// TestProgressArrivesAsItHappens: the REST API answers only after the caller has read that the
// call has begun.
func TestProgressArrivesAsItHappens(t *testing.T) {
	heard := make(chan struct{})
	w := newWorld(t)
	w.rest = func(rw http.ResponseWriter, r *http.Request) {
		<-heard
		answers(rw, r)
	}
	answer := w.stream(t.Context(), progressCall(lookup))
	if answer.StatusCode != 200 || answer.Headers["Content-Type"] != "text/event-stream; charset=utf-8" || answer.Headers["Connection"] != "" || answer.Headers["Vary"] != "Origin" {
		t.Errorf("%d with %v", answer.StatusCode, answer.Headers)
	}
	from := bufio.NewReader(answer.Body)
	first, err := next(t, from)
	if err != nil || first.Method != "notifications/progress" || !strings.Contains(first.Params.Message, "begun") {
		t.Fatalf("%+v, %v", first, err)
	}
	close(heard)
	all := rest(t, from)
	if len(all) != 2 || all[0].Method != "notifications/progress" || all[1].Result == nil || all[1].Result.IsError {
		t.Errorf("then %+v", all)
	}
}

// TestStreamEndsWithAResponse: whatever happens after the headers are out, the last event answers
// the call, once.
func TestStreamEndsWithAResponse(t *testing.T) {
	call := func(t *testing.T, ctx context.Context, w *world) []message {
		all := rest(t, bufio.NewReader(w.stream(ctx, progressCall(lookup)).Body))
		if len(all) < 2 || all[0].Method != "notifications/progress" {
			t.Fatalf("no progress: %+v", all)
		}
		for _, m := range all[:len(all)-1] {
			if m.Method == "" {
				t.Fatalf("two responses: %+v", all)
			}
		}
		return all
	}
	t.Run("failure", func(t *testing.T) {
		w := newWorld(t)
		w.rest = refuses(500, nil, `{}`)
		if last := call(t, t.Context(), w)[2]; last.Result == nil || !last.Result.IsError {
			t.Errorf("%+v", last)
		}
	})
	t.Run("panic", func(t *testing.T) {
		w := newWorld(t, func(c *mcpserver.Config) {
			c.Client = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { panic("in the middle") })}
		})
		if last := call(t, t.Context(), w)[1]; last.Result == nil || !last.Result.IsError {
			t.Errorf("%+v", last)
		}
		if !strings.Contains(w.log.String(), `"msg":"panic"`) {
			t.Error("the panic is not logged")
		}
	})
	t.Run("too large", func(t *testing.T) {
		w := newWorld(t, func(c *mcpserver.Config) {
			api := *c.API
			api.Limits.AnswerBytes = 400
			c.API = &api
		})
		all := call(t, t.Context(), w)
		if last := all[len(all)-1]; last.Error == nil || last.Error.Data.Error != "answer_too_large" || !strings.Contains(last.Error.Data.Hint, "may be charged") || string(last.ID) != "1" {
			t.Errorf("%+v", last)
		}
	})
	t.Run("time is up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// A transport that does not heed its context leaves the SDK waiting.
			w := newWorld(t, func(c *mcpserver.Config) {
				c.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				})}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			all := call(t, ctx, w)
			if took := time.Since(began); took != 59500*time.Millisecond || all[2].Result == nil || !all[2].Result.IsError {
				t.Errorf("%+v after %s", all[2], took)
			}
		})
	})
}

// TestStreamWithoutAnAudience: a caller that does not wait for the end of its stream stops nothing, and the
// call is logged as it ended.
func TestStreamWithoutAnAudience(t *testing.T) {
	heard, ended := make(chan struct{}), make(chan struct{})
	w := newWorld(t)
	w.rest = func(rw http.ResponseWriter, r *http.Request) {
		<-heard
		answers(rw, r)
		close(ended)
	}
	answer := w.stream(t.Context(), progressCall(lookup))
	if _, err := next(t, bufio.NewReader(answer.Body)); err != nil {
		t.Fatal(err)
	}
	_ = answer.Close()
	close(heard)
	<-ended
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(w.log.String(), `"msg":"mcp"`); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no line in the log")
		}
	}
	if line := w.log.String(); !strings.Contains(line, `"outcome":"ok"`) {
		t.Errorf("logged %s", line)
	}
}
