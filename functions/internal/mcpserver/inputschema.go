package mcpserver

import (
	"encoding/json"
	"fmt"
)

// listedKeywords are those that every consumer of tool schemas takes. OpenAI's and
// Anthropic's strict modes refuse a whole request for a minLength, a pattern, a minimum or
// a default in one tool (coder/mux#1220), so limits stand in descriptions, and the function
// checks them. Both modes ask for additionalProperties: false, which Gemini's older form
// does not know; its hosts take it out (promptfoo#6902).
var listedKeywords = map[string]bool{
	"type": true, "description": true, "enum": true, "properties": true, "required": true,
	"items": true, "additionalProperties": true,
}

// listedInput is a tool's input schema as clients are told it.
func listedInput(full json.RawMessage) (json.RawMessage, error) {
	var schema map[string]any
	if err := json.Unmarshal(full, &schema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return json.Marshal(simplified(schema))
}

func simplified(schema map[string]any) map[string]any {
	simple := make(map[string]any, len(schema))
	for keyword, value := range schema {
		switch {
		case !listedKeywords[keyword]:
		case keyword == "items":
			simple[keyword] = simplifiedValue(value)
		case keyword == "properties":
			properties, _ := value.(map[string]any)
			copied := make(map[string]any, len(properties))
			for name, property := range properties {
				copied[name] = simplifiedValue(property)
			}
			simple[keyword] = copied
		default:
			simple[keyword] = value
		}
	}
	return simple
}

func simplifiedValue(value any) any {
	if schema, ok := value.(map[string]any); ok {
		return simplified(schema)
	}
	return value
}
