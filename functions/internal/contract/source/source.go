// Package source reads contracts as people write them. It links the YAML library, so nothing that
// runs in Lambda imports it.
package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"gopkg.in/yaml.v3"
)

// Read reads a file of YAML or JSON and returns it as JSON.
func Read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := JSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

// JSON returns YAML or JSON as JSON, with sorted members.
func JSON(text []byte) ([]byte, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return text, nil
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, first(err)
	}
	tree, err := plain(tree)
	if err != nil {
		return nil, err
	}
	if _, isObject := tree.(map[string]any); !isObject {
		return nil, errors.New("is not an object at the top")
	}
	return json.Marshal(tree)
}

// mostFaults is how many faults of a file an error lists: a person mends a few at a time.
const mostFaults = 3

func first(err error) error {
	var all *yaml.TypeError
	if errors.As(err, &all) && len(all.Errors) > mostFaults {
		return &yaml.TypeError{Errors: append(all.Errors[:mostFaults:mostFaults], fmt.Sprintf("and %d more", len(all.Errors)-mostFaults))}
	}
	return err
}

// plain makes of YAML's values those that JSON has. Keys such as 200 become texts, and so do
// dates, which YAML sees in an example such as 2026-11-30.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			made, err := plain(member)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			v[name] = made
		}
	case map[any]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[fmt.Sprint(name)] = member
		}
		return plain(object)
	case []any:
		for i, element := range v {
			made, err := plain(element)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			v[i] = made
		}
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly), nil
		}
		return v.Format(time.RFC3339Nano), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no number in JSON", v)
		}
	}
	return value, nil
}
