package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// The contract is written as YAML nodes, whose members have an order, and to which a person's
// comments are attached.

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func scalar(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return text(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case float64:
		tag := "!!float"
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			tag = "!!int"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: s}
	}
	return text("")
}

func list(values ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: values}
}

func stringList(values []string) *yaml.Node {
	n := list()
	for _, v := range values {
		n.Content = append(n.Content, text(v))
	}
	n.Style = yaml.FlowStyle
	return n
}

// mapping is an object whose members keep the order that they are added in.
type mapping struct{ *yaml.Node }

func object() mapping { return mapping{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (m mapping) set(name string, value *yaml.Node) mapping {
	if value != nil {
		m.Content = append(m.Content, text(name), value)
	}
	return m
}

func (m mapping) setText(name, value string) mapping {
	if value == "" {
		return m
	}
	return m.set(name, text(value))
}

func (m mapping) flow() mapping {
	m.Style = yaml.FlowStyle
	return m
}

// member finds a member of a mapping; nil if there is none, or n is none.
func member(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func memberText(n *yaml.Node, name string) string {
	if m := member(n, name); m != nil {
		return m.Value
	}
	return ""
}

// digest is short: it tells a value from its successor, and no person from another.
func digest(n *yaml.Node) string {
	var v any
	if err := n.Decode(&v); err != nil {
		return ""
	}
	encoded, err := json.Marshal(plain(v))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:4])
}

// encode writes a node, indented by a number of levels.
func encode(n *yaml.Node, levels int) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	if levels == 0 {
		return out.Bytes(), nil
	}
	indent := []byte(strings.Repeat("  ", levels))
	var shifted bytes.Buffer
	for line := range bytes.Lines(out.Bytes()) {
		if len(bytes.TrimSpace(line)) > 0 {
			shifted.Write(indent)
		}
		shifted.Write(line)
	}
	return shifted.Bytes(), nil
}

// node writes a schema.
func (s *schema) node() *yaml.Node {
	m := object()
	m.setText("type", s.kind)
	m.setText("description", s.text)
	if s.choices != nil {
		m.set("enum", stringList(s.choices))
	}
	for _, limit := range slices.Sorted(maps.Keys(s.limits)) {
		m.set(limit, scalar(s.limits[limit]))
	}
	if s.example != nil {
		m.set("example", scalar(s.example))
	}
	m.setText("x-sekisho-name", s.wire).setText("x-sekisho-style", s.style)
	if s.json {
		m.set("x-sekisho-json", scalar(true))
	}
	if s.kind == "object" && s.members != nil {
		if len(s.required) > 0 {
			m.set("required", stringList(s.required))
		}
		properties := object()
		for _, name := range slices.Sorted(maps.Keys(s.members)) {
			properties.set(name, s.members[name].node())
		}
		m.set("properties", properties.Node)
		if !s.open {
			m.set("additionalProperties", scalar(false))
		}
	}
	if s.kind == "array" && s.items != nil {
		m.set("items", s.items.node())
	}
	if s.members == nil && s.items == nil {
		m.flow()
	}
	return m.Node
}
