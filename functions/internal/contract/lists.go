package contract

import (
	"encoding/json"
	"net/url"
	"strings"

	"sekisho/functions/internal/reply"
)

// Lists and objects in a path or a query. A list of scalars is repeated there, ?tag=a&tag=b, or
// in a path separated by commas; anything else, and what could be misread, is JSON text.

// addToQuery writes a value as bindQuery reads it.
func addToQuery(query url.Values, name string, value any) {
	list, ok := value.([]any)
	if !ok {
		query.Set(name, text(value))
		return
	}
	for _, element := range list {
		switch element.(type) {
		case []any, map[string]any, nil:
			query.Set(name, text(value))
			return
		}
		query.Add(name, text(element))
	}
	if only := query[name]; len(only) == 0 || len(only) == 1 && looksLikeJSON(only[0]) {
		query.Set(name, text(value))
	}
}

// jsonText is the text of a list or an object.
func jsonText(value any) string {
	encoded, _ := reply.JSON(value) // it was decoded from JSON
	return string(encoded)
}

func looksLikeJSON(text string) bool {
	return strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{")
}

// listOf is a list that came as texts; false if the argument is no list, or came as JSON.
func (p property) listOf(values []string) ([]any, bool) {
	if p.kind != "array" || len(values) == 1 && looksLikeJSON(values[0]) {
		return nil, false
	}
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list, true
}

// fromJSON reads a list or an object that was sent as text, as agents do in bodies too. What
// is no JSON stays, and the validator refuses it.
func (p property) fromJSON(text string) any {
	var value any
	if !looksLikeJSON(text) || json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// elements reads those of a list that were sent as texts and mean numbers or booleans.
func (p property) elements(list []any) (meant any, wrong string) {
	for i, element := range list {
		if text, ok := element.(string); ok {
			if list[i], wrong = (property{kind: p.items}).fromText(text); wrong != "" {
				return nil, wrong
			}
		}
	}
	return list, ""
}
