package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/reply"
)

// Listed is one tool as tools/list sends it.
type Listed struct {
	// Name is the one that clients see; Canonical and Category are the contract's.
	Name, Canonical, Category string
	// Entry is the tool's element of the list: compact JSON.
	Entry json.RawMessage
	// Prompt is what a host puts before its model: name, description and input schema.
	// Title, output schema and annotations stay with the host.
	Prompt json.RawMessage
}

// Tokens estimates what Prompt takes of a model's context.
func (l Listed) Tokens() int { return estimateTokens(l.Prompt) }

// estimateTokens counts one token per four ASCII characters and one per other character.
// Tokenizers differ; for English, JSON and Japanese this is within about a third.
func estimateTokens(text []byte) int {
	ascii, others := 0, 0
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			others++
		}
	}
	return (ascii+3)/4 + others
}

// Listing is the list of a key that has no tool switched off, in the order sent. Names are
// Underscore where empty.
func Listing(api *contract.API, names ToolNames) ([]Listed, error) {
	set, err := newToolSet(api, cmp.Or(names, Underscore))
	if err != nil {
		return nil, err
	}
	list := make([]Listed, 0, len(set.all))
	for _, t := range set.all {
		entry, err := json.Marshal(t.definition)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		prompt, err := json.Marshal(struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			InputSchema any    `json:"input_schema"`
		}{t.listed, t.definition.Description, t.definition.InputSchema})
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		list = append(list, Listed{
			Name: t.listed, Canonical: t.name, Category: t.category,
			Entry: reply.Unescape(entry), Prompt: reply.Unescape(prompt),
		})
	}
	return list, nil
}
