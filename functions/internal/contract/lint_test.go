package contract

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestStrictFaults: the lint of input schemas notices each kind of fault.
func TestStrictFaults(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{},"additionalProperties":false}`: "not one name",
		`{"type":"object","properties":{}}`:              "additionalProperties",
		`{"type":"object","properties":{"a":{"type":"string","description":"A.","minLength":1}},"additionalProperties":false}`:                  "minLength",
		`{"type":"object","properties":{"a":{"type":["string","null"],"description":"A."}},"additionalProperties":false}`:                       "not one name",
		`{"type":"object","properties":{"a":{"type":"array","description":"A."}},"additionalProperties":false}`:                                 "items",
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                   "description of 0",
		`{"type":"object","properties":{"a b":{"type":"string","description":"A."}},"additionalProperties":false}`:                              "not a name",
		`{"type":"object","properties":{},"required":["a"],"additionalProperties":false}`:                                                       "is required",
		`{"type":"object","properties":{"a":{"$ref":"#/x"}},"additionalProperties":false}`:                                                      "$ref",
		`{"type":"object","properties":{"a":{"type":"string","description":"A.","properties":{}}},"additionalProperties":false}`:                "for objects",
		`{"type":"object","properties":{"a":{"type":"array","description":"A.","items":{"type":"x","$ref":"y"}}},"additionalProperties":false}`: "[]: $ref",
		`{"type":"integer","enum":[1]}`:   "enum",
		`{"type":"string","enum":["",1]}`: "enum",
	} {
		var parsed map[string]any
		if err := json.Unmarshal([]byte(schema), &parsed); err != nil {
			t.Fatal(err)
		}
		if faults := strings.Join(StrictFaults("x", parsed), "\n"); !strings.Contains(faults, want) {
			t.Errorf("%s: %q, want %q in it", schema, faults, want)
		}
	}
}
