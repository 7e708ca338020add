package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// TestAccessLogTo: every request leaves one line, one write each, whatever is in it.
func TestAccessLogTo(t *testing.T) {
	var written strings.Builder
	writes := 0
	f := newFixture(t, script{change: func(c *Config) {
		c.AccessLogTo = writer(func(p []byte) (int, error) { writes++; return written.Write(p) })
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

// TestAccessLog: what failed after it was admitted reaches the settle function, and what was
// over the limit; nothing else does.
func TestAccessLog(t *testing.T) {
	status := 200
	admitted := policy("Allow", "*", `{"admission_id":"adm_9"}`)
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
		want               string // status, admission, denial, type; empty for no record
	}{
		{"success", admitted, "/things/7", 200, ""},
		{"redirect", admitted, "/things/7", 302, ""},
		{"client error", admitted, "/things/7", 404, "404 adm_9 - -"},
		{"server error", admitted, "/things/7", 500, "500 adm_9 - -"},
		{"malformed", admitted, "/things/7", 999, "502 adm_9 - DEFAULT_5XX"},
		{"exempt", policy("Allow", "*", `{"admission_id":""}`), "/things/7", 500, ""},
		{"no context", policy("Allow", "*", `{}`), "/things/7", 500, ""},
		{"over the limit", policy("Deny", "*", `{"denial":"limit_exceeded"}`), "/things/7", 200, "403 - limit_exceeded ACCESS_DENIED"},
		{"another denial", policy("Deny", "*", `{"denial":"other"}`), "/things/7", 200, ""},
		{"unauthorized", "", "/things/7", 200, ""},
		{"unknown route", admitted, "/nowhere", 200, ""},
		{"public", admitted, "/open", 500, ""},
	} {
		answer, status = tc.answer, tc.status
		before := len(f.settled(t))
		f.call("GET", tc.path, "", "User-Agent", `quote " backslash \ `+"\x01")
		records := f.settled(t)[before:]
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
		if got := strings.Join([]string{r["status"], r["admission_id"], r["denial"], r["type"]}, " "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if r["route"] != "/things/{id}" || r["agent"] != `quote " backslash \ `+"\x01" {
			t.Errorf("%s: record %v", tc.name, r)
		}
	}
}

// failing makes every call to things fail after admission.
func failing(s script) script {
	s.things = func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		return events.APIGatewayProxyResponse{StatusCode: 500}, nil
	}
	return s
}

// TestRedelivery: a batch that the settle function refuses comes again until it is taken.
func TestRedelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		f := newFixture(t, failing(script{settle: func(context.Context, events.CloudwatchLogsEvent) (any, error) {
			if tries.Add(1) < 4 {
				return nil, errors.New("store down")
			}
			return nil, nil
		}}))
		for range 5 {
			f.call("GET", "/things/7", "")
		}
		if got := f.settled(t); len(got) != 5 || tries.Load() != 4 {
			t.Errorf("%d records after %d tries", len(got), tries.Load())
		}
	})
}

// TestThrottledSettle: switched off, it gets its records once it is on again.
func TestThrottledSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, failing(script{}))
		if err := f.SetReserved("settle", 0); err != nil {
			t.Fatal(err)
		}
		f.call("GET", "/things/7", "")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := f.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 access log records") {
			t.Errorf("Flush: %v", err)
		}
		if err := f.SetReserved("settle", Unreserved); err != nil {
			t.Fatal(err)
		}
		if got := f.settled(t); len(got) != 1 {
			t.Errorf("records %v", got)
		}
	})
}

// TestBatches: records that come together go together, at most 100 at once, each once, and
// their IDs differ.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		ids := map[string]bool{}
		f := newFixture(t, failing(script{
			settle: func(_ context.Context, e events.CloudwatchLogsEvent) (any, error) {
				data, err := e.AWSLogs.Parse()
				if err != nil || data.MessageType != "DATA_MESSAGE" || data.LogGroup != "/sekisho/dev/access" {
					return nil, fmt.Errorf("%+v, %w", data, err)
				}
				sizes = append(sizes, len(data.LogEvents))
				for _, event := range data.LogEvents {
					ids[event.ID] = true
				}
				return nil, nil
			},
			change: func(c *Config) { c.FlushDelay = time.Minute },
		}))
		for range 250 {
			f.call("GET", "/things/7", "")
		}
		if got := f.settled(t); len(got) != 250 || len(ids) != 250 {
			t.Errorf("%d records, %d IDs", len(got), len(ids))
		}
		if fmt.Sprint(sizes) != "[100 100 50]" {
			t.Errorf("batches of %v", sizes)
		}
	})
}

// TestDeliveredWithoutFlush: the background does it too.
func TestDeliveredWithoutFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, failing(script{change: func(c *Config) { c.FlushDelay = 0 }}))
		f.call("GET", "/things/7", "")
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if len(f.records) != 1 {
			t.Errorf("records %v", f.records)
		}
	})
}

// TestCloseDelivers: nothing is lost by a clean stop; afterwards records are refused.
func TestCloseDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, failing(script{change: func(c *Config) { c.FlushDelay = time.Hour }}))
		f.call("GET", "/things/7", "")
		if err := f.Gateway.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		f.call("GET", "/things/7", "")
		if len(f.records) != 1 {
			t.Errorf("records %v", f.records)
		}
	})
}

// TestConcurrentRecords: under load none is lost and none comes twice.
func TestConcurrentRecords(t *testing.T) {
	f := newFixture(t, failing(script{}))
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 50 {
				f.call("GET", "/things/7", "")
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	if got := len(f.settled(t)); got != 400 {
		t.Errorf("%d records", got)
	}
	if got := f.functions["things"].snapshot().Invocations; got != 400 {
		t.Errorf("%d invocations", got)
	}
}
