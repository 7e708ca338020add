package mcpserver_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"sekisho/functions/internal/problem"
)

// TestFailuresFitOutputSchemas: a host that takes what a failed call says for structured content finds
// nothing wrong with it, and a success must still be whole.
func TestFailuresFitOutputSchemas(t *testing.T) {
	for _, tool := range newWorld(t).list() {
		if tool.OutputSchema == nil {
			continue
		}
		text, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range problem.Codes() {
			p := problem.New(code, "A detail.")
			p.Quota = &problem.Quota{Limit: 1, Used: 1, Period: "daily"}
			var failure map[string]any
			if err := json.Unmarshal(p.AgentJSON(), &failure); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(failure); err != nil {
				t.Errorf("%s, %s: %v", tool.Name, code, err)
			}
		}
		if tool.Name == "postal_lookup" && resolved.Validate(map[string]any{"formatted": "100-0001"}) == nil {
			t.Error("half a success fits")
		}
	}
}
