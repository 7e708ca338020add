package contract

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed listed.json
var listed []byte

// Listed is what a tool takes of every conversation in which it is offered.
type Listed struct {
	// Bytes that it adds to tools/list.
	Bytes int `json:"bytes"`
	// Tokens is an estimate of what a host puts before its model.
	Tokens int `json:"estimated_tokens"`
}

// ListedTools are all tools by name. The package mcpserver, which writes the list, measures them;
// what only wants the figures can't afford to link it.
func ListedTools() (map[string]Listed, error) {
	var tools map[string]Listed
	if err := json.Unmarshal(listed, &tools); err != nil {
		return nil, fmt.Errorf("contract: listed.json: %w", err)
	}
	return tools, nil
}
