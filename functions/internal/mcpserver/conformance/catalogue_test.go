//go:build interop

//lint:file-ignore SA1019 the suites still test sampling, roots and logging

package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func message(c mcp.Content) *mcp.PromptMessage { return &mcp.PromptMessage{Role: "user", Content: c} }

func prompt(messages ...*mcp.PromptMessage) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: messages}
}

func addPrompts(server *mcp.Server) {
	add := func(name string, handle mcp.PromptHandler, arguments ...string) {
		p := &mcp.Prompt{Name: name, Description: "A prompt of the conformance suite."}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "An argument.", Required: true})
		}
		server.AddPrompt(p, handle)
	}
	add("test_simple_prompt", func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompt(message(text("This is a simple prompt for testing."))), nil
	})
	add("test_prompt_with_arguments", func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		a := r.Params.Arguments
		return prompt(message(text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))), nil
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompt(message(embedded(r.Params.Arguments["resourceUri"])), message(text("Please process the embedded resource above."))), nil
	}, "resourceUri")
	add("test_prompt_with_image", func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompt(message(image()), message(text("Please analyze the image above."))), nil
	})
	add("test_input_required_result_prompt", func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if known := filled(r.Params.InputResponses, "user_context", "context"); known != "" {
			return prompt(message(text("Context: %s", known))), nil
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
			"user_context": form("What context should the prompt use?", `{"context":{"type":"string"}}`, "context"),
		}}, nil
	})
}

func addResources(server *mcp.Server) {
	add := func(uri, mime string, contents mcp.ResourceContents) {
		contents.URI, contents.MIMEType = uri, mime
		server.AddResource(&mcp.Resource{URI: uri, Name: strings.TrimPrefix(uri, "test://"), Description: "A resource of the conformance suite.", MIMEType: mime},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&contents}}, nil
			})
	}
	add("test://static-text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", "image/png", mcp.ResourceContents{Blob: decoded(redPixel)})
	add("test://watched-resource", "text/plain", mcp.ResourceContents{Text: "Watched resource content"})
	const before, after = "test://template/", "/data"
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: before + "{id}" + after, Name: "template", Description: "A template of the conformance suite.", MIMEType: "application/json",
	}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, before), after)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: r.Params.URI, MIMEType: "application/json",
			Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
		}}}, nil
	})
}

// completing answers completion/complete, for which the SDK takes a handler only where it
// makes the server.
func completing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch method {
		case "completion/complete":
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		case "initialize", "server/discover":
			result, err := next(ctx, method, r)
			declare(result)
			return result, err
		}
		return next(ctx, method, r)
	}
}

// declare makes a server's capabilities what the fixture serves: the SDK says of its own
// accord that lists are watched, but no change is told to anybody here.
func declare(result mcp.Result) {
	capabilities := func(c *mcp.ServerCapabilities, subscribe bool) {
		c.Completions = &mcp.CompletionCapabilities{}
		c.Prompts = &mcp.PromptCapabilities{}
		c.Resources = &mcp.ResourceCapabilities{Subscribe: subscribe}
		c.Logging = &mcp.LoggingCapabilities{}
	}
	switch r := result.(type) {
	case *mcp.InitializeResult:
		capabilities(r.Capabilities, true)
	case *mcp.DiscoverResult:
		capabilities(r.Capabilities, false)
	}
}

// subscribing accepts subscriptions of resources, and forgets them: nothing changes here. The
// answer is as empty as that to a ping.
func subscribing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "resources/subscribe" || method == "resources/unsubscribe" {
			method = "ping"
			r = &mcp.ServerRequest[*mcp.PingParams]{Session: r.GetSession().(*mcp.ServerSession), Params: &mcp.PingParams{}}
		}
		return next(ctx, method, r)
	}
}
