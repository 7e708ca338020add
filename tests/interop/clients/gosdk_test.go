//go:build interop

package clients

import (
	"context"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is the client of modelcontextprotocol/go-sdk, over HTTP or over what transport
// makes.
type goSDK struct {
	version   string
	transport func(endpoint) (mcp.Transport, error)

	session *mcp.ClientSession
	news    *news
}

func newGoSDK(version string) *goSDK {
	return &goSDK{version: version, transport: func(at endpoint) (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{
			Endpoint: at.url, HTTPClient: &http.Client{Transport: withHeader{at.header}},
		}, nil
	}}
}

// withHeader adds headers to every request of a Go client.
type withHeader struct{ header http.Header }

func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (c *goSDK) connect(ctx context.Context, at endpoint) (server, error) {
	c.close()
	transport, err := c.transport(at)
	if err != nil {
		return server{}, &broken{err}
	}
	c.news = &news{}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.news.tell(r.Params.ProgressToken, r.Params.Message)
		},
	})
	session, err := sdk.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: c.version})
	if err != nil {
		return server{}, err
	}
	c.session = session
	r := session.InitializeResult()
	return server{Name: r.ServerInfo.Name, Protocol: r.ProtocolVersion, Instructions: r.Instructions}, nil
}

func (c *goSDK) list(ctx context.Context) ([]string, error) {
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

func (c *goSDK) others(ctx context.Context) (int, error) {
	prompts, err := c.session.ListPrompts(ctx, nil)
	if err != nil {
		return 0, err
	}
	resources, err := c.session.ListResources(ctx, nil)
	if err != nil {
		return 0, err
	}
	templates, err := c.session.ListResourceTemplates(ctx, nil)
	if err != nil {
		return 0, err
	}
	return len(prompts.Prompts) + len(resources.Resources) + len(templates.ResourceTemplates), nil
}

func (c *goSDK) call(ctx context.Context, tool string, arguments map[string]any) (result, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(c.news.next())
	got, err := c.session.CallTool(ctx, params)
	if err != nil {
		return result{}, err
	}
	r := result{IsError: got.IsError}
	r.Structured, _ = got.StructuredContent.(map[string]any)
	for _, part := range got.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			r.Text += t.Text
		}
	}
	r.Progress, err = c.news.of(ctx, r)
	return r, err
}

func (c *goSDK) pass(context.Context, time.Duration) bool { return false }

func (c *goSDK) close() {
	if c.session != nil {
		_ = c.session.Close() // the service ends sessions of its own
		c.session = nil
	}
}
