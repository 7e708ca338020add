package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ListSize is what a tool takes of every conversation in which it is offered.
type ListSize struct {
	// Bytes that it adds to tools/list.
	Bytes int `json:"bytes"`
	// Tokens is an estimate of what a host puts before its model.
	Tokens int `json:"estimated_tokens"`
}

const listSizes = "x-sekisho-list-sizes"

// ListSizes are those of the tools by name. The package mcpserver, which writes the list, measures
// them where a contract is merged: what only wants the figures can't afford to link it. They are
// decoded once and shared, so callers must not change them.
func (a *API) ListSizes() (map[string]ListSize, error) { return a.sizes() }

func listSizesOf(member json.RawMessage) (map[string]ListSize, error) {
	var sizes map[string]ListSize
	if err := decode(member, &sizes); err != nil {
		return nil, fmt.Errorf("contract: %s: %w", listSizes, err)
	}
	return sizes, nil
}

// WithListSizes puts the sizes into a merged contract, in place of those that it has. Nil takes
// them out.
func WithListSizes(doc []byte, sizes map[string]ListSize) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	delete(members, listSizes)
	if sizes != nil {
		encoded, err := json.Marshal(sizes)
		if err != nil {
			return nil, err
		}
		members[listSizes] = encoded
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(members); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	return out.Bytes(), nil
}
