package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/contract"
)

// tool is one tool of the contract: an operation or a composite.
type tool struct {
	// name is the contract's; listed is what clients see.
	name, listed, category string
	definition             *mcp.Tool
	// One of both is set.
	operation *contract.Operation
	composite *contract.Composite
}

// toolSet is the contract's tools under all their names.
type toolSet struct {
	all []*tool
	// byName has every tool under its canonical and its underscore name.
	byName map[string]*tool
}

// noArguments is the input schema of a tool that takes none.
var noArguments = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

func newToolSet(api *contract.API, names ToolNames) (*toolSet, error) {
	set := &toolSet{byName: map[string]*tool{}}
	for _, op := range api.Tools() {
		t, err := newOperationTool(op)
		if err != nil {
			return nil, fmt.Errorf("mcpserver: tool %s: %w", op.ID, err)
		}
		set.all = append(set.all, t)
	}
	for _, c := range api.Composites {
		t, err := newCompositeTool(c)
		if err != nil {
			return nil, fmt.Errorf("mcpserver: tool %s: %w", c.Name, err)
		}
		set.all = append(set.all, t)
	}
	slices.SortFunc(set.all, func(a, b *tool) int { return cmp.Compare(a.name, b.name) })
	for _, t := range set.all {
		for _, name := range slices.Compact([]string{t.name, underscore(t.name)}) {
			if other := set.byName[name]; other != nil {
				return nil, fmt.Errorf("mcpserver: the tools %s and %s would share the name %s", other.name, t.name, name)
			}
			set.byName[name] = t
		}
	}
	set.rename(names)
	return set, nil
}

// rename sets the names that clients see, in descriptions too, where tools name each other.
func (s *toolSet) rename(names ToolNames) {
	text := s.renamer(names)
	for _, t := range s.all {
		t.listed = text.Replace(t.name)
		t.definition.Name = t.listed
		t.definition.Description = text.Replace(t.definition.Description)
	}
}

// renamer replaces the names of tools in a text. Longer names come first, because one may
// begin another.
func (s *toolSet) renamer(names ToolNames) *strings.Replacer {
	if names == Canonical {
		return strings.NewReplacer()
	}
	longest := slices.SortedFunc(slices.Values(s.all), func(a, b *tool) int { return cmp.Compare(len(b.name), len(a.name)) })
	var pairs []string
	for _, t := range longest {
		pairs = append(pairs, t.name, underscore(t.name))
	}
	return strings.NewReplacer(pairs...)
}

func underscore(name string) string { return strings.ReplaceAll(name, ".", "_") }

func newOperationTool(op *contract.Operation) (*tool, error) {
	schemas, err := op.Schemas()
	if err != nil {
		return nil, err
	}
	input, err := listedInput(schemas.Input)
	if err != nil {
		return nil, err
	}
	return &tool{name: op.ID, category: op.Category, operation: op, definition: &mcp.Tool{
		Title:        cmp.Or(op.Annotations.Title, op.Summary),
		Description:  op.Description,
		InputSchema:  input,
		OutputSchema: schemaOrNone(schemas.Output),
		Annotations:  annotations(op.Annotations),
	}}, nil
}

func newCompositeTool(c *contract.Composite) (*tool, error) {
	output, err := c.Output()
	if err != nil {
		return nil, err
	}
	return &tool{name: c.Name, category: c.Category, composite: c, definition: &mcp.Tool{
		Title:        c.Annotations.Title,
		Description:  c.Description,
		InputSchema:  noArguments,
		OutputSchema: schemaOrNone(output),
		Annotations:  annotations(c.Annotations),
	}}, nil
}

// schemaOrNone keeps an absent schema from becoming a JSON null.
func schemaOrNone(schema json.RawMessage) any {
	if len(schema) == 0 {
		return nil
	}
	return schema
}

// annotations leaves the title out: the tool itself has it.
func annotations(a contract.Annotations) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint:    a.ReadOnlyHint,
		DestructiveHint: a.DestructiveHint,
		IdempotentHint:  a.IdempotentHint,
		OpenWorldHint:   a.OpenWorldHint,
	}
}

// decodeArguments reads the arguments of a call; absent ones are none.
func decodeArguments(raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(raw) == 0 {
		return args, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw)) // of one JSON text: the message was decoded before
	decoder.UseNumber()                              // for the digits that a float64 has no room for
	if err := decoder.Decode(&args); err != nil || args == nil && string(raw) != "null" {
		return nil, &contract.ArgumentError{Message: "arguments must be a JSON object"}
	}
	if args == nil {
		args = map[string]any{}
	}
	return args, nil
}

// listedInput is a tool's input schema as clients see it.
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
		case !contract.StrictKeywords[keyword]:
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
