package contract

import (
	"fmt"
	"maps"
	"slices"

	"sekisho/functions/internal/lazy"
)

// StrictKeywords are those that every consumer of tool schemas takes. OpenAI's and Anthropic's
// strict modes refuse a whole request for a minLength, a pattern, a minimum or a default in one
// tool (coder/mux#1220), so descriptions give the limits, and the function checks them. Both
// modes ask for additionalProperties: false, which Gemini's older form does not know; its hosts
// take it out (promptfoo#6902).
var StrictKeywords = map[string]bool{
	"type": true, "description": true, "enum": true, "properties": true, "required": true,
	"items": true, "additionalProperties": true,
}

// strictName is a property's that every consumer takes.
var strictName = lazy.Regexp(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`)

// longDescription is OpenAI's limit.
const longDescription = 1024

// StrictFaults are what the strictest consumers refuse in a listed input schema: OpenAI's and
// Anthropic's strict modes (every keyword but StrictKeywords; additionalProperties: false on
// every object; no type unions), Gemini (items of every array, properties on objects only, no
// $ref, choices of strings only and none of them empty), VS Code (items), and names over 64
// characters anywhere. at is what the faults call the schema.
func StrictFaults(at string, schema map[string]any) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, at+": "+fmt.Sprintf(format, args...)) }
	kind, ok := schema["type"].(string)
	if !ok {
		fault("type is %v, not one name", schema["type"])
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		if !StrictKeywords[keyword] {
			fault("%s is a keyword that some refuse", keyword)
		}
	}
	properties, hasProperties := schema["properties"].(map[string]any)
	if hasProperties != (kind == "object") {
		fault("properties are for objects, and every object has them")
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
	choices, hasChoices := schema["enum"].([]any)
	if hasChoices && (kind != "string" || slices.ContainsFunc(choices, func(c any) bool { s, _ := c.(string); return s == "" })) {
		fault("enum is for strings, and none of them is empty")
	}
	items, hasItems := schema["items"].(map[string]any)
	if hasItems != (kind == "array") {
		fault("items are for arrays, and every array has them")
	}
	if hasItems {
		faults = append(faults, StrictFaults(at+"[]", items)...)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		if !strictName().MatchString(name) {
			fault("%s is not a name for a property", name)
		}
		if d, _ := property["description"].(string); d == "" || len(d) > longDescription {
			fault("%s has a description of %d characters", name, len(d))
		}
		faults = append(faults, StrictFaults(at+"."+name, property)...)
	}
	return faults
}
