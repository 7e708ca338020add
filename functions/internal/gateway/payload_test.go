package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/gateway"
)

// TestSecondFormat: what a handler sees of a request does not depend on who hands it over. The
// events under testdata have the shape that AWS documents for each sender.
func TestSecondFormat(t *testing.T) {
	for _, name := range []string{"rest_api", "http_api", "function_url"} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var seen http.Header
			f := gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				e, _ := gateway.Event(r.Context())
				got := strings.Join([]string{
					r.Method, r.URL.Path, strings.Join(r.URL.Query()["a"], "+"), r.Host, r.RemoteAddr, string(body),
					r.Header.Get("X-Api-Key"), r.Header.Get("Accept"), r.Header.Get("Cookie"), e.RequestContext.ExtendedRequestID,
				}, " | ")
				const want = "POST | /mcp | 1+2 | mcp.example | 192.0.2.1 | {\"é\":1} | KEY | application/json, text/event-stream | a=1; b=2 | request-1"
				if got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				seen = r.Header
				w.Header().Add("Vary", "Origin")
				w.Header().Add("Vary", "Accept")
				w.Header().Add("Set-Cookie", "a=1, 2")
				w.Header().Add("Set-Cookie", "b=2")
				w.WriteHeader(http.StatusTeapot)
				_, _ = io.WriteString(w, "<短い>")
			}), nil)
			answer, err := f.Invoke(t.Context(), raw)
			if err != nil || seen == nil {
				t.Fatal(err)
			}
			want := `{"statusCode":418,"headers":{"Vary":"Origin, Accept"},"body":"<短い>","isBase64Encoded":false,"cookies":["a=1, 2","b=2"]}`
			if name == "rest_api" {
				want = `{"statusCode":418,"headers":{},"multiValueHeaders":{"Set-Cookie":["a=1, 2","b=2"],"Vary":["Origin","Accept"]},"body":"<短い>"}`
			}
			if string(answer) != want {
				t.Errorf("answered %s\nwant     %s", answer, want)
			}
		})
	}
}

// Format 2.0 joins a header that comes twice. Where one value can't have a comma in it, two are
// told from one.
func TestSentTwice(t *testing.T) {
	event := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/mcp", Headers: map[string]string{
		"x-api-key": "a,b", "origin": "https://a.example,https://b.example", "accept": "a/b,c/d",
	}}
	var header http.Header
	invoke[json.RawMessage](t, t.Context(), gateway.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header }), nil), event)
	want := http.Header{"X-Api-Key": {"a", "b"}, "Origin": {"https://a.example", "https://b.example"}, "Accept": {"a/b,c/d"}}
	if !reflect.DeepEqual(header, want) {
		t.Errorf("got %v", header)
	}
}

// A variable of an HTTP API's stage reaches the handler.
func TestStageVariables(t *testing.T) {
	event := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/mcp", StageVariables: map[string]string{gateway.RESTAddress: "https://rest.example/live"}}
	var base string
	invoke[json.RawMessage](t, t.Context(), gateway.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e, _ := gateway.Event(r.Context())
		base, _ = gateway.BaseURL(e)
	}), nil), event)
	if base != "https://rest.example/live" {
		t.Errorf("base %q", base)
	}
}
