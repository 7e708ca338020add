package apigateway

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/laptop/lambda"
)

// TestIntegrationTimeout: the gateway gives up first; the function keeps its place until it
// ends, as in Lambda.
func TestIntegrationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, script{
			refusals: allTypes,
			things: func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				time.Sleep(40 * time.Second)
				return events.APIGatewayProxyResponse{StatusCode: 200}, nil
			},
			change: func(c *setup) {
				c.Functions["things"] = lambda.Function{Handler: c.Functions["things"].Handler, Timeout: time.Minute, Reserved: 1}
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
		if got := f.functions.Counts()["things"]; got.Concurrent != 0 || got.Errors != 0 || got.Throttles != 1 {
			t.Errorf("counts %+v", got)
		}
	})
}

// TestFunctionTimeout: a 502 when the function's time is up.
func TestFunctionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, script{
			refusals: allTypes,
			things: func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				<-ctx.Done()
				return events.APIGatewayProxyResponse{StatusCode: 200, Body: "too late"}, nil
			},
		})
		began := time.Now()
		w := f.call("GET", "/open", "")
		wantStatus(t, w, http.StatusBadGateway)
		if w.Body.String() != "DEFAULT_5XX " || time.Since(began) != 5*time.Second {
			t.Errorf("body %s after %s", w.Body, time.Since(began))
		}
	})
}

func TestBadConfigurations(t *testing.T) {
	for name, c := range map[string]struct {
		Config
		functions []string
	}{
		"not JSON":           {Config{Description: []byte("x")}, nil},
		"function missing":   {Config{Authorizer: "authorizer"}, []string{"authorizer"}},
		"authorizer missing": {Config{}, []string{"things"}},
	} {
		functions := map[string]lambda.Function{}
		for _, name := range c.functions {
			functions[name] = lambda.Function{Handler: answers(`{}`), Reserved: lambda.Unreserved}
		}
		var err error
		if c.Functions, err = lambda.New(functions, zap.NewNop()); err != nil {
			t.Fatal(err)
		}
		if c.Description == nil {
			c.Description = applied("")
		}
		if _, err := New(c.Config); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestIntegrationLimit(t *testing.T) {
	for described, want := range map[int64]time.Duration{0: 29 * time.Second, 5000: 5 * time.Second} {
		if got := integrationLimit(described); got != want {
			t.Errorf("described %d ms: %s, want %s", described, got, want)
		}
	}
}
