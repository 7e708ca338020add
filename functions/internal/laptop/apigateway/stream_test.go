package apigateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/boot"
)

// streaming is applied() with every integration in the transfer mode STREAM.
func streaming() []byte {
	text := strings.ReplaceAll(string(applied("")), `"type":"aws_proxy"`, `"type":"aws_proxy","responseTransferMode":"STREAM"`)
	text = strings.ReplaceAll(text, "lambda:path/2015-03-31/", "lambda:path/2021-11-15/")
	return []byte(strings.ReplaceAll(text, "/invocations", "/response-streaming-invocations"))
}

// newStream is a fixture whose function streams what body gives.
func newStream(t *testing.T, body func() (io.Reader, error)) *fixture {
	return newFixture(t, script{change: func(c *setup) {
		c.Description = streaming()
		f := c.Functions["things"]
		f.Handler = boot.HandleStream(f.Handler, func(context.Context, []byte) (*events.LambdaFunctionURLStreamingResponse, error) {
			from, err := body()
			return &events.LambdaFunctionURLStreamingResponse{StatusCode: 201, Headers: map[string]string{"Content-Type": "text/event-stream", "Www-Authenticate": "Bearer"}, Body: from}, err
		})
		c.Functions["things"] = f
	}})
}

// TestStream: a client has the first part before the function writes the second. Headers are
// renamed as those of a whole answer.
func TestStream(t *testing.T) {
	from, to := io.Pipe()
	f := newStream(t, func() (io.Reader, error) { return from, nil })
	server := httptest.NewServer(f)
	defer server.Close()
	go func() { _, _ = io.WriteString(to, "one\n") }()
	response, err := server.Client().Get(server.URL + "/open")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 201 || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Amzn-Remapped-Www-Authenticate") != "Bearer" {
		t.Errorf("%d with %v", response.StatusCode, response.Header)
	}
	read := bufio.NewReader(response.Body)
	if line, err := read.ReadString('\n'); line != "one\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	go func() { _, _ = io.WriteString(to, "two\n"); _ = to.Close() }()
	if rest, err := io.ReadAll(read); string(rest) != "two\n" || err != nil {
		t.Errorf("then %q, %v", rest, err)
	}
}

// What goes wrong before the first part is a gateway response, as for a whole answer.
func TestNoStream(t *testing.T) {
	f := newStream(t, func() (io.Reader, error) { return nil, errors.New("no") })
	wantStatus(t, f.call("GET", "/open", ""), http.StatusBadGateway)
	if err := f.functions.SetReserved("things", 0); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, f.call("GET", "/open", ""), http.StatusGatewayTimeout)
	whole := newFixture(t, script{change: func(c *setup) { c.Description = streaming() }}) // a function that knows nothing of streams
	wantStatus(t, whole.call("GET", "/open", ""), http.StatusBadGateway)
	if got := whole.functions.Counts()["things"]; got.Invocations != 1 || got.Concurrent != 0 {
		t.Errorf("counts %+v", got)
	}
}
