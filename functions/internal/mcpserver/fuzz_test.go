package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/mcpserver"
)

// FuzzBody: whatever is posted, with a key or without, in either era, the answer is a
// JSON-RPC response or nothing at all, and nothing crashes or hangs.
func FuzzBody(f *testing.F) {
	for _, x := range exchanges() {
		if len(x.body) < 1000 {
			f.Add([]byte(x.body), "", "application/json")
			f.Add([]byte(x.body), "2026-07-28", "text/event-stream")
		}
	}
	f.Add([]byte(strings.Repeat(`{"params":`, 2000)+"1"+strings.Repeat("}", 2000)), "", "*/*")
	w := newWorld(f, func(c *mcpserver.Config) { c.Log = zap.NewNop() })
	f.Fuzz(func(t *testing.T, body []byte, version, accept string) {
		// The key's own text in a body may come back to who sent it; that is no leak.
		if !utf8.Valid(body) || strings.Contains(string(body), "SECRET") {
			t.Skip()
		}
		w.t = t
		headers := map[string]string{"content-type": "application/json", "x-api-key": goodKey, "accept": accept}
		if version != "" {
			headers["mcp-protocol-version"] = version
		}
		r := w.event(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Body: string(body), Headers: headers})
		w.called()
		if r.StatusCode == 202 && r.Body == "" || strings.HasPrefix(r.Headers["Content-Type"], "text/event-stream") && strings.HasPrefix(r.Body, "event: message\ndata: {") {
			return
		}
		var answer struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code int64 `json:"code"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || r.Headers["Content-Type"] != "application/json" {
			t.Fatalf("status %d, %v: %q", r.StatusCode, err, r.Body)
		}
		if (answer.Error == nil) == (answer.Result == nil) || answer.Error != nil && answer.Error.Code == 0 {
			t.Fatalf("neither a result nor an error with a code: %s", r.Body)
		}
		sameID(t, body, answer.ID)
	})
}

// sameID: the id in an answer is the one that was sent, or null.
func sameID(t *testing.T, body []byte, got any) {
	t.Helper()
	var sent map[string]any
	if got == nil || json.Unmarshal(body, &sent) != nil {
		return
	}
	if sent["id"] != got {
		t.Fatalf("id %v was answered with %v", sent["id"], got)
	}
}
