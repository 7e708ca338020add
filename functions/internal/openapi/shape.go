package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of what is made of one operation's schemas. A schema can describe more than its text
// is long: one that refers to itself, or that combines others a million times over.
const (
	mostSteps   = 20_000     // schemas looked at for one operation
	totalSteps  = 30_000_000 // and for all of them; then each has fewSteps
	fewSteps    = 500
	mostNesting = 16 // of allOf, oneOf and anyOf within one another
	mostDepth   = 4  // objects and lists within one another, in arguments
	mostNodes   = 150
	mostChoices = 100
)

// shape is what a schema comes to once its references are followed and its parts combined.
type shape struct {
	kind        string // object, array, string, integer, number, boolean; "" if anything, or a mixture
	title, text string
	format      string
	limits      map[string]float64
	pattern     string
	choices     []any // nil: any value
	properties  map[string]node
	required    map[string]bool
	items       node
	open        bool // members that are not named may be sent
	readOnly    bool
	writeOnly   bool
	nullable    bool
	fallback    any
	example     any
	mixed       string // why kind is "": what was combined
}

// shaper reads schemas within a budget of steps.
type shaper struct {
	doc   *document
	steps int
	notes func(kind Kind, reason, argument, detail string)
}

var errBudget = fmt.Errorf("the schema is too large to be read")

// shape reads a schema. Its error is one of a reference, or of the budget.
func (s *shaper) shape(n node, nesting int) (*shape, error) {
	if s.steps--; s.steps < 0 || nesting > mostNesting {
		return nil, errBudget
	}
	description := n.text("description") // may stand beside a reference, since 3.1
	n, err := s.doc.follow(n)
	if err != nil {
		return nil, err
	}
	v := &shape{properties: map[string]node{}, required: map[string]bool{}, limits: map[string]float64{}}
	v.readTypes(n)
	v.readAnnotations(n)
	if description != "" {
		v.text = description
	}
	v.readLimits(n)
	s.steps -= len(n.get("properties").object()) / 8
	for name, p := range n.get("properties").members() {
		v.properties[name] = p
	}
	for _, name := range n.list("required") {
		if name, ok := name.value.(string); ok {
			v.required[name] = true
		}
	}
	v.items = n.get("items")
	if extra := n.object()["additionalProperties"]; extra != nil && extra != false {
		v.open = true
	}
	for _, part := range n.list("allOf") {
		p, err := s.shape(part, nesting+1)
		if err != nil {
			return nil, err
		}
		v.and(p)
	}
	for _, member := range []string{"oneOf", "anyOf"} {
		if err := s.addEither(v, n.list(member), nesting); err != nil {
			return nil, err
		}
	}
	v.guess()
	return v, nil
}

func (s *shaper) addEither(v *shape, variants []node, nesting int) error {
	var either *shape
	for _, variant := range variants {
		p, err := s.shape(variant, nesting+1)
		if err != nil {
			return err
		}
		if p.kind == "null" {
			v.nullable = true
			continue
		}
		if either == nil {
			either = p
			continue
		}
		either.or(p)
	}
	if either != nil {
		v.and(either)
	}
	return nil
}

func (v *shape) readTypes(n node) {
	switch t := n.object()["type"].(type) {
	case string:
		v.kind = t
	case []any:
		var kinds []string
		for _, kind := range t {
			if kind == "null" {
				v.nullable = true
			} else if kind, ok := kind.(string); ok {
				kinds = append(kinds, kind)
			}
		}
		v.kind, v.mixed = commonKind(kinds)
	}
	v.kind = strings.ToLower(v.kind)
	switch v.kind {
	case "", "object", "array", "string", "integer", "number", "boolean", "null":
	case "file", "date", "datetime", "date-time", "uuid", "enum":
		v.kind = "string"
	case "int", "long", "int32", "int64":
		v.kind = "integer"
	case "float", "double", "decimal":
		v.kind = "number"
	case "bool":
		v.kind = "boolean"
	case "list":
		v.kind = "array"
	default:
		v.mixed, v.kind = "an unknown type", ""
	}
	v.nullable = v.nullable || n.is("nullable") || n.is("x-nullable")
	if choices, ok := n.object()["enum"].([]any); ok && len(choices) > 0 {
		v.choices = slices.DeleteFunc(slices.Clone(choices), func(c any) bool { return c == nil })
		if len(v.choices) == 0 {
			v.choices = nil
		}
	}
	if only := n.object()["const"]; only != nil {
		v.choices = []any{only}
	}
}

// commonKind is the one that a value of each of the kinds can be written in.
func commonKind(kinds []string) (kind, mixed string) {
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	switch {
	case len(kinds) == 0:
		return "", ""
	case len(kinds) == 1:
		return kinds[0], ""
	case slices.Equal(kinds, []string{"integer", "number"}):
		return "number", ""
	case !slices.Contains(kinds, "object") && !slices.Contains(kinds, "array") && slices.Contains(kinds, "string"):
		return "string", ""
	case slices.Equal(kinds, []string{"array", "string"}):
		return "array", ""
	}
	return "", strings.Join(kinds, " or ")
}

func (v *shape) readAnnotations(n node) {
	v.title, v.text, v.format, v.pattern = n.text("title"), n.text("description"), n.text("format"), n.text("pattern")
	v.readOnly, v.writeOnly = n.is("readOnly"), n.is("writeOnly")
	v.fallback = n.object()["default"]
	v.example = n.object()["example"]
	if examples := n.list("examples"); v.example == nil && len(examples) > 0 {
		v.example = examples[0].value
	}
}

func (v *shape) readLimits(n node) {
	for _, limit := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if f, ok := n.object()[limit].(float64); ok && f > -1<<53 && f < 1<<53 {
			v.limits[limit] = f
		}
	}
	// OpenAPI 3.0 and Swagger: a boolean makes the limit beside it exclusive.
	for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if f, ok := v.limits[limit]; ok && n.is(exclusive) {
			v.limits[exclusive] = f
			delete(v.limits, limit)
		}
	}
}

// guess finds the kind of a schema that names none by what else it says.
func (v *shape) guess() {
	if v.kind != "" || v.mixed != "" {
		return
	}
	var kinds []string
	for _, c := range v.choices {
		switch c.(type) {
		case string:
			kinds = append(kinds, "string")
		case float64:
			kinds = append(kinds, "number")
		case bool:
			kinds = append(kinds, "boolean")
		default:
			kinds = append(kinds, "object")
		}
	}
	switch {
	case len(kinds) > 0:
		v.kind, v.mixed = commonKind(kinds)
	case len(v.properties) > 0:
		v.kind = "object"
	case v.items.value != nil:
		v.kind = "array"
	case v.format != "" || v.pattern != "" || v.limits["maxLength"] > 0:
		v.kind = "string"
	case len(v.limits) > 0:
		v.kind = "number"
	}
}

// and adds what another schema asks for too.
func (v *shape) and(p *shape) {
	switch {
	case v.kind == "" && v.mixed == "":
		v.kind, v.mixed = p.kind, p.mixed
	case p.kind != "" && p.kind != v.kind:
		if v.kind == "number" && p.kind == "integer" {
			v.kind = "integer"
		} else if v.kind != "integer" || p.kind != "number" {
			v.kind, v.mixed = "", v.kind+" and "+p.kind
		}
	}
	v.title, v.text = firstText(v.title, p.title), firstText(v.text, p.text)
	v.format, v.pattern = firstText(v.format, p.format), firstText(v.pattern, p.pattern)
	maps.Copy(v.limits, p.limits)
	if v.choices == nil {
		v.choices = p.choices
	}
	for name, property := range p.properties {
		if old, ok := v.properties[name]; !ok || len(old.object()) <= 1 && !old.has("$ref") {
			v.properties[name] = property
		}
	}
	maps.Copy(v.required, p.required)
	if v.items.value == nil {
		v.items = p.items
	}
	v.open = v.open || p.open
	v.readOnly, v.writeOnly, v.nullable = v.readOnly || p.readOnly, v.writeOnly || p.writeOnly, v.nullable || p.nullable
	if v.fallback == nil {
		v.fallback = p.fallback
	}
	if v.example == nil {
		v.example = p.example
	}
}

// or widens a schema so that it takes what another one takes.
func (v *shape) or(p *shape) {
	if v.kind == "" || p.kind == "" {
		v.kind, v.mixed = "", firstText(v.mixed, p.mixed, "anything")
	} else {
		v.kind, v.mixed = commonKind([]string{v.kind, p.kind})
	}
	if v.text != p.text {
		v.text = ""
	}
	if v.format != p.format {
		v.format = ""
	}
	if v.choices != nil && p.choices != nil && len(v.choices)+len(p.choices) <= 10*mostChoices {
		for _, c := range p.choices {
			if !slices.ContainsFunc(v.choices, func(d any) bool { return same(c, d) }) {
				v.choices = append(v.choices[:len(v.choices):len(v.choices)], c)
			}
		}
	} else {
		v.choices = nil
	}
	clear(v.limits)
	v.pattern = ""
	for name := range v.required {
		if !p.required[name] {
			delete(v.required, name)
		}
	}
	for name, property := range p.properties {
		v.properties[name] = eitherProperty(v.properties[name], property)
	}
	if v.items.value == nil {
		v.items = p.items
	} else if p.items.value != nil {
		v.items = eitherProperty(v.items, p.items)
	}
	v.open = v.open || p.open
	v.nullable = v.nullable || p.nullable
	v.fallback, v.example = nil, nil
}

// eitherProperty is a schema of one or the other. Most often they are the same, or the names
// of the variants, of which there may be many: then the choices are flat.
func eitherProperty(a, b node) node {
	if a.value == nil || same(a.value, b.value) {
		return b
	}
	if a.file != b.file {
		return node{a.file, map[string]any{}}
	}
	if x, ok := a.object()["anyOf"].([]any); ok && len(a.object()) == 1 {
		if len(x) >= mostChoices || slices.ContainsFunc(x, func(v any) bool { return same(v, b.value) }) {
			return a
		}
		return node{a.file, map[string]any{"anyOf": append(slices.Clone(x), b.value)}}
	}
	return node{a.file, map[string]any{"anyOf": []any{a.value, b.value}}}
}

// same says that two values are alike, as far as a short look can tell.
func same(a, b any) bool {
	left := 200
	return alike(a, b, &left)
}

func alike(a, b any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			other, ok := b[name]
			if !ok || !alike(value, other, left) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return alike(x, y, left) })
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func firstText(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
