//go:build interop

package backends

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is a real MCP client.
type client interface {
	list(context.Context) ([]string, error)
	call(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool, err error)
}

var clients = map[string]func(t *testing.T, url, key string) client{"go-sdk": newGoSDK, "mcp-go": newMCPGo}

type goSDK struct{ session *mcp.ClientSession }

// withKey sends a key with each request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("x-api-key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func newGoSDK(t *testing.T, url, key string) client {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withKey(key)}}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() }) // the service ends sessions of its own
	return goSDK{session}
}

func (c goSDK) list(ctx context.Context) (names []string, err error) {
	for tool, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c goSDK) call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error) {
	got, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", false, err
	}
	text := ""
	for _, part := range got.Content {
		if part, ok := part.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, got.IsError, nil
}

type mcpGo struct{ client *mcpgo.Client }

func newMCPGo(t *testing.T, url, key string) client {
	over, err := transport.NewStreamableHTTP(url, transport.WithHTTPHeaders(map[string]string{"x-api-key": key}))
	must(t, err)
	c := mcpgo.NewClient(over)
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Initialize(t.Context(), mcpgotypes.InitializeRequest{Params: mcpgotypes.InitializeParams{
		ProtocolVersion: "2025-11-25", ClientInfo: mcpgotypes.Implementation{Name: "mcp-go", Version: "1"},
	}})
	must(t, err)
	return mcpGo{c}
}

func (c mcpGo) list(ctx context.Context) (names []string, err error) {
	list, err := c.client.ListTools(ctx, mcpgotypes.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c mcpGo) call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error) {
	got, err := c.client.CallTool(ctx, mcpgotypes.CallToolRequest{Params: mcpgotypes.CallToolParams{Name: tool, Arguments: arguments}})
	if err != nil {
		return "", false, err
	}
	text := ""
	for _, part := range got.Content {
		if part, ok := part.(mcpgotypes.TextContent); ok {
			text += part.Text
		}
	}
	return text, got.IsError, nil
}

// problem is what an agent reads of a refusal.
type problem struct {
	Error  string `json:"error"`
	Status int    `json:"status"`
	Hint   string `json:"hint"`
}

func (p problem) String() string {
	if p.Status == 0 {
		return p.Error
	}
	encoded, _ := json.Marshal(p.Status)
	return p.Error + " " + string(encoded)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
