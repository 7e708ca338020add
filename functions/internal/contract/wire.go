package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// wire says how the backend writes a value, where that is not as callers do: members of objects
// have other names, or a text holds JSON. A nil one changes nothing.
type wire struct {
	json    bool
	members map[string]wireMember // by our name
	items   *wire
}

type wireMember struct {
	as   string
	wire *wire
}

// newWire reads x-sekisho-name and x-sekisho-json in a schema, at any depth.
func newWire(schema map[string]any, from *resolver, depth int) (*wire, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("schemas are nested more than %d deep", maxDepth)
	}
	schema, err := from.ref(schema)
	if err != nil || schema == nil {
		return nil, err
	}
	w := &wire{json: schema["x-sekisho-json"] == true}
	if w.items, err = newWire(object(schema["items"]), from, depth+1); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	for name, value := range object(schema["properties"]) {
		property, err := from.ref(object(value))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		below, err := newWire(property, from, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		as, _ := property["x-sekisho-name"].(string)
		if below == nil && as == "" {
			continue
		}
		if w.members == nil {
			w.members = map[string]wireMember{}
		}
		w.members[name] = wireMember{as: as, wire: below}
	}
	if !w.json && w.items == nil && w.members == nil {
		return nil, nil
	}
	return w, nil
}

// Value is an argument as the backend takes it. The error is an *ArgumentError: a text that
// should hold JSON and doesn't.
func (a Argument) Value(value any) (any, error) {
	made, err := a.wire.value(value)
	if err != nil {
		return nil, &ArgumentError{Param: a.Name, Message: err.Error()}
	}
	return made, nil
}

func (w *wire) value(value any) (any, error) {
	if w == nil {
		return value, nil
	}
	switch v := value.(type) {
	case string:
		if !w.json {
			return v, nil
		}
		return decodeText(v)
	case []any:
		made := make([]any, len(v))
		for i, element := range v {
			var err error
			if made[i], err = w.items.value(element); err != nil {
				return nil, fmt.Errorf("element %d: %w", i+1, err)
			}
		}
		return made, nil
	case map[string]any:
		made := make(map[string]any, len(v))
		for name, member := range v {
			m := w.members[name]
			sent, err := m.wire.value(member)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if m.as != "" {
				name = m.as
			}
			made[name] = sent
		}
		return made, nil
	}
	return value, nil
}

// decodeText reads JSON that came as a text, and keeps all digits of its numbers.
func decodeText(text string) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf(`must be JSON text, such as {"a": 1}, ["a"] or "a" with its quotes: %w`, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("must be one JSON value, and something follows it")
	}
	return value, nil
}
