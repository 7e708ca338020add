package function

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"sekisho/functions/internal/backend"
)

// TestAll: each function is invoked by its alias, once, and what Lambda answers is told apart: no
// function ran, it failed, or nobody knows.
func TestAll(t *testing.T) {
	var asked atomic.Int64
	answer := func(http.ResponseWriter) {}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/2015-03-31/functions/demo-postal:live/invocations" || string(body) != `{"a":1}` {
			t.Errorf("%s %s", r.URL.Path, body)
		}
		answer(w)
	}))
	defer server.Close()
	postal := All(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, map[string]string{"postal": "demo-postal:live"})["postal"]

	refusing := func(status int, kind string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("X-Amzn-Errortype", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"message":"no"}`)
		}
	}
	notInvoked, failed := new(backend.NotInvokedError), new(backend.FailedError)
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		is     func([]byte, error) bool
	}{
		"answer": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"statusCode":200}`) },
			func(got []byte, err error) bool { return err == nil && string(got) == `{"statusCode":200}` }},
		"throttled": {refusing(429, "TooManyRequestsException"), func(_ []byte, err error) bool { return errors.Is(err, backend.ErrBusy) }},
		"no alias":  {refusing(404, "ResourceNotFoundException"), func(_ []byte, err error) bool { return errors.As(err, &notInvoked) }},
		"no right":  {refusing(403, "AccessDeniedException"), func(_ []byte, err error) bool { return errors.As(err, &notInvoked) }},
		"time-out": {func(w http.ResponseWriter) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, `{"errorType":"Sandbox.Timedout","errorMessage":"Task timed out after 5.00 seconds"}`)
		}, func(_ []byte, err error) bool { return errors.As(err, &failed) && failed.Type == "Sandbox.Timedout" }},
		"Lambda fails": {refusing(500, "ServiceException"), func(_ []byte, err error) bool {
			return err != nil && !errors.Is(err, backend.ErrBusy) && !errors.As(err, new(*backend.NotInvokedError)) && !errors.As(err, new(*backend.FailedError))
		}},
	} {
		answer = c.answer
		before := asked.Load()
		if got, err := postal.Invoke(t.Context(), []byte(`{"a":1}`)); !c.is(got, err) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if n := asked.Load() - before; n != 1 {
			t.Errorf("%s: invoked %d times", name, n)
		}
	}
	answer = func(http.ResponseWriter) { time.Sleep(100 * time.Millisecond) }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := postal.Invoke(ctx, []byte(`{"a":1}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past its time: %v", err)
	}
}
