package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// TestEveryRequestIsLogged: every request leaves one line, one write each, whatever is in it.
func TestEveryRequestIsLogged(t *testing.T) {
	var written strings.Builder
	writes := 0
	f := newFixture(t, script{change: func(c *setup) {
		c.AccessLog = writer(func(p []byte) (int, error) { writes++; return written.Write(p) })
	}})
	for _, path := range []string{"/things/7", "/nowhere", "/open", "/mock"} {
		f.call("GET", path, "", "User-Agent", "line\nbreak \" quote")
	}
	lines := strings.Split(strings.TrimSuffix(written.String(), "\n"), "\n")
	if len(lines) != 4 || writes != 4 {
		t.Fatalf("%d lines in %d writes, want one for each request of the API: %q", len(lines), writes, lines)
	}
	for i, line := range lines {
		var record map[string]string
		if err := json.Unmarshal([]byte(line), &record); err != nil || record["status"] == "" {
			t.Errorf("line %d: %v in %s", i, err, line)
		}
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestSubscriptionFilter: what failed after it was admitted passes, and what was over the limit;
// nothing else does.
func TestSubscriptionFilter(t *testing.T) {
	status := 200
	admitted := policy("Allow", "*", `{"gate":"admission_id=adm_9"}`)
	answer := admitted
	f := newFixture(t, script{
		authorizer: invokerFunc(func(context.Context, []byte) ([]byte, error) {
			if answer == "" {
				return nil, errors.New("Unauthorized")
			}
			return []byte(answer), nil
		}),
		things: func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: status}, nil
		},
	})
	for _, tc := range []struct {
		name, answer, path string
		status             int
		want               string // status, what the gate said, type; empty for no record
	}{
		{"success", admitted, "/things/7", 200, ""},
		{"redirect", admitted, "/things/7", 302, ""},
		{"client error", admitted, "/things/7", 404, "404 admission_id=adm_9 -"},
		{"server error", admitted, "/things/7", 500, "500 admission_id=adm_9 -"},
		{"malformed", admitted, "/things/7", 999, "502 admission_id=adm_9 DEFAULT_5XX"},
		{"exempt", policy("Allow", "*", `{"gate":"operation=things.get"}`), "/things/7", 500, ""},
		{"no context", policy("Allow", "*", `{}`), "/things/7", 500, ""},
		{"over the limit", policy("Deny", "*", `{"gate":"denial=limit_exceeded"}`), "/things/7", 200, "403 denial=limit_exceeded ACCESS_DENIED"},
		{"another denial", policy("Deny", "*", `{"gate":"denial=other"}`), "/things/7", 200, ""},
		{"unauthorized", "", "/things/7", 200, ""},
		{"unknown route", admitted, "/nowhere", 200, ""},
		{"public", admitted, "/open", 500, ""},
	} {
		answer, status = tc.answer, tc.status
		before := len(f.records)
		f.call("GET", tc.path, "", "User-Agent", `quote " backslash \ `+"\x01")
		records := f.records[before:]
		if tc.want == "" {
			if len(records) != 0 {
				t.Errorf("%s: record %v", tc.name, records)
			}
			continue
		}
		if len(records) != 1 {
			t.Errorf("%s: records %v", tc.name, records)
			continue
		}
		r := records[0]
		if got := strings.Join([]string{r["status"], r["gate"], r["type"]}, " "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if r["route"] != "/things/{id}" || r["agent"] != `quote " backslash \ `+"\x01" {
			t.Errorf("%s: record %v", tc.name, r)
		}
	}
}

// TestTheRecordComesBeforeTheAnswer: a caller that has the answer can count on it.
func TestTheRecordComesBeforeTheAnswer(t *testing.T) {
	logged := 0
	f := newFixture(t, script{change: func(c *setup) {
		c.AccessLog = writer(func(p []byte) (int, error) { logged++; return len(p), nil })
	}})
	w := &answering{header: http.Header{}, before: func() {
		if logged != 1 {
			t.Errorf("%d records when the answer goes out", logged)
		}
	}}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "/things/7", nil)
	f.ServeHTTP(w, r)
	if !w.answered {
		t.Error("no answer")
	}
}

// answering is a connection that looks around before it is answered.
type answering struct {
	header   http.Header
	before   func()
	answered bool
}

func (a *answering) Header() http.Header         { return a.header }
func (a *answering) Write(p []byte) (int, error) { return len(p), nil }
func (a *answering) WriteHeader(int)             { a.before(); a.answered = true }

// TestClientGone: the function runs to its end, and the call is recorded.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		f := newFixture(t, script{things: func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			time.Sleep(time.Second)
			ended = ctx.Err() == nil
			return events.APIGatewayProxyResponse{StatusCode: 500}, nil
		}})
		ctx, cancel := context.WithCancel(context.Background())
		r, _ := http.NewRequestWithContext(ctx, "GET", "/things/7", nil)
		cancel()
		f.ServeHTTP(discard{http.Header{}}, r)
		if !ended {
			t.Error("the function was stopped")
		}
		if len(f.records) != 1 || f.records[0]["status"] != "500" {
			t.Errorf("records %v", f.records)
		}
	})
}

// discard is the connection of a client that has gone.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (d discard) Write([]byte) (int, error) { return 0, http.ErrAbortHandler }
func (d discard) WriteHeader(int)           {}
