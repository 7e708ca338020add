package apigateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/laptop/front"
)

// half sends part of a body, and then waits until it is closed.
func half(t *testing.T, bytesSent int) (body io.Reader, closeIt func()) {
	r, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		w.Write(bytes.Repeat([]byte("x"), bytesSent))
		close(sent)
	}()
	t.Cleanup(func() { w.Close() })
	return r, func() { <-sent; w.Close() }
}

// TestBodiesShareMemory: large bodies that are half sent don't add up without bound, small
// ones still pass, and what was taken is given back.
func TestBodiesShareMemory(t *testing.T) {
	f := newFixture(t, script{})
	const senders, size, share = 10, 3 * front.SmallBody, 12 * front.SmallBody
	f.bodies = front.NewBodies(share)
	codes := make(chan int, senders)
	var finish []func()
	for range senders {
		body, closeIt := half(t, size)
		finish = append(finish, closeIt)
		go func() {
			r := httptest.NewRequest("POST", "/open", body)
			r.ContentLength = -1
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			codes <- w.Code
		}()
	}
	refused := 0
	for deadline := time.After(30 * time.Second); refused < senders-share/size; refused++ {
		select {
		case code := <-codes:
			if code != http.StatusTooManyRequests {
				t.Errorf("status %d, want 429", code)
			}
		case <-deadline:
			t.Fatalf("%d of %d large bodies were refused", refused, senders)
		}
	}
	wantStatus(t, f.call("POST", "/open", strings.Repeat("x", front.SmallBody-1)), http.StatusOK)
	for _, closeIt := range finish {
		go closeIt()
	}
	for range senders - refused {
		<-codes
	}
	if left := f.bodies.Left(); left != share {
		t.Errorf("%d bytes are left, want %d", left, share)
	}
	wantStatus(t, f.call("POST", "/open", strings.Repeat("x", share)), http.StatusOK)
}

// TestNoBodyIsReadWithoutAKey: the authorizer decides first.
func TestNoBodyIsReadWithoutAKey(t *testing.T) {
	f := newFixture(t, script{authorizer: fails("Unauthorized")})
	r := httptest.NewRequest("PUT", "/things/7", untouched{t})
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	wantStatus(t, w, http.StatusUnauthorized)
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestSlowBody: a client that stops sending is cut off, and its call is recorded as a failure.
func TestSlowBody(t *testing.T) {
	f := newFixture(t, script{things: func(_ context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		t.Errorf("the function ran, with %d bytes", len(e.Body))
		return events.APIGatewayProxyResponse{StatusCode: 200}, nil
	}})
	server := httptest.NewUnstartedServer(f)
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	io.WriteString(connection, "PUT /things/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
	connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(connection)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("%v, %s", err, answer)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.records) != 1 || f.records[0]["status"] != "400" || f.records[0]["gate"] != "admission_id=adm_1" {
		t.Errorf("records %v", f.records)
	}
}
