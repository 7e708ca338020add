package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// resolver turns OpenAPI 3.0 schemas into JSON Schema 2020-12 without references.
type resolver struct{ root map[string]any }

// maxDepth bounds the nesting of references; a description that refers to itself has none.
const maxDepth = 32

// ref follows {"$ref": "#/…"} until something else comes.
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
	var at any = r.root
	for _, step := range strings.Split(path, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("reference %q leads nowhere", target)
		}
		at = object[step]
	}
	object, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("reference %q leads nowhere", target)
	}
	return object, nil
}

// schema returns a copy of an OpenAPI schema as JSON Schema: references replaced,
// `nullable` written as a type, `example` left out.
func (r *resolver) schema(v map[string]any) (map[string]any, error) { return r.schemaAt(v, 0) }

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
		case "nullable", "example":
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

// property is what binding needs to know of one argument.
type property struct {
	kind        string
	description string
	fallback    any
}

// addInput gathers parameters and body members into one schema.
func (op *Operation) addInput(r rawOperation, schemas *resolver) error {
	properties := map[string]any{}
	required := []any{}
	for _, value := range r.Parameters {
		p, err := schemas.ref(value)
		if err != nil {
			return err
		}
		name, _ := p["name"].(string)
		in, _ := p["in"].(string)
		if in != "path" && in != "query" {
			return fmt.Errorf("parameter %q is in %q; only path and query are served", name, in)
		}
		needed := p["required"] == true
		op.Params = append(op.Params, Param{Name: name, In: in, Required: needed})
		if needed {
			required = append(required, name)
		}
		raw, _ := p["schema"].(map[string]any)
		schema, err := schemas.schema(raw)
		if err != nil {
			return fmt.Errorf("parameter %q: %w", name, err)
		}
		if d, ok := p["description"].(string); ok {
			schema["description"] = d
		}
		properties[name] = schema
	}
	body, err := op.bodySchema(r, schemas)
	if err != nil {
		return err
	}
	if body != nil {
		for name, schema := range object(body["properties"]) {
			if _, ok := properties[name]; ok {
				return fmt.Errorf("argument %q stands in the body and beside it", name)
			}
			properties[name] = schema
		}
		more, _ := body["required"].([]any)
		required = append(required, more...)
	}
	return op.setInput(properties, required)
}

func (op *Operation) bodySchema(r rawOperation, schemas *resolver) (map[string]any, error) {
	if r.RequestBody == nil {
		return nil, nil
	}
	op.HasBody = true
	raw := object(object(object(r.RequestBody["content"])["application/json"])["schema"])
	schema, err := schemas.schema(raw)
	if err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	return schema, nil
}

func (op *Operation) setInput(properties map[string]any, required []any) error {
	input := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		input["required"] = required
	}
	var err error
	if op.Input, err = json.Marshal(input); err != nil {
		return err
	}
	for _, name := range required {
		text, _ := name.(string)
		op.required = append(op.required, text)
	}
	op.properties = make(map[string]property, len(properties))
	for name, value := range properties {
		schema := object(value)
		kind, _ := schema["type"].(string)
		description, _ := schema["description"].(string)
		op.properties[name] = property{kind: kind, description: description, fallback: schema["default"]}
	}
	op.resolved = sync.OnceValues(func() (*jsonschema.Resolved, error) {
		var schema jsonschema.Schema
		if err := json.Unmarshal(op.Input, &schema); err != nil {
			return nil, err
		}
		return schema.Resolve(nil)
	})
	return nil
}

func (op *Operation) addOutput(r rawOperation, schemas *resolver) error {
	answer := object(r.Responses["200"])
	raw := object(object(object(answer["content"])["application/json"])["schema"])
	if raw == nil {
		return nil
	}
	schema, err := schemas.schema(raw)
	if err != nil {
		return fmt.Errorf("response 200: %w", err)
	}
	op.Output, err = json.Marshal(schema)
	return err
}

// object returns v as a JSON object, nil when it is something else.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}
