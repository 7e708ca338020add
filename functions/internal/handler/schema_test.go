package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler"
	"sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/handler/rest"
)

// served lists what each function serves; a function of the contract that is missing here
// fails TestTypesMatchSchemas.
func served() map[string]map[string]rest.Operation {
	all := map[string]map[string]rest.Operation{
		"account": (&account.Handler{}).Operations(),
	}
	for name, operations := range handler.Functions() {
		all[name] = operations()
	}
	return all
}

func load(t *testing.T) *contract.API {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestContractIsValidOpenAPI(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document())
	if err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.0.3" {
		t.Errorf("openapi is %s, want 3.0.3: what API Gateway imports", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestTypesMatchSchemas compares the Go types of every operation with its schemas, member
// by member.
func TestTypesMatchSchemas(t *testing.T) {
	api := load(t)
	all := served()
	for _, op := range api.Operations {
		if op.Function == "" || op.Function == "mcp" || op.Function == "page" || op.Backend != "" {
			continue // what they answer is not an operation's JSON
		}
		operation, ok := all[op.Function][op.ID]
		if !ok {
			t.Errorf("%s: function %s does not serve it", op.ID, op.Function)
			continue
		}
		schemas := schemasOf(t, op)
		compare(t, op.ID+" arguments", operation.In, decode(t, schemas.Input), false)
		compare(t, op.ID+" answer", operation.Out, decode(t, schemas.Output), true)
	}
}

func schemasOf(t *testing.T, op *contract.Operation) *contract.Schemas {
	t.Helper()
	schemas, err := op.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

func decode(t *testing.T, schema json.RawMessage) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(schema, &out); err != nil {
		t.Fatalf("schema %q: %v", schema, err)
	}
	return out
}

func compare(t *testing.T, at string, typ reflect.Type, schema map[string]any, answer bool) {
	t.Helper()
	names, nullable := typesOf(schema)
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	} else if nullable {
		t.Errorf("%s: the schema allows null, the Go type %s does not", at, typ)
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Float64: "number", reflect.Slice: "array", reflect.Struct: "object", reflect.Map: "object",
	}[typ.Kind()]
	if len(names) != 1 || names[0] != want {
		t.Errorf("%s: Go type %s is a JSON %s, the schema says %v", at, typ, want, names)
		return
	}
	switch typ.Kind() {
	case reflect.Slice:
		items, _ := schema["items"].(map[string]any)
		compare(t, at+"[]", typ.Elem(), items, answer)
	case reflect.Struct:
		compareObject(t, at, typ, schema, answer)
	case reflect.Map:
		if schema["additionalProperties"] != true || schema["properties"] != nil {
			t.Errorf("%s: Go has a map, the schema must leave the members open", at)
		}
	}
}

func compareObject(t *testing.T, at string, typ reflect.Type, schema map[string]any, answer bool) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	var required []string
	for _, r := range asList(schema["required"]) {
		required = append(required, r.(string))
	}
	seen := map[string]bool{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		if !field.IsExported() {
			continue // JSON has no part in it
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			t.Errorf("%s: field %s has no JSON name", at, field.Name)
			continue
		}
		seen[name] = true
		property, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("%s: Go has %q, the schema has not", at, name)
			continue
		}
		omits := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if answer && omits == slices.Contains(required, name) {
			t.Errorf("%s.%s: required in the schema must be the opposite of omitempty in Go", at, name)
		}
		compare(t, at+"."+name, field.Type, property, answer)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !seen[name] {
			t.Errorf("%s: the schema has %q, Go has not", at, name)
		}
	}
}

func typesOf(schema map[string]any) (names []string, nullable bool) {
	if name, ok := schema["type"].(string); ok {
		return []string{name}, false
	}
	for _, v := range asList(schema["type"]) {
		if v == "null" {
			nullable = true
			continue
		}
		names = append(names, fmt.Sprint(v))
	}
	return names, nullable
}

func asList(v any) []any { l, _ := v.([]any); return l }

// TestToolsAreDescribed holds what an agent needs to choose and call a tool.
func TestToolsAreDescribed(t *testing.T) {
	api := load(t)
	for _, op := range api.Tools() {
		describes(t, op.ID, op.Category, op.Description, op.Annotations)
		schemas := schemasOf(t, op)
		describedArguments(t, op.ID, schemas)
		if schemas.Output == nil {
			t.Errorf("%s: has no output schema", op.ID)
			continue
		}
		describedAll(t, op.ID+" answer", decode(t, schemas.Output))
	}
	for _, c := range api.Composites {
		describes(t, c.Name, c.Category, c.Description, c.Annotations)
		schemas, err := c.Schemas()
		if err != nil {
			t.Fatal(err)
		}
		describedArguments(t, c.Name, schemas)
		if schemas.Output != nil { // utility.call_tool answers as what it calls
			describedAll(t, c.Name+" answer", decode(t, schemas.Output))
		}
	}
	if n := len(api.Tools()) + len(api.Composites); n < 11 {
		t.Errorf("only %d tools", n)
	}
}

func describedArguments(t *testing.T, tool string, schemas *contract.Schemas) {
	t.Helper()
	for name, p := range decode(t, schemas.Input)["properties"].(map[string]any) {
		if d, _ := p.(map[string]any)["description"].(string); d == "" {
			t.Errorf("%s: argument %s has no description", tool, name)
		}
	}
}

func describes(t *testing.T, name, category, description string, a contract.Annotations) {
	t.Helper()
	if prefix, _, ok := strings.Cut(name, "."); !ok || prefix != category {
		t.Errorf("%s: a tool's name begins with its category %q and a dot", name, category)
	}
	if n := utf8.RuneCountInString(description); n < 60 || n > 400 {
		t.Errorf("%s: the description has %d characters, want 60 to 400", name, n)
	}
	if a.OpenWorldHint == nil || (!a.ReadOnlyHint && a.DestructiveHint == nil) {
		t.Errorf("%s: annotations must say openWorldHint, and readOnlyHint or destructiveHint", name)
	}
}

func describedAll(t *testing.T, at string, schema map[string]any) {
	t.Helper()
	properties, ok := schema["properties"].(map[string]any)
	if !ok && schema["additionalProperties"] != true {
		t.Errorf("%s: an object with neither members nor leave for any", at)
	}
	for name, v := range properties {
		p := v.(map[string]any)
		if d, _ := p["description"].(string); d == "" {
			t.Errorf("%s: %s has no description", at, name)
		}
		if p["type"] == "object" {
			describedAll(t, at+"."+name, p)
		}
		if items, ok := p["items"].(map[string]any); ok && items["type"] == "object" {
			describedAll(t, at+"."+name+"[]", items)
		}
	}
}
