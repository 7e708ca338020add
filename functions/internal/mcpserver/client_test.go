package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/problem"
)

// withKey adds the API key to a client's requests.
type withKey struct {
	key  string
	next http.RoundTripper
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

// client connects the SDK's own client over HTTP.
type client struct {
	*mcp.ClientSession
	progress chan string
}

func (w *world) connect(t *testing.T, version, key string) (*client, error) {
	t.Helper()
	server := httptest.NewServer(w.handler)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	c := &client{progress: make(chan string, 10)}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.progress <- r.Params.Message
		},
	})
	var err error
	c.ClientSession, err = sdk.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: server.URL + "/mcp", MaxRetries: -1,
		HTTPClient: &http.Client{Transport: withKey{key, transport}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// TestClient: the SDK's client goes the whole way on every version of the protocol.
func TestClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t)
			c, err := w.connect(t, version, goodKey)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "sekisho" || !strings.Contains(got.Instructions, "utility_get_usage") {
				t.Errorf("initialized with %+v", got)
			}
			if caps, _ := json.Marshal(c.InitializeResult().Capabilities); string(caps) != `{"tools":{}}` {
				t.Errorf("capabilities: %s", caps)
			}
			c.lists(t)
			c.calls(t, w)
			c.isRefused(t, w)
			if strings.Contains(w.log.String(), "SECRET") {
				t.Errorf("a key is in the log: %s", w.log.String())
			}
		})
	}
}

func (c *client) lists(t *testing.T) {
	t.Helper()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) < 10 {
		t.Fatalf("%v: %+v", err, list)
	}
	if list.CacheScope != "private" || list.TTLMs <= 0 || list.TTLMs > 30_000 {
		t.Errorf("the list may be kept for %d ms, %s", list.TTLMs, list.CacheScope)
	}
	if list, err := c.ListPrompts(t.Context(), nil); err != nil || len(list.Prompts) != 0 {
		t.Errorf("prompts: %v, %v", list, err)
	}
	if list, err := c.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
		t.Errorf("resources: %v, %v", list, err)
	}
	if list, err := c.ListResourceTemplates(t.Context(), nil); err != nil || len(list.ResourceTemplates) != 0 {
		t.Errorf("templates: %v, %v", list, err)
	}
}

func (c *client) calls(t *testing.T, w *world) {
	t.Helper()
	w.called()
	params := &mcp.CallToolParams{Name: "postal.lookup", Arguments: map[string]any{"postal_code": "100-0001"}}
	params.SetProgressToken("token")
	r, err := c.CallTool(t.Context(), params)
	if err != nil || r.IsError {
		t.Fatalf("%v: %+v", err, r)
	}
	if got, _ := r.StructuredContent.(map[string]any); got["formatted"] != "100-0001" {
		t.Errorf("structured content: %v", r.StructuredContent)
	}
	if calls := w.called(); !slices.Equal(calls, []string{"GET /v1/postal/100-0001"}) {
		t.Errorf("REST calls: %q", calls)
	}
	// The client handles notifications beside the call, so they may come after its result.
	for _, want := range []string{"postal_lookup has begun", "postal_lookup has finished"} {
		select {
		case got := <-c.progress:
			if got != want {
				t.Errorf("progress: %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("progress %q did not come", want)
		}
	}
}

func (c *client) isRefused(t *testing.T, w *world) {
	t.Helper()
	w.rest = refuses(429, nil, limited())
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "postal_lookup", Arguments: map[string]any{"postal_code": "100-0001"}})
	if err != nil || !r.IsError || r.StructuredContent != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	var b problem.Body
	if err := json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), &b); err != nil || b.Error != problem.LimitExceeded {
		t.Errorf("%v: %+v", err, b)
	}
	if _, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "no.tool"}); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
		t.Errorf("unknown tool: %v", err)
	}
	if r, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "utility.diagnose_mcp"}); err != nil || r.IsError {
		t.Errorf("diagnosis at zero quota: %v, %+v", err, r)
	}
}

// TestClientWithoutKey: the client's error holds the words that say what to do.
func TestClientWithoutKey(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		_, err := newWorld(t).connect(t, version, "SECRET-nobody")
		if err == nil || !strings.Contains(err.Error(), "x-api-key") || !strings.Contains(err.Error(), "sekisho keys create") {
			t.Errorf("%s: %v", version, err)
		}
	}
}
