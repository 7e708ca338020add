package mcpserver_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
)

type listed struct {
	Name         string
	Title        string
	Description  string
	InputSchema  map[string]any
	OutputSchema map[string]any
	Annotations  map[string]any
	Meta         map[string]any `json:"_meta"`
}

func (w *world) list() []listed {
	w.t.Helper()
	var body struct{ Result struct{ Tools []listed } }
	if err := json.Unmarshal([]byte(w.post(legacy("tools/list", "")).Body), &body); err != nil {
		w.t.Fatal(err)
	}
	return body.Result.Tools
}

// TestList: every tool of the contract but those for searching, once, in the order of names, with
// all that an agent needs to choose and call it.
func TestList(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	want := len(api.ToolCategories())
	for _, c := range api.Composites {
		if c.Listed == contract.ListedForSearch {
			want--
		}
	}
	for _, names := range []mcpserver.ToolNames{mcpserver.Canonical, mcpserver.Underscore} {
		w := newWorld(t, func(c *mcpserver.Config) { c.ToolNames = names })
		tools := w.list()
		if len(tools) != want {
			t.Errorf("%s: %d tools listed, want %d", names, len(tools), want)
		}
		if !slices.IsSortedFunc(tools, func(a, b listed) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: not in the order of names", names)
		}
		for _, tool := range tools {
			checkListed(t, names, tool)
		}
	}
}

// safeName is what the strictest hosts take.
var safeName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// dottedName finds the name of a tool as the contract has it.
var dottedName = regexp.MustCompile(`\b(account|calendar|convert|external|postal|system|utility)\.[a-z]`)

func checkListed(t *testing.T, names mcpserver.ToolNames, tool listed) {
	t.Helper()
	if names == mcpserver.Underscore && !safeName.MatchString(tool.Name) {
		t.Errorf("%s is no name for strict hosts", tool.Name)
	}
	if names == mcpserver.Underscore && dottedName.MatchString(tool.Description) {
		t.Errorf("%s: the description names a tool with a dot: %s", tool.Name, tool.Description)
	}
	if tool.Title == "" || tool.Description == "" || tool.InputSchema["type"] != "object" || tool.OutputSchema["type"] != "object" || tool.Annotations["readOnlyHint"] == nil {
		t.Errorf("%s: something is missing: %+v", tool.Name, tool)
	}
	if tool.Meta != nil {
		t.Errorf("%s has _meta", tool.Name)
	}
	if encoded, _ := json.Marshal([]any{tool.InputSchema, tool.OutputSchema}); strings.Contains(string(encoded), "$ref") {
		t.Errorf("%s: a reference in a schema", tool.Name)
	}
}

// TestNamesCollide: two tools that would share a name are found at start.
func TestNamesCollide(t *testing.T) {
	api, err := contract.Parse([]byte(`{"paths":{"/a":{"get":{"operationId":"a.b_c","x-sekisho":{"tool":true}}},"/b":{"get":{"operationId":"a_b.c","x-sekisho":{"tool":true}}}},"x-sekisho-limits":{"answer_bytes":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := newWorld(t).config
	c.API = api
	if _, err := mcpserver.New(c); err == nil || !strings.Contains(err.Error(), "share the name a_b_c") {
		t.Errorf("got %v", err)
	}
}

// TestSettings: what is switched off is missing from the list, and the rest is all there.
func TestSettings(t *testing.T) {
	w := newWorld(t)
	all := w.list()
	var body struct{ Result struct{ Tools []listed } }
	event := (&exchange{headers: with("x-api-key", limitedKey), body: legacy("tools/list", "")}).event()
	if err := json.Unmarshal([]byte(w.event(t.Context(), event).Body), &body); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, tool := range all {
		if !strings.HasPrefix(tool.Name, "calendar_") && tool.Name != "convert_era" {
			want = append(want, tool.Name)
		}
	}
	for _, tool := range body.Result.Tools {
		got = append(got, tool.Name)
	}
	if !slices.Equal(got, want) || len(got) == len(all) {
		t.Errorf("got %v, want %v", got, want)
	}
	if again := w.list(); len(again) != len(all) {
		t.Errorf("another key's settings changed the list: %d tools", len(again))
	}
}
