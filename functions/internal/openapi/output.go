package openapi

import (
	"maps"
	"slices"
)

// Answers are described by names and kinds alone. Descriptions are wrong about what is required,
// what may be null and which values there are, and an answer that has been paid for must not be
// thrown away for that.
const (
	answerDepth = 3
	answerNodes = 60
)

// answerSchema describes an answer, nil if nothing can be said about it.
func (s *shaper) answerSchema(n node) *schema {
	for depth := answerDepth; depth > 0; depth-- {
		left := answerNodes
		if made, ok := s.answerAt(n, depth, &left); ok {
			return made
		}
	}
	if v, err := s.shape(n, 0); err == nil && (v.kind == "object" || v.kind == "array") {
		return &schema{kind: v.kind, text: brief(v.text, longArgument), items: &schema{}, open: true}
	}
	return nil
}

func (s *shaper) answerAt(n node, depth int, left *int) (*schema, bool) {
	if *left--; *left < 0 {
		return nil, false
	}
	v, err := s.shape(n, 0)
	if err != nil {
		return &schema{}, true
	}
	made := &schema{kind: v.kind, text: brief(firstText(v.text, v.title), longArgument), open: true}
	switch {
	case v.kind == "null":
		return &schema{}, true
	case v.kind == "object" && depth > 0:
		made.members = map[string]*schema{}
		for _, name := range slices.Sorted(maps.Keys(v.properties)) {
			p := v.properties[name]
			if p.is("writeOnly") || name != clean(name, 100) {
				continue
			}
			member, ok := s.answerAt(p, depth-1, left)
			if !ok {
				return nil, false
			}
			made.members[name] = member
		}
	case v.kind == "array":
		made.items = &schema{}
		if depth > 0 && v.items.object() != nil {
			item, ok := s.answerAt(v.items, depth-1, left)
			if !ok {
				return nil, false
			}
			item.text = ""
			made.items = item
		}
	}
	return made, true
}
