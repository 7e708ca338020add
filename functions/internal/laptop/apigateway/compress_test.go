package apigateway

import (
	"compress/gzip"
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// TestCompress: what an integration answers is packed from the minimum size on, if the client asks.
func TestCompress(t *testing.T) {
	body := strings.Repeat("a", 100)
	encoding := ""
	s := script{things: func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		r := events.APIGatewayProxyResponse{StatusCode: 200, Body: body, Headers: map[string]string{}}
		if encoding != "" {
			r.Headers["Content-Encoding"] = encoding
		}
		return r, nil
	}}
	minimum := "100"
	s.change = func(c *setup) {
		c.Description = []byte(strings.Replace(string(c.Description), `"openapi":`, `"x-amazon-apigateway-minimum-compression-size":`+minimum+`,"openapi":`, 1))
	}
	f := newFixture(t, s)
	minimum = "101"
	above := newFixture(t, s)
	s.change = nil
	without := newFixture(t, s)
	for _, c := range []struct {
		name     string
		of       *fixture
		path     string
		accept   string
		encoding string
		packed   bool
	}{
		{name: "asked for", of: f, accept: "gzip", packed: true},
		{name: "as browsers ask", of: f, accept: "gzip, deflate, br, zstd", packed: true},
		{name: "weighted", of: f, accept: "br, GZIP ;q=0.5", packed: true},
		{name: "not asked for", of: f},
		{name: "refused", of: f, accept: "gzip;q=0, br"},
		{name: "anything", of: f, accept: "*"},
		{name: "packed already", of: f, accept: "gzip", encoding: "br"},
		{name: "too small", of: above, accept: "gzip"},
		{name: "switched off", of: without, accept: "gzip"},
		{name: "a refusal", of: f, path: "/nothing", accept: "gzip"},
	} {
		encoding = c.encoding
		if c.path == "" {
			c.path = "/open"
		}
		r := httptest.NewRequest("GET", c.path, nil)
		if c.accept != "" {
			r.Header.Set("Accept-Encoding", c.accept)
		}
		w := httptest.NewRecorder()
		c.of.ServeHTTP(w, r)
		if (w.Header().Get("Content-Encoding") == "gzip") != c.packed {
			t.Errorf("%s: Content-Encoding is %q", c.name, w.Header().Get("Content-Encoding"))
		}
		if !c.packed {
			continue
		}
		unpack, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text, err := io.ReadAll(unpack); err != nil || string(text) != body {
			t.Errorf("%s: %v, %q", c.name, err, text)
		}
	}
}
