package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
)

// schemaFaults are what the strictest consumers refuse in a listed input schema: OpenAI's and
// Anthropic's strict modes (every keyword but those below; additionalProperties: false on
// every object; no type unions), Gemini (items of every array, properties on objects only,
// no $ref), VS Code (items), and names over 64 characters anywhere.
func schemaFaults(at string, schema map[string]any) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, at+": "+fmt.Sprintf(format, args...)) }
	kind, ok := schema["type"].(string)
	if !ok {
		fault("type is %v, not one name", schema["type"])
	}
	for keyword := range schema {
		if !slices.Contains([]string{"type", "description", "enum", "properties", "required", "items", "additionalProperties"}, keyword) {
			fault("%s is a keyword that some refuse", keyword)
		}
	}
	properties, hasProperties := schema["properties"].(map[string]any)
	if hasProperties != (kind == "object") {
		fault("properties stand on objects, and on all of them")
	}
	if kind == "object" && schema["additionalProperties"] != false {
		fault("additionalProperties is not false")
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if properties[fmt.Sprint(name)] == nil {
			fault("%v is required and not a property", name)
		}
	}
	items, hasItems := schema["items"].(map[string]any)
	if hasItems != (kind == "array") {
		fault("items stand on arrays, and on all of them")
	}
	if hasItems {
		faults = append(faults, schemaFaults(at+"[]", items)...)
	}
	for name, value := range properties {
		property, _ := value.(map[string]any)
		if !regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`).MatchString(name) {
			fault("%s is no name for a property", name)
		}
		if d, _ := property["description"].(string); d == "" || len(d) > 1024 {
			fault("%s has a description of %d characters", name, len(d))
		}
		faults = append(faults, schemaFaults(at+"."+name, property)...)
	}
	return faults
}

// TestSchemasForStrictConsumers is the lint of all tools.
func TestSchemasForStrictConsumers(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	list, err := mcpserver.Listing(api, mcpserver.Underscore)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		var prompt struct {
			Name, Description string
			InputSchema       map[string]any `json:"input_schema"`
		}
		if err := json.Unmarshal(tool.Prompt, &prompt); err != nil {
			t.Fatal(err)
		}
		for _, fault := range schemaFaults(prompt.Name, prompt.InputSchema) {
			t.Error(fault)
		}
		// 1024 is OpenAI's limit for a function; 60 is what Cursor leaves for server and tool.
		if n := len(prompt.Description); n == 0 || n > 1024 || len(prompt.Name) > 60 {
			t.Errorf("%s: a description of %d characters", prompt.Name, n)
		}
	}
}

// TestLintFindsFaults: the lint is no formality.
func TestLintFindsFaults(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{},"additionalProperties":false}`: "not one name",
		`{"type":"object","properties":{}}`:              "additionalProperties",
		`{"type":"object","properties":{"a":{"type":"string","description":"A.","minLength":1}},"additionalProperties":false}`:                  "minLength",
		`{"type":"object","properties":{"a":{"type":["string","null"],"description":"A."}},"additionalProperties":false}`:                       "not one name",
		`{"type":"object","properties":{"a":{"type":"array","description":"A."}},"additionalProperties":false}`:                                 "items",
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                   "description of 0",
		`{"type":"object","properties":{"a b":{"type":"string","description":"A."}},"additionalProperties":false}`:                              "no name",
		`{"type":"object","properties":{},"required":["a"],"additionalProperties":false}`:                                                       "is required",
		`{"type":"object","properties":{"a":{"$ref":"#/x"}},"additionalProperties":false}`:                                                      "$ref",
		`{"type":"object","properties":{"a":{"type":"string","description":"A.","properties":{}}},"additionalProperties":false}`:                "on objects",
		`{"type":"object","properties":{"a":{"type":"array","description":"A.","items":{"type":"x","$ref":"y"}}},"additionalProperties":false}`: "[]: $ref",
	} {
		var parsed map[string]any
		if err := json.Unmarshal([]byte(schema), &parsed); err != nil {
			t.Fatal(err)
		}
		if faults := strings.Join(schemaFaults("x", parsed), "\n"); !strings.Contains(faults, want) {
			t.Errorf("%s: %q, want %q in it", schema, faults, want)
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
