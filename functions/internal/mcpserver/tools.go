package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/toolsearch"
)

// tool is one tool of the contract: an operation or a composite.
type tool struct {
	// name is the contract's; listed is what clients see.
	name, listed, category string
	title, description     string
	annotations            contract.Annotations
	in                     contract.Listed
	// One of both is set.
	operation *contract.Operation
	composite *contract.Composite
	schemas   func() (*contract.Schemas, error)
	// entry is made when first asked for: a large contract has schemas that few lists need.
	entry func() (*entry, error)
}

// entry is a tool's part of a list.
type entry struct {
	definition *mcp.Tool
	// sent is the definition as compact JSON.
	sent json.RawMessage
	// prompt is what a host puts before its model: name, description and input schema. Title,
	// output schema and annotations stay with the host.
	prompt json.RawMessage
	tokens int
}

// toolSet is the contract's tools under all their names.
type toolSet struct {
	all []*tool
	// byName has every tool under its canonical and its underscore name.
	byName map[string]*tool
	// names replaces the contract's names of tools in a text by those of the list.
	names *strings.Replacer
	index func() *toolsearch.Index
}

func newToolSet(api *contract.API, names ToolNames) (*toolSet, error) {
	set := &toolSet{byName: map[string]*tool{}}
	for _, op := range api.Tools() {
		set.all = append(set.all, newOperationTool(op))
	}
	for _, c := range api.Composites {
		set.all = append(set.all, newCompositeTool(c))
	}
	slices.SortFunc(set.all, func(a, b *tool) int { return cmp.Compare(a.name, b.name) })
	for _, t := range set.all {
		for _, name := range slices.Compact([]string{t.name, contract.ListedName(t.name)}) {
			if other := set.byName[name]; other != nil {
				return nil, fmt.Errorf("mcpserver: the tools %s and %s would share the name %s", other.name, t.name, name)
			}
			set.byName[name] = t
		}
	}
	set.names = set.renamer(names)
	for _, t := range set.all {
		t.listed = t.name
		if names != Canonical {
			t.listed = contract.ListedName(t.name)
		}
		t.entry = sync.OnceValues(func() (*entry, error) {
			made, err := t.newEntry(set.names)
			if err != nil {
				return nil, fmt.Errorf("mcpserver: tool %s: %w", t.name, err)
			}
			return made, nil
		})
	}
	set.index = sync.OnceValue(set.newIndex)
	return set, nil
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
		pairs = append(pairs, t.name, contract.ListedName(t.name))
	}
	return strings.NewReplacer(pairs...)
}

func newOperationTool(op *contract.Operation) *tool {
	return &tool{
		name: op.ID, category: op.Category, in: op.Listed, operation: op, schemas: op.Schemas,
		title: cmp.Or(op.Annotations.Title, op.Summary), description: op.Description, annotations: op.Annotations,
	}
}

func newCompositeTool(c *contract.Composite) *tool {
	return &tool{
		name: c.Name, category: c.Category, in: c.Listed, composite: c, schemas: c.Schemas,
		title: c.Annotations.Title, description: c.Description, annotations: c.Annotations,
	}
}

// newEntry writes names of tools as lists do, in the description too, where tools name each other.
func (t *tool) newEntry(names *strings.Replacer) (*entry, error) {
	schemas, err := t.schemas()
	if err != nil {
		return nil, err
	}
	input, err := withKeywords(schemas.Input, func(keyword string) bool { return contract.StrictKeywords[keyword] })
	if err != nil {
		return nil, err
	}
	output := schemas.Output
	if t.operation != nil && t.operation.Backend != "" {
		if output, err = describing(output); err != nil {
			return nil, err
		}
	}
	if output, err = orFailure(output); err != nil {
		return nil, err
	}
	e := &entry{definition: &mcp.Tool{
		Name:         t.listed,
		Title:        t.title,
		Description:  names.Replace(t.description),
		InputSchema:  input,
		OutputSchema: schemaOrNone(output),
		Annotations:  listedAnnotations(t.annotations),
	}}
	e.prompt, err = json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}{t.listed, e.definition.Description, input})
	if err != nil {
		return nil, err
	}
	if e.sent, err = json.Marshal(e.definition); err != nil {
		return nil, err
	}
	e.sent, e.prompt = reply.Unescape(e.sent), reply.Unescape(e.prompt)
	e.tokens = estimateTokens(e.prompt)
	return e, nil
}

// schemaOrNone keeps an absent schema from becoming a JSON null.
func schemaOrNone(schema json.RawMessage) any {
	if len(schema) == 0 {
		return nil
	}
	return schema
}

// listedAnnotations leave the title out: the tool itself has it.
func listedAnnotations(a contract.Annotations) *mcp.ToolAnnotations {
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
	if !json.Valid(raw) { // where it is the text of an argument; a decoder stops after the first value
		return nil, &contract.ArgumentError{Message: "arguments must be a JSON object"}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // for the digits that a float64 has no room for
	if err := decoder.Decode(&args); err != nil || args == nil && string(raw) != "null" {
		return nil, &contract.ArgumentError{Message: "arguments must be a JSON object"}
	}
	if args == nil {
		args = map[string]any{}
	}
	return args, nil
}

// withKeywords is a schema without the keywords that keep refuses.
func withKeywords(full json.RawMessage, keep func(string) bool) (json.RawMessage, error) {
	var schema map[string]any
	if err := json.Unmarshal(full, &schema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return json.Marshal(simplified(schema, keep))
}

func simplified(value any, keep func(string) bool) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	simple := make(map[string]any, len(schema))
	for keyword, value := range schema {
		switch {
		case !keep(keyword):
		case keyword == "items":
			simple[keyword] = simplified(value, keep)
		case keyword == "properties":
			properties, _ := value.(map[string]any)
			copied := make(map[string]any, len(properties))
			for name, property := range properties {
				copied[name] = simplified(property, keep)
			}
			simple[keyword] = copied
		default:
			simple[keyword] = value
		}
	}
	return simple
}
