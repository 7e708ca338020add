package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
)

type toolsCmd struct {
	contractFlag
	Names  string   `help:"Style of names: underscore (postal_lookup) or canonical (postal.lookup)." enum:"underscore,canonical" default:"underscore"`
	Off    []string `help:"Leave out a category or a tool, as a key's tool settings do. Repeatable." placeholder:"NAME"`
	Format string   `help:"Output format: table or json." enum:"table,json" default:"table"`
}

// toolCost is what one tool, or several, cost in tools/list.
type toolCost struct {
	Name     string `json:"name"`
	Category string `json:"category,omitempty"`
	Tools    int    `json:"tools"`
	// Bytes that tools/list sends.
	Bytes int `json:"bytes"`
	// PromptBytes and Tokens are of what a host passes to its model: name, description and
	// input schema.
	PromptBytes int `json:"prompt_bytes"`
	Tokens      int `json:"estimated_tokens"`
}

func (c *toolCost) add(other toolCost) {
	c.Tools += other.Tools
	c.Bytes += other.Bytes
	c.PromptBytes += other.PromptBytes
	c.Tokens += other.Tokens
}

// toolCosts is the report.
type toolCosts struct {
	Tools      []toolCost `json:"tools"`
	Categories []toolCost `json:"categories"`
	Total      toolCost   `json:"total"`
}

func (c toolsCmd) Run(s streams) error {
	api, err := c.load("")
	if err != nil {
		return err
	}
	off, err := offSettings(api, c.Off)
	if err != nil {
		return badUsage(err)
	}
	list, err := mcpserver.Listing(api, mcpserver.ToolNames(c.Names))
	if err != nil {
		return err
	}
	report := costOf(list, off)
	if c.Format == "json" {
		return printJSON(s.out, report)
	}
	return toolTable(s.out, report)
}

// offSettings are the settings of a key with these categories and tools switched off.
func offSettings(api *contract.API, names []string) (account.Settings, error) {
	var off account.Settings
	categories := api.ToolCategories()
	known := slices.Sorted(maps.Keys(categories))
	for _, name := range names {
		_, isTool := categories[name]
		isCategory := slices.Contains(slices.Collect(maps.Values(categories)), name)
		switch {
		case isTool:
			off.DisabledTools = append(off.DisabledTools, name)
		case isCategory:
			off.DisabledCategories = append(off.DisabledCategories, name)
		default:
			return off, fmt.Errorf("--off %s: no such category or tool; the tools are: %s", name, strings.Join(known, ", "))
		}
	}
	return off, nil
}

func costOf(list []mcpserver.Listed, off account.Settings) toolCosts {
	report := toolCosts{Total: toolCost{Name: "all"}, Tools: []toolCost{}}
	categories := map[string]*toolCost{}
	for _, t := range list {
		if !off.Allows(t.Canonical, t.Category) {
			continue
		}
		one := toolCost{
			Name: t.Name, Category: t.Category, Tools: 1,
			Bytes: len(t.Entry), PromptBytes: len(t.Prompt), Tokens: estimateTokens(t.Prompt),
		}
		report.Tools = append(report.Tools, one)
		if categories[t.Category] == nil {
			categories[t.Category] = &toolCost{Name: t.Category}
		}
		categories[t.Category].add(one)
		report.Total.add(one)
	}
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		report.Categories = append(report.Categories, *categories[name])
	}
	return report
}

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

func toolTable(w io.Writer, r toolCosts) error {
	width := len("TOOL")
	for _, tool := range r.Tools {
		width = max(width, len(tool.Name)+2)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s  %5s  %5s  %9s  %6s  %9s\n", width, "TOOL", "TOOLS", "BYTES", "IN PROMPT", "TOKENS", "OFF SAVES")
	row := func(name string, c toolCost) {
		share := fmt.Sprintf("%.0f %%", 100*float64(c.Tokens)/float64(max(1, r.Total.Tokens)))
		fmt.Fprintf(&b, "%-*s  %5d  %5d  %9d  %6d  %9s\n", width, name, c.Tools, c.Bytes, c.PromptBytes, c.Tokens, share)
	}
	for _, c := range r.Categories {
		row(c.Name, c)
		for _, tool := range r.Tools {
			if tool.Category == c.Name {
				row("  "+tool.Name, tool)
			}
		}
	}
	row("all", r.Total)
	b.WriteString(`
BYTES is the size in tools/list. IN PROMPT is the part that a host passes to its model: name,
description and input schema. TOKENS is an estimate from that: one per four ASCII characters
and one per other character. A key's holder switches tools off with PUT
/v1/user/tool-settings; --off shows the list that such a key gets.
`)
	_, err := io.WriteString(w, b.String())
	return err
}
