package mcpserver_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/mcpserver"
)

// instant is a REST API without a network: what is measured is the MCP layer.
var instant = roundTripper(func(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"postal_code":"1000001","formatted":"100-0001","addresses":[]}`))}, nil
})

func benchmark(b *testing.B, headers []string, body string) {
	w := newWorld(b, func(c *mcpserver.Config) {
		c.Client = &http.Client{Transport: instant}
		c.Log = zap.NewNop()
	})
	event := (&exchange{headers: headers, body: body, path: "/mcp"}).event()
	want := w.event(context.Background(), event)
	if want.StatusCode != 200 || strings.Contains(want.Body, "isError") {
		b.Fatalf("got %+v", want)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(want.Body)))
	invokeLoop(b, w, event, `{"statusCode":200,`)
}

// invokeLoop measures invocations, from the event's JSON to the answer's.
func invokeLoop(b *testing.B, w *world, event events.APIGatewayProxyRequest, want string) {
	function, payload := gateway.Handler(w.handler, nil), w.encode(event)
	for b.Loop() {
		if got, err := function.Invoke(context.Background(), payload); err != nil || !strings.HasPrefix(string(got), want) {
			b.Fatal(string(got), err)
		}
	}
}

// collectors are the settings of the garbage collector to compare: Go's own, and none
// until memory is short, as the function runs in Lambda.
func collectors(b *testing.B, run func(*testing.B)) {
	for _, c := range []struct {
		name    string
		percent int
		limit   int64
	}{{"GOGC=100", 100, math.MaxInt64}, {"GOGC=off,GOMEMLIMIT=96MiB", -1, 96 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			percent, limit := debug.SetGCPercent(c.percent), debug.SetMemoryLimit(c.limit)
			defer func() {
				debug.SetGCPercent(percent)
				debug.SetMemoryLimit(limit)
			}()
			run(b)
		})
	}
}

func BenchmarkCall(b *testing.B) {
	collectors(b, func(b *testing.B) { benchmark(b, authed, legacy("tools/call", lookup)) })
}

func BenchmarkCallModern(b *testing.B) {
	collectors(b, func(b *testing.B) {
		benchmark(b, era("tools/call", "mcp-name", "postal.lookup"), modern("tools/call", lookup))
	})
}

func BenchmarkList(b *testing.B) {
	collectors(b, func(b *testing.B) { benchmark(b, authed, legacy("tools/list", "")) })
}

func BenchmarkNoKey(b *testing.B) {
	w := newWorld(b, func(c *mcpserver.Config) { c.Log = zap.NewNop() })
	event := events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: ping, Headers: map[string]string{"content-type": "application/json"}}
	event.Path = "/mcp"
	b.ReportAllocs()
	invokeLoop(b, w, event, `{"statusCode":401,`)
}
