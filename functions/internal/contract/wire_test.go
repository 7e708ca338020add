package contract

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestArgumentValue: names and JSON texts become the backend's at any depth, and nothing else
// changes.
func TestArgumentValue(t *testing.T) {
	var schema map[string]any
	err := json.Unmarshal([]byte(`{"type":"object","properties":{
		"type_": {"type":"string","x-sekisho-name":"@type"},
		"plain": {"type":"string"},
		"meta":  {"type":"string","x-sekisho-json":true},
		"lines": {"type":"array","x-sekisho-name":"Lines","items":{"type":"object","properties":{
			"no": {"type":"integer","x-sekisho-name":"line-no"}, "any": {"type":"string","x-sekisho-json":true}}}},
		"free":  {"type":"array","items":{"type":"string","x-sekisho-json":true}}}}`), &schema)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWire(schema, newResolver([]byte(`{}`)), 0)
	if err != nil {
		t.Fatal(err)
	}
	argument := Argument{Name: "order", wire: w}
	for given, want := range map[string]string{
		`{"type_":"a","plain":"{}","lines":[{"no":1,"any":"[1, null]"}]}`: `{"@type":"a","Lines":[{"any":[1,null],"line-no":1}],"plain":"{}"}`,
		`{"meta":"{\"big\": 12345678901234567890}","free":["\"a\"","2"]}`: `{"free":["a",2],"meta":{"big":12345678901234567890}}`,
		`"text"`: `"text"`,
	} {
		var value any
		if err := json.Unmarshal([]byte(given), &value); err != nil {
			t.Fatal(err)
		}
		sent, err := argument.Value(value)
		if got, _ := json.Marshal(sent); err != nil || string(got) != want {
			t.Errorf("%s is sent as %s (%v), want %s", given, got, err, want)
		}
	}
	for _, wrong := range []string{"", "{", "a", "1 2"} {
		_, err := argument.Value(map[string]any{"meta": wrong})
		var refused *ArgumentError
		if !errors.As(err, &refused) || refused.Param != "order" {
			t.Errorf("%q as JSON text: %v", wrong, err)
		}
	}
}
