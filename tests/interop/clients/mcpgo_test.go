//go:build interop

package clients

import (
	"context"
	"encoding/json"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo is the client of mark3labs/mcp-go.
type mcpGo struct {
	version string

	client *mcpgo.Client
	news   *news
}

func (c *mcpGo) connect(ctx context.Context, at endpoint) (server, error) {
	c.close()
	headers := map[string]string{}
	for name := range at.header {
		headers[name] = at.header.Get(name)
	}
	http, err := transport.NewStreamableHTTP(at.url, transport.WithHTTPHeaders(headers))
	if err != nil {
		return server{}, &broken{err}
	}
	// A slow machine is not to be taken for a server without server/discover.
	client := mcpgo.NewClient(http, mcpgo.WithDiscoverTimeout(stepTime))
	c.client, c.news = client, &news{}
	client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			message, _ := n.Params.AdditionalFields["message"].(string)
			c.news.tell(n.Params.AdditionalFields["progressToken"], message)
		}
	})
	if err := client.Start(ctx); err != nil {
		return server{}, err
	}
	r, err := client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: c.version, ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1"},
	}})
	if err != nil {
		return server{}, err
	}
	return server{Name: r.ServerInfo.Name, Protocol: r.ProtocolVersion, Instructions: r.Instructions}, nil
}

func (c *mcpGo) list(ctx context.Context) ([]string, error) {
	list, err := c.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

func (c *mcpGo) others(ctx context.Context) (int, error) {
	prompts, err := c.client.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return 0, err
	}
	resources, err := c.client.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return 0, err
	}
	templates, err := c.client.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil {
		return 0, err
	}
	return len(prompts.Prompts) + len(resources.Resources) + len(templates.ResourceTemplates), nil
}

func (c *mcpGo) call(ctx context.Context, tool string, arguments map[string]any) (result, error) {
	got, err := c.client.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: tool, Arguments: arguments, Meta: &mcp.Meta{ProgressToken: c.news.next()},
	}})
	if err != nil {
		return result{}, err
	}
	r := result{IsError: got.IsError}
	for _, part := range got.Content {
		if t, ok := part.(mcp.TextContent); ok {
			r.Text += t.Text
		}
	}
	if got.StructuredContent != nil {
		encoded, err := json.Marshal(got.StructuredContent)
		if err == nil {
			err = json.Unmarshal(encoded, &r.Structured)
		}
		if err != nil {
			return r, &broken{err}
		}
	}
	r.Progress, err = c.news.of(ctx, r)
	return r, err
}

func (c *mcpGo) pass(context.Context, time.Duration) bool { return false }

func (c *mcpGo) close() {
	if c.client != nil {
		_ = c.client.Close() // the service ends sessions of its own
		c.client = nil
	}
}
