package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/spelling"
)

type toolsCmd struct {
	contractFlag
	Data  string   `help:"The laptop's data directory, for the contract that it was served with." default:"${data}" placeholder:"DIR"`
	Names string   `help:"Style of names: underscore (postal_lookup) or canonical (postal.lookup)." enum:"underscore,canonical" default:"underscore"`
	Off   []string `help:"Leave out a category or a tool, as a key's tool settings do. Repeatable." placeholder:"NAME"`
	listingFlags
	Format string `help:"Output format: table or json." enum:"table,json" default:"table"`
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

// toolCosts is the report: what a list of all tools costs, and which list a key gets.
type toolCosts struct {
	Tools      []toolCost `json:"tools"`
	Categories []toolCost `json:"categories"`
	Total      toolCost   `json:"total"`
	// Search is what a list costs that names only the tools with which others are found.
	Search  toolCost `json:"search"`
	Listing listing  `json:"listing"`
}

// listing says which list a key gets, and why.
type listing struct {
	// Setting is auto, all or search; Mode is what it comes to.
	Setting mcpserver.ListMode `json:"setting"`
	Budget  int                `json:"budget_tokens"`
	Mode    mcpserver.ListMode `json:"mode"`
	// AnswerBytes is the most that an answer may have, the list's included.
	AnswerBytes int `json:"answer_bytes"`
}

func (c toolsCmd) Run(s streams) error {
	api, err := c.load(c.Data)
	if err != nil {
		return err
	}
	if err := c.listingFlags.check(); err != nil {
		return badUsage(err)
	}
	off, err := offSettings(api, c.Off)
	if err != nil {
		return badUsage(err)
	}
	var report toolCosts
	for _, mode := range []mcpserver.ListMode{mcpserver.ListSearch, mcpserver.ListAll} {
		list, err := mcpserver.Listing(api, mcpserver.ToolNames(c.Names), mode)
		if err != nil {
			return err
		}
		search := report.Total
		report = costOf(list, off)
		report.Search = search
	}
	report.Search.Name = "search"
	report.Listing = c.choose(report.Total, api.Limits.AnswerBytes)
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
			return off, fmt.Errorf("--off %s: no such category or tool; %s", name, spelling.Known(name, known))
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
			Bytes: len(t.Entry), PromptBytes: len(t.Prompt), Tokens: t.Tokens,
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

// explain is for the person who wonders why a list is as it is.
func (l listing) explain(r toolCosts) string {
	names := "all tools"
	if l.Mode == mcpserver.ListSearch {
		names = fmt.Sprintf("the %d tools of search", r.Search.Tools)
	}
	tooLong := r.Total.Bytes > l.AnswerBytes
	var why string
	switch {
	case l.Setting == mcpserver.ListAll && tooLong:
		why = fmt.Sprintf("as set, and is refused: an answer has %d bytes at most", l.AnswerBytes)
	case l.Setting != mcpserver.ListAuto:
		why = fmt.Sprintf("as set (all of them would take %d tokens)", r.Total.Tokens)
	case l.Mode == mcpserver.ListAll:
		why = fmt.Sprintf("since all %d take %d tokens, within the budget of %d", r.Total.Tools, r.Total.Tokens, l.Budget)
	case r.Total.Tokens > l.Budget:
		why = fmt.Sprintf("since all %d take %d tokens, over the budget of %d", r.Total.Tools, r.Total.Tokens, l.Budget)
	default:
		why = fmt.Sprintf("since all %d take %d bytes, and an answer has %d at most", r.Total.Tools, r.Total.Bytes, l.AnswerBytes)
	}
	return fmt.Sprintf("tools/list names %s, %s.", names, why)
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
	row("search", r.Search)
	fmt.Fprintf(&b, "\n%s\n", r.Listing.explain(r))
	b.WriteString(`
BYTES is the size in tools/list. IN PROMPT is the part that a host passes to its model: name,
description and input schema. TOKENS is an estimate from that: one per four ASCII characters
and one per other character. A key's holder switches tools off with PUT
/v1/user/tool-settings; --off shows the list that such a key gets. search is the list that names
only a few tools, with which the others are found, described and called.
`)
	_, err := io.WriteString(w, b.String())
	return err
}
