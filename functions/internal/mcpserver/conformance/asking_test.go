//go:build interop

//lint:file-ignore SA1019 the suites still test sampling, roots and logging

package conformance

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addAskingTools registers the tools that ask the client something while they run, as
// servers did until 2025-11-25. They try for real: that a stateless server can't is what the
// expected failures say.
func addAskingTools(server *mcp.Server) {
	addTool(server, "test_sampling", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := r.Session.CreateMessage(ctx, sampling(argument(r, "prompt")))
		if err != nil {
			return failure("sampling", err), nil
		}
		return result(text("LLM response: %v", answer.Content)), nil
	})
	addTool(server, "test_elicitation", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, argument(r, "message"), `{"username":{"type":"string"},"email":{"type":"string"}}`)
	})
	addTool(server, "test_elicitation_sep1034_defaults", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, "Check the defaults", `{
			"name": {"type": "string", "default": "John Doe"},
			"age": {"type": "integer", "default": 30},
			"score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "default": true}
		}`)
	})
	addTool(server, "test_elicitation_sep1330_enums", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, "Choose", `{
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}]}}
		}`)
	})
}

func elicit(ctx context.Context, r *mcp.CallToolRequest, message, properties string) (*mcp.CallToolResult, error) {
	answer, err := r.Session.Elicit(ctx, form(message, properties))
	if err != nil {
		return failure("elicitation", err), nil
	}
	return result(text("Elicitation completed: action=%s, content=%v", answer.Action, answer.Content)), nil
}

// form asks for an object with these properties.
func form(message, properties string, required ...string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": json.RawMessage(properties), "required": append([]string{}, required...),
	}}
}

func sampling(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: text("%s", prompt)}},
		MaxTokens: 100,
	}
}

func failure(what string, err error) *mcp.CallToolResult {
	r := result(text("%s failed: %v", what, err))
	r.IsError = true
	return r
}

// argument is a string among the arguments; empty where it is none.
func argument(r *mcp.CallToolRequest, name string) string {
	var args map[string]any
	_ = json.Unmarshal(r.Params.Arguments, &args) // absent arguments are none
	value, _ := args[name].(string)
	return value
}
