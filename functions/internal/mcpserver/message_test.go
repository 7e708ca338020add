package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// FuzzParseMessage: what the guard reads of a message is what the SDK reads of the form in
// which it is passed on; nothing can be smuggled past by spelling or by repetition.
func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":-0,"method":"\u0070ing","Method":"x","method":"y"}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"ping","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`[]`, ` `, `null`, `{"id":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, "\ufeff{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, refused := parseMessage(body)
		if (m == nil) == (refused == nil) {
			t.Fatal("neither a message nor a refusal, or both")
		}
		if refused != nil {
			if refused.code == 0 || refused.message == "" || refused.id != nil && !json.Valid(refused.id) {
				t.Fatalf("an incomplete refusal: %+v", refused)
			}
			return
		}
		if m.response || m.id == nil {
			return
		}
		encoded := m.encode()
		if !json.Valid(encoded) {
			t.Fatalf("encoded as %s", encoded)
		}
		again, refused := parseMessage(encoded)
		if refused != nil || again.method != m.method || !bytes.Equal(again.params, m.params) || !bytes.Equal(again.progressToken, m.progressToken) || again.version != m.version {
			t.Fatalf("read again as %+v, %+v; was %+v", again, refused, m)
		}
		decoded, err := jsonrpc.DecodeMessage(encoded)
		if err != nil {
			if strings.Contains(err.Error(), "depth") {
				return // deeper than the SDK reads; it refuses that itself
			}
			t.Fatalf("the SDK can't read %s: %v", encoded, err)
		}
		request, ok := decoded.(*jsonrpc.Request)
		if !ok || request.Method != m.method || !request.IsCall() {
			t.Fatalf("the SDK reads %+v, the guard %+v", decoded, m)
		}
	})
}

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		values       string
		json, stream bool
	}{
		{"", true, false}, {"*/*", true, true}, {"application/json", true, false}, {"text/event-stream", false, true},
		{"application/json, text/event-stream;q=0.5", true, true}, {"TEXT/*", false, true}, {"text/html", true, false},
		{"application/*", true, false}, {",,;", true, false},
	} {
		if j, s := accepts([]string{c.values}); j != c.json || s != c.stream {
			t.Errorf("%q: json %v, stream %v", c.values, j, s)
		}
	}
	if j, s := accepts(nil); !j || !s {
		t.Errorf("no header: json %v, stream %v", j, s)
	}
}

// TestRecovering: a panic around a tool, in a method of the SDK for example, is an answer.
func TestRecovering(t *testing.T) {
	s, x := &server{Config: Config{Log: zap.NewNop()}}, &exchange{}
	handle := s.recovering(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("boom") })
	result, err := handle(context.WithValue(t.Context(), exchangeKey{}, x), "tools/list", nil)
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternalError || result != nil || x.outcome != "internal" {
		t.Errorf("got %v, %v, outcome %q", result, err, x.outcome)
	}
	if strings.Contains(err.Error(), "boom") {
		t.Errorf("the panic is shown: %v", err)
	}
}

// TestEstimateTokens: four ASCII characters, or one other, are a token.
func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "千代田": 3, "ab千": 2} {
		if got := estimateTokens([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
