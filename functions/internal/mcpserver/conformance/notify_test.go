//go:build interop

//lint:file-ignore SA1019 the suites still test sampling, roots and logging

package conformance

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addNotifyingTools registers the tools that send notifications before their result.
func addNotifyingTools(server *mcp.Server) {
	addTool(server, "test_tool_with_logging", loggingTool("Tool execution started", "Tool processing data", "Tool execution completed"))
	// Logs only where the request's _meta asks for it (SEP-2575): the SDK sees to that.
	addTool(server, "test_logging_tool", loggingTool("test_logging_tool executed"))
	addTool(server, "test_tool_with_progress", progressTool)
	addTool(server, "test_streaming_elicitation", progressTool)
	// What these are for needs a stream that outlives its call; there is none.
	for _, name := range []string{"test_reconnection", "test_trigger_tool_change", "test_trigger_prompt_change"} {
		addTool(server, name, always(result(text("This server keeps no stream open."))))
	}
}

// streams are the tools that notify without a progress token. The server streams only where
// the caller gave one, so the front adds one to their calls.
var streams = []string{"test_tool_with_logging", "test_logging_tool"}

// loggingTool is a tool that writes log messages to the client.
func loggingTool(lines ...string) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range lines {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
		}
		return result(text("Tool with logging executed successfully")), nil
	}
}

func progressTool(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := r.Params.GetProgressToken()
	for at := 0.0; token != nil && at <= 100; at += 50 {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: at, Total: 100, Message: fmt.Sprintf("Completed step %.0f of 100", at),
		}); err != nil {
			return nil, err
		}
	}
	return result(text("%v", token)), nil
}
