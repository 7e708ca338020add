//go:build interop

//lint:file-ignore SA1019 the suites still test sampling, roots and logging

package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// extend registers what the suites call. Names and texts are the suites'; what a tool does
// is described with each scenario in their source.
func extend(server *mcp.Server) {
	addContentTools(server)
	addNotifyingTools(server)
	addAskingTools(server)
	addRoundTripTools(server)
	addPrompts(server)
	addResources(server)
	server.AddReceivingMiddleware(completing, subscribing)
}

// fixtureTools are the names of the tools that extend adds.
var fixtureTools = []string{
	"json_schema_2020_12_tool",
	"test_audio_content",
	"test_elicitation",
	"test_elicitation_sep1034_defaults",
	"test_elicitation_sep1330_enums",
	"test_embedded_resource",
	"test_error_handling",
	"test_image_content",
	"test_input_required_result_capabilities",
	"test_input_required_result_elicitation",
	"test_input_required_result_list_roots",
	"test_input_required_result_multi_round",
	"test_input_required_result_multiple_inputs",
	"test_input_required_result_request_state",
	"test_input_required_result_sampling",
	"test_input_required_result_tampered_state",
	"test_logging_tool",
	"test_missing_capability",
	"test_multiple_content_types",
	"test_reconnection",
	"test_sampling",
	"test_simple_text",
	"test_streaming_elicitation",
	"test_tool_with_logging",
	"test_tool_with_progress",
	"test_trigger_prompt_change",
	"test_trigger_tool_change",
	"test_x_mcp_header",
}

// Content that the suites look for by its type only: a PNG of one red pixel and a WAV file
// without a sample.
const (
	redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence  = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
)

func decoded(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func text(format string, args ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func image() mcp.Content {
	return &mcp.ImageContent{Data: decoded(redPixel), MIMEType: "image/png"}
}

func embedded(uri string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}}
}

func result(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

// addTool registers a tool that takes whatever it is given.
func addTool(server *mcp.Server, name string, handle mcp.ToolHandler) {
	addToolWith(server, name, `{"type":"object"}`, handle)
}

func addToolWith(server *mcp.Server, name, schema string, handle mcp.ToolHandler) {
	if !slices.Contains(fixtureTools, name) {
		panic(name + " is missing in fixtureTools")
	}
	server.AddTool(&mcp.Tool{
		Name: name, Description: "A tool of the conformance suite.", InputSchema: json.RawMessage(schema),
	}, handle)
}

// always is a tool with one answer.
func always(r *mcp.CallToolResult) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return r, nil }
}

// richSchema holds the vocabulary of JSON Schema 2020-12 that must survive tools/list
// (SEP-1613, SEP-2106).
const richSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// mirroredSchema has an argument that a client repeats in a header (SEP-2243).
const mirroredSchema = `{
	"type": "object",
	"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}
}`

func addContentTools(server *mcp.Server) {
	addTool(server, "test_simple_text", always(result(text("This is a simple text response for testing."))))
	addTool(server, "test_image_content", always(result(image())))
	addTool(server, "test_audio_content", always(result(&mcp.AudioContent{Data: decoded(silence), MIMEType: "audio/wav"})))
	addTool(server, "test_embedded_resource", always(result(embedded("test://embedded-resource"))))
	addTool(server, "test_multiple_content_types", always(result(text("Multiple content types test:"), image(), embedded("test://mixed-content-resource"))))
	failed := result(text("This tool intentionally returns an error for testing"))
	failed.IsError = true
	addTool(server, "test_error_handling", always(failed))
	addToolWith(server, "json_schema_2020_12_tool", richSchema, always(result(text("done"))))
	addToolWith(server, "test_x_mcp_header", mirroredSchema, always(result(text("done"))))
	addTool(server, "test_missing_capability", needsSampling)
}

// needsSampling refuses clients that declared no sampling (SEP-2575).
func needsSampling(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if can := r.ClientCapabilities(); can != nil && can.Sampling != nil {
		return result(text("The client can sample.")), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "The client must declare sampling.", Data: data}
}
