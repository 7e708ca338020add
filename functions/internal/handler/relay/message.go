package relay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/reply"
)

// message is what a backend is sent, in its own names, whichever way it goes.
type message struct {
	method string
	// template is the path with names in braces, path the same with the arguments.
	template, path string
	// params are the arguments in the path, percent-encoded.
	params map[string]string
	query  []pair
	header http.Header
	body   []byte
}

// pair is a parameter of the query; the value is kept as it is sent, too, because the commas
// between the elements of a list are sent as they are.
type pair struct{ name, value, encoded string }

func newPair(name, value string) pair { return pair{name, value, encode(value)} }

// target is the path with the query.
func (m message) target() string {
	if len(m.query) == 0 {
		return m.path
	}
	return m.path + "?" + join(m.query)
}

func join(pairs []pair) string {
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = encode(p.name) + "=" + p.encoded
	}
	return strings.Join(parts, "&")
}

// compose writes the arguments, which are valid, as the contract describes the backend. The
// error is a *contract.ArgumentError about what no schema can say.
func compose(c *contract.BackendCall, args map[string]any) (message, error) {
	m := message{method: c.Method, template: c.Path, params: map[string]string{}, header: http.Header{
		"Accept": {"application/json, text/plain, */*"},
	}}
	for _, name := range slices.Sorted(maps.Keys(c.Query)) {
		m.query = append(m.query, newPair(name, c.Query[name]))
	}
	var members []member
	for _, a := range c.Arguments {
		value, given := args[a.Name]
		if !given || value == nil && a.In != contract.InBody {
			continue
		}
		value, err := a.Value(value)
		if err != nil {
			return message{}, err
		}
		switch a.In {
		case contract.InPath:
			m.params[a.As], err = segment(a, value)
		case contract.InQuery:
			m.query = append(m.query, styled(a, value)...)
		case contract.InHeader:
			err = m.setHeader(a, value)
		default:
			members = append(members, member{a, value})
		}
		if err != nil {
			return message{}, err
		}
	}
	if err := m.setBody(c.Body, members); err != nil {
		return message{}, err
	}
	for name, value := range c.Headers {
		m.header.Set(name, fill(value, args))
	}
	m.path = c.Path
	for name, value := range m.params {
		m.path = strings.ReplaceAll(m.path, "{"+name+"}", value)
	}
	return m, nil
}

// fill puts arguments into a fixed header, such as an Idempotency-Key that follows from what is
// published. They are texts whose schema says what may be in them.
func fill(value string, args map[string]any) string {
	for name, argument := range args {
		if text, ok := argument.(string); ok && sendable(text) {
			value = strings.ReplaceAll(value, "{"+name+"}", text)
		}
	}
	return value
}

// segment writes an argument into the path. It must not lead out of its place: a backend that
// decodes a path before it looks at the segments would take ../admin as a way up.
func segment(a contract.Argument, value any) (string, error) {
	text := joined(a, value)
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return "", &contract.ArgumentError{Param: a.Name, Message: "must have no part that is . or .. between slashes"}
		}
	}
	if text == "" {
		return "", &contract.ArgumentError{Param: a.Name, Message: "must not be empty: it is a part of the backend's path"}
	}
	return encode(text), nil
}

func (m *message) setHeader(a contract.Argument, value any) error {
	text := joined(a, value)
	if !sendable(text) {
		return &contract.ArgumentError{Param: a.Name, Message: "must have no line break or other control character: it is sent as a header"}
	}
	m.header.Set(a.As, text)
	return nil
}

func sendable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// member is an argument that travels in the body.
type member struct {
	contract.Argument
	value any
}

func (m *message) setBody(kind contract.BodyKind, members []member) (err error) {
	switch kind {
	case "":
		return nil
	case contract.BodyForm:
		var pairs []pair
		for _, f := range members {
			if f.value != nil {
				pairs = append(pairs, styled(f.Argument, f.value)...)
			}
		}
		m.body = []byte(join(pairs))
		m.header.Set("Content-Type", "application/x-www-form-urlencoded")
	case contract.BodyText:
		if len(members) > 0 {
			m.body = []byte(text(members[0].value))
			m.header.Set("Content-Type", "text/plain; charset=utf-8")
		}
	case contract.BodyValue:
		if len(members) > 0 {
			m.body, err = reply.JSON(members[0].value)
			m.header.Set("Content-Type", "application/json")
		}
	default:
		object := make(map[string]any, len(members))
		for _, f := range members {
			object[f.As] = f.value
		}
		m.body, err = reply.JSON(object)
		m.header.Set("Content-Type", "application/json")
	}
	return err
}

// between are the separators of lists that are one value.
var between = map[contract.Style]string{contract.Comma: ",", contract.Space: "%20", contract.Pipe: "%7C"}

// styled writes an argument as parameters of a query or of a form.
func styled(a contract.Argument, value any) []pair {
	switch v := value.(type) {
	case []any:
		return list(a, v)
	case map[string]any:
		if a.Style == contract.JSON {
			return []pair{newPair(a.As, asJSON(v))}
		}
		return object(a, a.As, v)
	}
	return []pair{newPair(a.As, text(value))}
}

func list(a contract.Argument, values []any) (pairs []pair) {
	switch a.Style {
	case contract.JSON:
		return []pair{newPair(a.As, asJSON(values))}
	case contract.Comma, contract.Space, contract.Pipe:
		encoded := make([]string, len(values))
		for i, value := range values {
			encoded[i] = encode(text(value))
		}
		return []pair{{a.As, joined(a, values), strings.Join(encoded, between[a.Style])}}
	}
	name := a.As
	if a.Style == contract.Brackets {
		name += "[]"
	}
	for _, value := range values {
		pairs = append(pairs, newPair(name, text(value)))
	}
	return pairs
}

// object writes the members one by one: name[member]=value, or, in the style form, member=value
// (OpenAPI 3.0.3, style values).
func object(a contract.Argument, prefix string, members map[string]any) (pairs []pair) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		full := prefix + "[" + name + "]"
		if a.Style == contract.Form {
			full = name
		}
		switch value := members[name].(type) {
		case nil:
		case map[string]any:
			pairs = append(pairs, object(contract.Argument{Style: contract.Deep}, full, value)...)
		case []any:
			for _, element := range value {
				pairs = append(pairs, newPair(full, text(element)))
			}
		default:
			pairs = append(pairs, newPair(full, text(value)))
		}
	}
	return pairs
}

// joined is an argument as one value, for paths and headers.
func joined(a contract.Argument, value any) string {
	values, ok := value.([]any)
	if !ok || a.Style == contract.JSON {
		return text(value)
	}
	separator := ","
	switch a.Style {
	case contract.Space:
		separator = " "
	case contract.Pipe:
		separator = "|"
	}
	texts := make([]string, len(values))
	for i, element := range values {
		texts[i] = text(element)
	}
	return strings.Join(texts, separator)
}

// text writes one value; what is no scalar becomes JSON.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return asJSON(value)
}

func asJSON(value any) string {
	encoded, err := reply.JSON(value)
	if err != nil {
		return fmt.Sprint(value) // never: it was decoded from JSON
	}
	return string(encoded)
}

// encode percent-encodes all but what RFC 3986 leaves unreserved, as encodeURIComponent and
// urllib.parse.quote nearly do: every backend reads it back, and who checks a signature can
// write the same.
func encode(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
