package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/reply"
)

// ListMode says which tools a list names. Every tool can be called by its name in any mode.
type ListMode string

const (
	// ListAuto is the default: all tools of the key, unless they would take more tokens than the
	// budget, or more bytes than an answer may have; then as ListSearch.
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

// envelope is more than what an answer has around a list, in bytes.
const envelope = 1000

// Choose is ListAll or ListSearch for a key of whose tools a list would take so many tokens of
// the budget, and so many bytes of an answer.
func (m ListMode) Choose(tokens, budget, bytes, answer int) ListMode {
	switch {
	case m != ListAuto:
		return m
	case tokens > budget || bytes+envelope > answer:
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
	if mode, err = s.choose(settings); err != nil {
		return nil, "", err
	}
	for _, t := range s.tools.all {
		if mode.names(t) && settings.Allows(t.name, t.category) {
			list = append(list, t)
		}
	}
	return list, mode, nil
}

// list is the result of tools/list, as the SDK writes it; nil where it can't be made.
func (s *server) list(x *exchange, modern bool) json.RawMessage {
	list, _, err := s.listFor(x.key.Settings)
	if err != nil {
		return nil
	}
	tools := make([][]byte, len(list))
	for i, t := range list {
		e, err := t.entry()
		if err != nil {
			return nil
		}
		tools[i] = e.sent
	}
	about, resultType := s.about(modern)
	head, err := reply.JSON(struct {
		ResultType string   `json:"resultType,omitempty"`
		Meta       mcp.Meta `json:"_meta,omitempty"`
		mcp.Cacheable
	}{resultType, about, mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}})
	if err != nil {
		return nil
	}
	x.setOutcome(succeeded)
	head = append(head[:len(head)-len("}")], `,"tools":[`...)
	return append(append(head, bytes.Join(tools, []byte(","))...), "]}"...)
}

// choose adds up a full list no further than to where it is too long.
func (s *server) choose(settings account.Settings) (ListMode, error) {
	if s.Listing != ListAuto {
		return s.Listing, nil
	}
	tokens, bytes := 0, 0
	for _, t := range s.tools.all {
		if !ListAll.names(t) || !settings.Allows(t.name, t.category) {
			continue
		}
		e, err := t.entry()
		if err != nil {
			return "", err
		}
		tokens, bytes = tokens+e.tokens, bytes+len(e.sent)+len(",")
		if ListAuto.Choose(tokens, s.ListingTokens, bytes, s.API.Limits.AnswerBytes) == ListSearch {
			return ListSearch, nil
		}
	}
	return ListAll, nil
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
		list = append(list, Listed{
			Name: t.listed, Canonical: t.name, Category: t.category,
			Entry: e.sent, Prompt: e.prompt, Tokens: e.tokens,
		})
	}
	return list, nil
}

// Measured is a merged contract with what each of its tools takes of a list.
func Measured(doc []byte) ([]byte, error) {
	api, err := contract.Parse(doc)
	if err != nil {
		return nil, err
	}
	set, err := newToolSet(api, Underscore)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]contract.ListSize, len(set.all))
	for _, t := range set.all {
		e, err := t.entry()
		if err != nil {
			return nil, err
		}
		sizes[t.name] = contract.ListSize{Bytes: len(e.sent), Tokens: e.tokens}
	}
	return contract.WithListSizes(doc, sizes)
}
