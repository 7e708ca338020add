package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/spelling"
	"sekisho/functions/internal/toolsearch"
)

// found is the answer of utility.find_tools.
type found struct {
	Tools      []foundTool     `json:"tools"`
	Categories []foundCategory `json:"categories"`
	Advice     string          `json:"advice"`
}

type foundTool struct {
	Name     string `json:"name"`
	Summary  string `json:"summary"`
	Units    int64  `json:"units"`
	ReadOnly bool   `json:"read_only"`
}

type foundCategory struct {
	Name  string `json:"name"`
	Tools int    `json:"tools"`
}

const (
	// mostSummary is how many characters of a summary are shown.
	mostSummary = 200
	// mostCategories are shown.
	mostCategories = 100
	// mostNear names like an unknown one are suggested, and mostByWords that its words find.
	mostNear, mostByWords = 3, 2
)

// newIndex has a document for each tool, in their order.
func (s *toolSet) newIndex() *toolsearch.Index {
	documents := make([]toolsearch.Document, len(s.all))
	for i, t := range s.all {
		documents[i] = toolsearch.Document{Name: t.name, Summary: t.title, Description: t.description}
		if t.operation != nil {
			documents[i].Method, documents[i].Path, documents[i].Summary = t.operation.Method, t.operation.Path, t.summary()
		}
	}
	return toolsearch.New(documents)
}

func (t *tool) summary() string {
	if t.operation != nil && t.operation.Summary != "" {
		return t.operation.Summary
	}
	return t.title
}

func (t *tool) units() int64 {
	if t.operation == nil {
		return 0
	}
	return t.operation.Units
}

// findable says whether a search may name a tool to the key. The tools that search don't: who
// asks has them.
func (s *server) findable(x *exchange, t *tool) bool {
	return t.in != contract.ListedForSearch && x.key.Settings.Allows(t.name, t.category)
}

// search are the tools that fit the words best.
func (s *server) search(x *exchange, words, category string, limit int) []*tool {
	var tools []*tool
	for _, i := range s.tools.index().Find(words, limit, func(i int) bool {
		t := s.tools.all[i]
		return (category == "" || t.category == category) && s.findable(x, t)
	}) {
		tools = append(tools, s.tools.all[i])
	}
	return tools
}

func (s *server) find(_ context.Context, x *exchange, _ *tool, args map[string]any, _ *progress) (json.RawMessage, *problem.Problem) {
	words, _ := args["words"].(string)
	category, _ := args["category"].(string)
	limit, _ := args["limit"].(float64)
	categories := s.categories(x)
	if known := categoryNames(categories); category != "" && !slices.Contains(known, category) {
		return nil, problem.New(problem.InvalidArgument, "category: there is none called "+reply.Quote(category)+"; "+spelling.Known(category, known)+
			" Leave it out to search all, or send empty words to see the categories.")
	}
	var tools []*tool
	if strings.TrimSpace(words) == "" && category != "" {
		tools = s.ofCategory(x, category, int(limit))
	} else {
		tools = s.search(x, words, category, int(limit))
	}
	f := found{Tools: []foundTool{}, Categories: []foundCategory{}}
	for _, t := range tools {
		f.Tools = append(f.Tools, foundTool{t.listed, reply.Cut(t.summary(), mostSummary), t.units(), t.annotations.ReadOnlyHint})
	}
	switch {
	case len(tools) > 0:
		f.Advice = "Call utility.describe_tool for a tool's arguments, then utility.call_tool. If none fits, search again with other words."
	case category != "":
		f.Advice = "No tool of the category fits. Use other words, of the language that the tools are described in, or leave category out."
	case strings.TrimSpace(words) == "":
		f.Advice = "Search with words that say what a tool should do; category narrows it down."
	default:
		f.Advice = "No tool fits. Use other words, of the language that the tools are described in, or look into a category with empty words. If nothing fits then, no tool does it: tell your user."
	}
	if len(tools) == 0 {
		f.Categories = categories[:min(mostCategories, len(categories))]
	}
	f.Advice = s.tools.names.Replace(f.Advice)
	encoded, _ := reply.JSON(f) // strings and numbers always encode
	return encoded, nil
}

// categories are those of the tools that a search may name, with the largest first.
func (s *server) categories(x *exchange) []foundCategory {
	count := map[string]int{}
	for _, t := range s.tools.all {
		if s.findable(x, t) {
			count[t.category]++
		}
	}
	all := make([]foundCategory, 0, len(count))
	for name, tools := range count {
		all = append(all, foundCategory{name, tools})
	}
	slices.SortFunc(all, func(a, b foundCategory) int {
		if a.Tools != b.Tools {
			return b.Tools - a.Tools
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

func categoryNames(categories []foundCategory) (names []string) {
	for _, c := range categories {
		names = append(names, c.Name)
	}
	return names
}

func (s *server) ofCategory(x *exchange, category string, limit int) (tools []*tool) {
	for _, t := range s.tools.all {
		if len(tools) < limit && t.category == category && s.findable(x, t) {
			tools = append(tools, t)
		}
	}
	return tools
}

// described is the answer of utility.describe_tool.
type described struct {
	Name        string          `json:"name"`
	Category    string          `json:"category"`
	Description string          `json:"description"`
	Units       int64           `json:"units"`
	ReadOnly    bool            `json:"read_only"`
	Destructive bool            `json:"destructive"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func (s *server) describe(_ context.Context, x *exchange, _ *tool, args map[string]any, _ *progress) (json.RawMessage, *problem.Problem) {
	name, _ := args["name"].(string)
	t := s.tools.byName[name]
	if t == nil {
		return nil, s.unknownTool(x, name)
	}
	if !s.allows(x, t) {
		return nil, problem.New(problem.ToolDisabled, "")
	}
	schemas, err := t.schemas()
	if err != nil {
		return nil, problem.From(err)
	}
	// No strict mode reads this schema, so it keeps limits and defaults.
	input, err := withKeywords(schemas.Input, func(keyword string) bool { return !strings.HasPrefix(keyword, "x-") })
	if err != nil {
		return nil, problem.From(err)
	}
	readOnly, destructive := t.annotations.ReadOnlyHint, t.annotations.DestructiveHint
	encoded, err := reply.JSON(described{
		Name: t.listed, Category: t.category, Description: s.tools.names.Replace(t.description),
		Units: t.units(), ReadOnly: readOnly, Destructive: !readOnly && (destructive == nil || *destructive),
		InputSchema: input,
	})
	if err != nil {
		return nil, problem.From(err)
	}
	return encoded, nil
}

// callTool is the composite that calls another tool.
const callTool = "utility.call_tool"

// target reads the arguments of utility.call_tool: the tool that is meant, and its arguments.
func (s *server) target(x *exchange, t *tool, args map[string]any) (*tool, map[string]any, *problem.Problem) {
	inner := map[string]any{}
	switch given := args["arguments"].(type) {
	case map[string]any: // against the schema, but what a model means is plain
		inner = given
		delete(args, "arguments")
	case string:
		if strings.TrimSpace(given) == "" {
			break
		}
		var err error
		if inner, err = decodeArguments(json.RawMessage(given)); err != nil {
			return nil, nil, problem.New(problem.InvalidArgument, "arguments: not one JSON object as text, such as {\"id\":1}")
		}
	}
	if err := t.validate(args); err != nil {
		return nil, nil, invalidArgument(err)
	}
	name, _ := args["name"].(string)
	switch called := s.tools.byName[name]; called {
	case nil:
		return nil, nil, s.unknownTool(x, name)
	case t:
		return nil, nil, problem.New(problem.InvalidArgument, "name: this tool calls others; give the name of the one to call")
	default:
		return called, inner, nil
	}
}

// unknownTool names those that were most likely meant.
func (s *server) unknownTool(x *exchange, name string) *problem.Problem {
	where := "tools/list names the tools of this key."
	if _, mode, err := s.listFor(x.key.Settings); err == nil && mode == ListSearch {
		where = s.tools.names.Replace("utility.find_tools finds tools by words.")
	}
	end := "."
	if names := s.suggest(x, name); len(names) > 0 {
		end = "; " + spelling.DidYouMean(names)
	}
	return problem.New(problem.NotFound, "Unknown tool "+reply.Quote(name)+end+" "+where)
}

// suggest gives names like this one, else those of tools that its words find.
func (s *server) suggest(x *exchange, name string) []string {
	var names []string
	for _, t := range s.tools.all {
		if s.findable(x, t) {
			names = append(names, t.listed)
		}
	}
	near := name
	if s.ToolNames != Canonical {
		near = contract.ListedName(name)
	}
	suggested := spelling.Nearest(near, names, mostNear)
	if len(suggested) == 0 {
		for _, t := range s.search(x, reply.Cut(name, mostSummary), "", mostByWords) {
			suggested = append(suggested, t.listed)
		}
	}
	return suggested
}
