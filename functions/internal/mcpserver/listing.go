package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/reply"
)

// ListMode says which tools a list names. Every tool can be called by its name in any mode.
type ListMode string

const (
	// ListAuto is the default: all tools of the key, unless they would take more tokens than the
	// budget; then as ListSearch.
	ListAuto ListMode = "auto"
	// ListAll names all tools of the key.
	ListAll ListMode = "all"
	// ListSearch names a few tools, with which the others are found, described and called.
	ListSearch ListMode = "search"
)

// DefaultListingTokens is the budget of a list, as estimated by Listed.Tokens.
const DefaultListingTokens = 10_000

func (m ListMode) check() error {
	switch m {
	case ListAuto, ListAll, ListSearch:
		return nil
	}
	return fmt.Errorf("mcpserver: listing %q: use %s, %s or %s", string(m), ListAuto, ListAll, ListSearch)
}

// Choose is ListAll or ListSearch for a key whose tools would take so many tokens.
func (m ListMode) Choose(tokens, budget int) ListMode {
	switch {
	case m != ListAuto:
		return m
	case tokens > budget:
		return ListSearch
	}
	return ListAll
}

// names says whether lists of the mode, which is not ListAuto, name a tool.
func (m ListMode) names(t *tool) bool {
	if m == ListSearch {
		return t.in != contract.ListedInFull
	}
	return t.in != contract.ListedForSearch
}

// listFor are the tools of a key's list, and the mode that it is in.
func (s *server) listFor(settings account.Settings) (list []*tool, mode ListMode, err error) {
	tokens := 0
	if s.Listing == ListAuto {
		if tokens, err = s.tokens(settings); err != nil {
			return nil, "", err
		}
	}
	mode = s.Listing.Choose(tokens, s.ListingTokens)
	for _, t := range s.tools.all {
		if mode.names(t) && settings.Allows(t.name, t.category) {
			list = append(list, t)
		}
	}
	return list, mode, nil
}

// tokens adds up a full list until it passes the budget.
func (s *server) tokens(settings account.Settings) (int, error) {
	total := 0
	for _, t := range s.tools.all {
		if !ListAll.names(t) || !settings.Allows(t.name, t.category) {
			continue
		}
		e, err := t.entry()
		if err != nil {
			return 0, err
		}
		if total += e.tokens; total > s.ListingTokens {
			break
		}
	}
	return total, nil
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

// Listed is one tool as tools/list sends it.
type Listed struct {
	// Name is the one that clients see; Canonical and Category are the contract's.
	Name, Canonical, Category string
	// Entry is the tool's element of the list: compact JSON.
	Entry json.RawMessage
	// Prompt is what a host puts before its model: name, description and input schema.
	Prompt json.RawMessage
	// Tokens is an estimate of what Prompt takes.
	Tokens int
}

// Listing is the list in a mode, ListAll or ListSearch, of a key that has no tool switched off,
// in the order sent. Names are Underscore where empty.
func Listing(api *contract.API, names ToolNames, mode ListMode) ([]Listed, error) {
	set, err := newToolSet(api, cmp.Or(names, Underscore))
	if err != nil {
		return nil, err
	}
	list := make([]Listed, 0, len(set.all))
	for _, t := range set.all {
		if !mode.names(t) {
			continue
		}
		e, err := t.entry()
		if err != nil {
			return nil, err
		}
		sent, err := json.Marshal(e.definition)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		list = append(list, Listed{
			Name: t.listed, Canonical: t.name, Category: t.category,
			Entry: reply.Unescape(sent), Prompt: e.prompt, Tokens: e.tokens,
		})
	}
	return list, nil
}
