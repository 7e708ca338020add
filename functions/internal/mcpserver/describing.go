package mcpserver

import (
	"encoding/json"
	"fmt"
)

// describing is the output schema of a tool whose backend somebody else wrote. It names and
// explains the members of an answer, and asserts nothing but that it is an object, which every
// answer here is (see backend.Shown).
//
// A server must send what fits the schema that it lists, and clients check: those of the
// TypeScript and the Python SDK make an error of a result that doesn't fit, after the backend did
// its work and the call was charged. Many an API breaks its own description, with a null or a
// member that is missing, and nobody here can correct it.
func describing(full json.RawMessage) (json.RawMessage, error) {
	if len(full) == 0 {
		return nil, nil
	}
	var schema map[string]any
	if err := json.Unmarshal(full, &schema); err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	loose := withoutAssertions(schema)
	loose["type"] = "object"
	return json.Marshal(loose)
}

// orFailure is an output schema that what a failed call says fits too. Gemini CLI (0.61.0) takes a
// result's text for its structured content where there is none, and holds it against the schema: its
// model would read that the answer doesn't match, and not a word of what went wrong.
func orFailure(success json.RawMessage) (json.RawMessage, error) {
	if len(success) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"type":  "object",
		"anyOf": []any{success, map[string]any{"description": "A failed call.", "required": []string{"error", "classification", "retryable", "hint"}}},
	})
}

// withoutAssertions keeps what explains, and the keywords that only lead to more of it: those
// hold for objects and lists, and say nothing of a value of another type (JSON Schema 2020-12,
// applicators in properties and items).
func withoutAssertions(schema map[string]any) map[string]any {
	loose := map[string]any{}
	for _, keyword := range []string{"title", "description"} {
		if text, ok := schema[keyword].(string); ok {
			loose[keyword] = text
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		copied := make(map[string]any, len(properties))
		for name, value := range properties {
			member, _ := value.(map[string]any)
			copied[name] = withoutAssertions(member)
		}
		loose["properties"] = copied
	}
	if items, ok := schema["items"].(map[string]any); ok {
		loose["items"] = withoutAssertions(items)
	}
	return loose
}
