package function_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"sekisho/functions/internal/aws/function"
	"sekisho/functions/internal/backend"
)

// api answers for Lambda's Invoke API, as its reference describes the answers
// (docs.aws.amazon.com/lambda/latest/api/API_Invoke.html).
func api(t *testing.T, answer http.HandlerFunc) (i backend.Invoker, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Method != "POST" || r.URL.Path != "/2015-03-31/functions/orders/invocations" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}
	return function.New(cfg, backend.Settings{FunctionARN: "orders", Endpoint: server.URL}), calls
}

// TestAFunctionIsInvokedOnce, whatever becomes of it, and each end is told from the others.
func TestAFunctionIsInvokedOnce(t *testing.T) {
	isBusy := func(err error) bool { return errors.Is(err, backend.ErrBusy) }
	never := func(err error) bool { var e *backend.NotInvokedError; return errors.As(err, &e) }
	failed := func(err error) bool { var e *backend.FailedError; return errors.As(err, &e) && e.Type == "KeyError" }
	nobodyKnows := func(err error) bool { return err != nil && !isBusy(err) && !never(err) && !failed(err) }
	for name, c := range map[string]struct {
		status int
		header string
		body   string
		is     func(error) bool
	}{
		"an answer":          {200, "", `{"statusCode":200}`, func(err error) bool { return err == nil }},
		"it failed":          {200, "X-Amz-Function-Error: Unhandled", `{"errorType":"KeyError","errorMessage":"SECRET"}`, failed},
		"throttled":          {429, "X-Amzn-Errortype: TooManyRequestsException", `{"message":"Rate Exceeded."}`, isBusy},
		"no such function":   {404, "X-Amzn-Errortype: ResourceNotFoundException", `{"message":"Function not found"}`, never},
		"no right to":        {403, "X-Amzn-Errortype: AccessDeniedException", `{"message":"not authorized"}`, never},
		"Lambda is at fault": {500, "X-Amzn-Errortype: ServiceException", `{"message":"?"}`, nobodyKnows},
	} {
		t.Run(name, func(t *testing.T) {
			i, calls := api(t, func(w http.ResponseWriter, r *http.Request) {
				if sent, _ := io.ReadAll(r.Body); string(sent) != `{"httpMethod":"GET"}` {
					t.Errorf("sent %s", sent)
				}
				if header, value, ok := strings.Cut(c.header, ": "); ok {
					w.Header().Set(header, value)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			answer, err := i.Invoke(t.Context(), []byte(`{"httpMethod":"GET"}`))
			if !c.is(err) || calls.Load() != 1 || err == nil && string(answer) != c.body || err != nil && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s, %v after %d calls", answer, err, calls.Load())
			}
		})
	}
}

func TestAnInvocationEndsInTime(t *testing.T) {
	i, calls := api(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := i.Invoke(ctx, []byte(`{}`)); !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
