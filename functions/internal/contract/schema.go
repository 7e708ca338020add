package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// resolver turns OpenAPI 3.0 schemas into JSON Schema 2020-12 without references.
type resolver struct {
	document []byte

	mu sync.Mutex
	// passed are the objects on the way of references, by path, with their members unread: a
	// document of megabytes is not decoded for the few schemas that a cold start needs.
	passed map[string]map[string]json.RawMessage
}

// newResolver reads nothing yet.
func newResolver(doc []byte) *resolver {
	return &resolver{document: doc, passed: map[string]map[string]json.RawMessage{}}
}

// maxDepth bounds nesting, which is infinite if a schema refers to itself.
const maxDepth = 32

// ref follows {"$ref": "#/…"} until it reaches something else.
func (r *resolver) ref(v map[string]any) (map[string]any, error) {
	for range maxDepth {
		target, ok := v["$ref"].(string)
		if !ok {
			return v, nil
		}
		next, err := r.lookUp(target)
		if err != nil {
			return nil, err
		}
		v = next
	}
	return nil, fmt.Errorf("references go round in a circle at %v", v["$ref"])
}

func (r *resolver) lookUp(target string) (map[string]any, error) {
	path, ok := strings.CutPrefix(target, "#/")
	if !ok {
		return nil, fmt.Errorf("reference %q: only references within the document are read", target)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	nowhere := fmt.Errorf("reference %q leads nowhere", target)
	at, value := "", json.RawMessage(r.document)
	for step := range strings.SplitSeq(path, "/") {
		members, ok := r.passed[at]
		if !ok {
			if json.Unmarshal(value, &members) != nil {
				return nil, nowhere
			}
			r.passed[at] = members
		}
		at, value = at+"/"+step, members[step]
	}
	var object map[string]any
	if json.Unmarshal(value, &object) != nil || object == nil {
		return nil, nowhere
	}
	return object, nil
}

// schema returns a copy of an OpenAPI schema as JSON Schema: references replaced,
// `nullable` written as a type, `example` and what concerns the backend left out.
func (r *resolver) schema(v map[string]any) (map[string]any, error) { return r.schemaAt(v, 0) }

// decoded is like schema, from JSON.
func (r *resolver) decoded(raw json.RawMessage) (map[string]any, error) {
	var v map[string]any
	if err := decode(raw, &v); err != nil {
		return nil, err
	}
	return r.schema(v)
}

func (r *resolver) schemaAt(v map[string]any, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("schemas are nested more than %d deep", maxDepth)
	}
	v, err := r.ref(v)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(v))
	for name, value := range v {
		switch name {
		case "nullable", "example", "x-sekisho-name", "x-sekisho-in", "x-sekisho-style", "x-sekisho-json":
		case "properties":
			properties, _ := value.(map[string]any)
			copied := make(map[string]any, len(properties))
			for p, s := range properties {
				sub, _ := s.(map[string]any)
				if copied[p], err = r.schemaAt(sub, depth+1); err != nil {
					return nil, fmt.Errorf("%s: %w", p, err)
				}
			}
			out[name] = copied
		case "items":
			sub, _ := value.(map[string]any)
			if out[name], err = r.schemaAt(sub, depth+1); err != nil {
				return nil, fmt.Errorf("items: %w", err)
			}
		default:
			out[name] = value
		}
	}
	if v["nullable"] == true {
		out["type"] = []any{v["type"], "null"}
	}
	return out, nil
}

// Schemas describe the arguments and the answer of an operation or a composite tool.
type Schemas struct {
	// Input is the schema of all arguments together, Output that of the 200 answer, nil if
	// there is none. They are JSON Schema 2020-12, without references.
	Input, Output json.RawMessage
	// Params are the arguments that travel in the path or the query.
	Params []Param

	properties map[string]property
	required   []string
	compiled   func() (*jsonschema.Resolved, error)
}

// Schemas reads the operation's schemas, once.
func (op *Operation) Schemas() (*Schemas, error) { return op.schemas() }

// property is what Bind needs to know about one argument.
type property struct {
	kind        string
	items       string // the kind of a list's elements
	description string
	fallback    any
	// takesEmpty says that "" is a value, and not one left out.
	takesEmpty bool
	// digits is how many digits a string has that may be sent as a number too; 0: none may.
	digits int
}

func newProperty(schema map[string]any) property {
	p := property{fallback: schema["default"]}
	p.kind, _ = schema["type"].(string)
	p.items, _ = object(schema["items"])["type"].(string)
	p.description, _ = schema["description"].(string)
	shortest, _ := schema["minLength"].(float64)
	choices, isChoice := schema["enum"].([]any)
	switch p.kind {
	case "integer", "number", "boolean":
	case "string":
		p.takesEmpty = shortest == 0 && (!isChoice || slices.Contains(choices, any("")))
	default:
		p.takesEmpty = true // the validator says what is wrong with it
	}
	digits, _ := schema["x-sekisho-digits"].(float64)
	p.digits = int(digits)
	return p
}

func newSchemas(r rawOperation, from *resolver) (*Schemas, error) {
	s := &Schemas{}
	properties, required, err := s.parameters(r.Parameters, from)
	if err != nil {
		return nil, err
	}
	more, err := addBody(properties, r.RequestBody, from)
	if err != nil {
		return nil, err
	}
	if err := s.setInput(properties, append(required, more...)); err != nil {
		return nil, err
	}
	return s, s.setOutput(r.Responses, from)
}

// compositeSchemas are those of a composite tool; without input it takes no arguments.
func compositeSchemas(input, output json.RawMessage, from *resolver) (*Schemas, error) {
	s := &Schemas{}
	in, err := from.decoded(input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	properties := object(in["properties"])
	if properties == nil {
		properties = map[string]any{}
	}
	required, _ := in["required"].([]any)
	if err := s.setInput(properties, required); err != nil || output == nil {
		return s, err
	}
	out, err := from.decoded(output)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	s.Output, err = json.Marshal(out)
	return s, err
}

// parameters collects the arguments in path and query.
func (s *Schemas) parameters(raw json.RawMessage, from *resolver) (properties map[string]any, required []any, err error) {
	var list []map[string]any
	if err := decode(raw, &list); err != nil {
		return nil, nil, fmt.Errorf("parameters: %w", err)
	}
	properties = map[string]any{}
	for _, value := range list {
		p, err := from.ref(value)
		if err != nil {
			return nil, nil, err
		}
		name, _ := p["name"].(string)
		in, _ := p["in"].(string)
		if in != "path" && in != "query" {
			return nil, nil, fmt.Errorf("parameter %q is in %q; only path and query are served", name, in)
		}
		if _, taken := properties[name]; taken {
			return nil, nil, fmt.Errorf("parameter %q is described twice; an argument has one place", name)
		}
		needed := p["required"] == true
		s.Params = append(s.Params, Param{Name: name, In: in, Required: needed})
		if needed {
			required = append(required, name)
		}
		if object(p["schema"]) == nil {
			return nil, nil, fmt.Errorf("parameter %q has no schema", name)
		}
		schema, err := from.schema(object(p["schema"]))
		if err != nil {
			return nil, nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		if d, ok := p["description"].(string); ok {
			schema["description"] = d
		}
		properties[name] = schema
	}
	return properties, required, nil
}

// addBody adds the members of the body and returns which of them are required.
func addBody(properties map[string]any, raw json.RawMessage, from *resolver) (required []any, err error) {
	var body map[string]any
	if err := decode(raw, &body); err != nil || body == nil {
		return nil, err
	}
	schema, err := from.schema(contentOf(body))
	if err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	for name, member := range object(schema["properties"]) {
		if _, ok := properties[name]; ok {
			return nil, fmt.Errorf("argument %q is in the body and beside it", name)
		}
		properties[name] = member
	}
	required, _ = schema["required"].([]any)
	return required, nil
}

func (s *Schemas) setInput(properties map[string]any, required []any) error {
	input := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		input["required"] = required
	}
	var err error
	if s.Input, err = json.Marshal(input); err != nil {
		return err
	}
	for _, name := range required {
		text, _ := name.(string)
		s.required = append(s.required, text)
	}
	s.properties = make(map[string]property, len(properties))
	for name, value := range properties {
		s.properties[name] = newProperty(object(value))
	}
	s.compiled = sync.OnceValues(func() (*jsonschema.Resolved, error) {
		var schema jsonschema.Schema
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			return nil, err
		}
		return schema.Resolve(nil)
	})
	return nil
}

func (s *Schemas) setOutput(raw json.RawMessage, from *resolver) error {
	var responses map[string]any
	if err := decode(raw, &responses); err != nil {
		return fmt.Errorf("responses: %w", err)
	}
	content := contentOf(object(responses["200"]))
	if content == nil {
		return nil
	}
	schema, err := from.schema(content)
	if err != nil {
		return fmt.Errorf("response 200: %w", err)
	}
	s.Output, err = json.Marshal(schema)
	return err
}

// contentOf is the schema of a JSON request body or response; nil if there is none.
func contentOf(v map[string]any) map[string]any {
	return object(object(object(v["content"])["application/json"])["schema"])
}

// decode decodes a part of the document; an absent part leaves into unchanged.
func decode(raw json.RawMessage, into any) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// object returns v as a JSON object; nil if it is something else.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}
