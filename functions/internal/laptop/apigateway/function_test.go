package apigateway

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// TestFunctionTimeout: a 502 when the time is up, the slot is free again, and what comes
// too late is thrown away.
func TestFunctionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var stuck atomic.Bool
		stuck.Store(true)
		f := newFixture(t, script{
			refusals: allTypes,
			things: func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				if stuck.Load() {
					<-release // deaf to its context
				}
				return events.APIGatewayProxyResponse{StatusCode: 200, Body: "answer"}, nil
			},
			change: func(c *Config) {
				things := c.Functions["things"]
				things.Reserved = 1
				c.Functions["things"] = things
			},
		})
		began := time.Now()
		w := f.call("GET", "/open", "")
		wantStatus(t, w, http.StatusBadGateway)
		if w.Body.String() != "DEFAULT_5XX " || time.Since(began) != 5*time.Second {
			t.Errorf("body %s after %s", w.Body, time.Since(began))
		}
		stuck.Store(false)
		if got := f.call("GET", "/open", "").Body.String(); got != "answer" {
			t.Errorf("the slot is not free: %s", got)
		}
		close(release)
		synctest.Wait()
		if got := f.functions["things"].snapshot(); got.Invocations != 2 || got.Errors != 1 || got.Concurrent != 0 {
			t.Errorf("counts %+v", got)
		}
	})
}

// TestIntegrationTimeout: the gateway gives up first; the function keeps its slot until it
// ends, as in Lambda.
func TestIntegrationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, script{
			refusals: allTypes,
			things: func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				time.Sleep(40 * time.Second)
				return events.APIGatewayProxyResponse{StatusCode: 200}, nil
			},
			change: func(c *Config) {
				c.Functions["things"] = Function{Handler: c.Functions["things"].Handler, Timeout: time.Minute, Reserved: 1}
			},
		})
		began := time.Now()
		w := f.call("GET", "/open", "")
		wantStatus(t, w, http.StatusGatewayTimeout)
		if w.Body.String() != "INTEGRATION_TIMEOUT " || time.Since(began) != IntegrationTimeout {
			t.Errorf("body %s after %s", w.Body, time.Since(began))
		}
		if w := f.call("GET", "/open", ""); w.Body.String() != "INTEGRATION_FAILURE " {
			t.Errorf("the function still runs: %s", w.Body)
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if got := f.functions["things"].snapshot(); got.Concurrent != 0 || got.Errors != 0 || got.Throttles != 1 {
			t.Errorf("counts %+v", got)
		}
	})
}

// TestReservedConcurrency: exactly n run, the rest is refused at once, without a queue.
func TestReservedConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, script{
			refusals: allTypes,
			things: func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				time.Sleep(time.Second)
				return events.APIGatewayProxyResponse{StatusCode: 200}, nil
			},
		})
		if err := f.SetReserved("things", 3); err != nil {
			t.Fatal(err)
		}
		codes := make(chan int, 20)
		for range 20 {
			go func() { codes <- f.call("GET", "/open", "").Code }()
		}
		got := map[int]int{}
		for range 20 {
			got[<-codes]++
		}
		if got[200] != 3 || got[504] != 17 {
			t.Errorf("answers %v", got)
		}
		wantStatus(t, f.call("GET", "/open", ""), 200)
		if err := f.SetReserved("things", 0); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, f.call("GET", "/open", ""), 504)
		if err := f.SetReserved("things", Unreserved); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, f.call("GET", "/open", ""), 200)
		if f.SetReserved("nothing", 1) == nil || f.SetReserved("things", -2) == nil {
			t.Error("nonsense is taken")
		}
	})
}

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
		if got := f.settled(t); len(got) != 1 || got[0]["status"] != "500" {
			t.Errorf("records %v", got)
		}
	})
}

// discard is the connection of a client that has gone.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (d discard) Write([]byte) (int, error) { return 0, http.ErrAbortHandler }
func (d discard) WriteHeader(int)           {}

// TestCloseDoesNotWaitForEver: a function that hangs is left behind.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, script{settle: func(ctx context.Context, _ events.CloudwatchLogsEvent) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, things: func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 500}, nil
		}})
		f.call("GET", "/things/7", "")
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if err := f.Gateway.Close(ctx); err == nil || time.Since(began) != 2*time.Second {
			t.Errorf("Close: %v after %s", err, time.Since(began))
		}
		f.left = true // nothing more can be delivered
	})
}

func TestBadConfigurations(t *testing.T) {
	ok := answers(`{}`)
	functions := func(names ...string) map[string]Function {
		m := map[string]Function{}
		for _, name := range names {
			m[name] = Function{Handler: ok, Reserved: Unreserved}
		}
		return m
	}
	for name, c := range map[string]Config{
		"not JSON":           {Description: []byte("x")},
		"function missing":   {Functions: functions("authorizer"), Authorizer: "authorizer"},
		"authorizer missing": {Functions: functions("things")},
		"settle missing":     {Functions: functions("things", "authorizer"), Authorizer: "authorizer", Settle: "settle"},
		"no handler":         {Functions: map[string]Function{"things": {}}},
		"reserved":           {Functions: map[string]Function{"things": {Handler: ok, Reserved: -2}}},
		"shared buffer":      {Functions: map[string]Function{"things": {Handler: lambda.NewHandler(func() {})}}},
	} {
		if c.Description == nil {
			c.Description = applied("")
		}
		if g, err := New(c); err == nil {
			_ = g.Close(context.Background())
			t.Errorf("%s: no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestIntegrationLimit(t *testing.T) {
	for _, tc := range []struct {
		configured  time.Duration
		describedMS int64
		want        time.Duration
	}{{0, 0, 29 * time.Second}, {0, 5000, 5 * time.Second}, {time.Second, 5000, time.Second}} {
		g := &Gateway{config: Config{IntegrationTimeout: tc.configured}}
		if got := g.integrationLimit(tc.describedMS); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}
