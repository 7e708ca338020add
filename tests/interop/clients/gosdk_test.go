//go:build interop

package clients

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// goSDK is the client of modelcontextprotocol/go-sdk, over HTTP or over what transport
// makes.
type goSDK struct {
	version   string
	transport func(endpoint) (mcp.Transport, error)

	session *mcp.ClientSession
	news    *news
	// callback is where the code comes back to, if somebody signs in.
	callback net.Listener
}

func newGoSDK(version string) *goSDK {
	c := &goSDK{version: version}
	c.transport = func(at endpoint) (mcp.Transport, error) {
		transport := &mcp.StreamableClientTransport{
			Endpoint: at.url, HTTPClient: &http.Client{Transport: withHeader{at.header}},
		}
		if at.browser == "" {
			return transport, nil
		}
		var err error
		if c.callback, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			transport.OAuthHandler, err = signsIn(at.browser, c.callback)
		}
		return transport, err
	}
	return c
}

// signsIn is how a host built on the SDK signs in: it opens a browser, and waits for the code at an
// address of its own.
func signsIn(browser string, callback net.Listener) (auth.OAuthHandler, error) {
	back := "http://" + callback.Addr().String() + "/callback"
	answers := make(chan url.Values, 1)
	go http.Serve(callback, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "Back at the host.")
		if r.URL.Path == "/callback" {
			answers <- r.URL.Query()
		}
	}))
	return auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "go-sdk", RedirectURIs: []string{back}, GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		RequestRefreshToken: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if err := exec.CommandContext(ctx, browser, args.URL).Run(); err != nil {
				return nil, err
			}
			select {
			case answer := <-answers:
				return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
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
	if c.callback != nil {
		_ = c.callback.Close()
		c.callback = nil
	}
}
