package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
)

// TestSchemasForStrictConsumers is the lint of all tools.
func TestSchemasForStrictConsumers(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	var list []mcpserver.Listed
	for _, mode := range []mcpserver.ListMode{mcpserver.ListAll, mcpserver.ListSearch} {
		more, err := mcpserver.Listing(api, mcpserver.Underscore, mode)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	for _, tool := range list {
		var prompt struct {
			Name, Description string
			InputSchema       map[string]any `json:"input_schema"`
		}
		if err := json.Unmarshal(tool.Prompt, &prompt); err != nil {
			t.Fatal(err)
		}
		for _, fault := range contract.StrictFaults(prompt.Name, prompt.InputSchema) {
			t.Error(fault)
		}
		// 1024 is OpenAI's limit for a function; 60 is what Cursor leaves for server and tool.
		if n := len(prompt.Description); n == 0 || n > 1024 || len(prompt.Name) > 60 {
			t.Errorf("%s: a description of %d characters", prompt.Name, n)
		}
	}
}

// TestLimitsAreDescribed: since lists leave limits and defaults out, descriptions name them.
func TestLimitsAreDescribed(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range api.Tools() {
		var input struct {
			Properties map[string]struct {
				Type, Description string
				Minimum, Maximum  *float64
				MaxItems          *float64
				Default           any
			}
		}
		schemas, err := op.Schemas()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(schemas.Input, &input); err != nil {
			t.Fatal(err)
		}
		for name, p := range input.Properties {
			text := strings.ReplaceAll(p.Description, ",", "")
			for _, limit := range []*float64{p.Minimum, p.Maximum, p.MaxItems} {
				if limit != nil && !strings.Contains(text, strconv.FormatFloat(*limit, 'f', -1, 64)) {
					t.Errorf("%s.%s: the description does not name the limit %g: %s", op.ID, name, *limit, p.Description)
				}
			}
			// That something is off unless asked for goes without saying.
			if p.Default != nil && p.Default != false && !strings.Contains(text, fmt.Sprint(p.Default)) {
				t.Errorf("%s.%s: the description does not name the default %v: %s", op.ID, name, p.Default, p.Description)
			}
		}
	}
}
