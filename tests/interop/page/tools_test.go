//go:build interop

package page

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

const settingsPath = "/v1/user/tool-settings"

// off are the tools that a key has off, by the API.
func (s *site) off(t *testing.T, key string) []string {
	t.Helper()
	var settings struct {
		Tools []struct {
			Name    string
			Enabled bool
		}
	}
	if err := json.Unmarshal([]byte(s.call(t, key, "GET", settingsPath, "", 200)), &settings); err != nil {
		t.Fatal(err)
	}
	off := []string{}
	for _, tool := range settings.Tools {
		if !tool.Enabled {
			off = append(off, tool.Name)
		}
	}
	slices.Sort(off)
	return off
}

func toolSwitch(name string) string { return `[data-tool="` + name + `"] input[role=switch]` }
func categorySwitch(name string) string {
	return `[data-category="` + name + `"] h2 input[role=switch]`
}

// saved waits until nothing is being saved any more.
func (b *tab) saved() {
	b.t.Helper()
	b.wait("it is saved", `!document.querySelector("[data-saving]")`)
}

func (b *tab) isOn(name string) bool {
	b.t.Helper()
	return js[bool](b, `document.querySelector(`+quoted(toolSwitch(name))+`).checked`)
}

func TestTools(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	b := open(t, s)
	b.signIn(key)
	b.view("tools")
	b.look(t, "tools")
	before := js[string](b, `document.querySelector("#tools-sum").textContent`)
	wantOff := func(what string, want ...string) {
		t.Helper()
		b.saved()
		if off := s.off(t, key); !slices.Equal(off, append([]string{}, want...)) {
			t.Errorf("%s: off are %v, want %v", what, off, want)
		}
		shown := js[[]string](b, `[...document.querySelectorAll("li[data-tool]")].filter((e) => !e.querySelector("input").checked).map((e) => e.dataset.tool).sort()`)
		if !slices.Equal(shown, append([]string{}, want...)) {
			t.Errorf("%s: the page shows as off %v, want %v", what, shown, want)
		}
	}
	b.click(toolSwitch("postal.lookup"))
	wantOff("one tool", "postal.lookup")
	if after := js[string](b, `document.querySelector("#tools-sum").textContent`); after == before {
		t.Errorf("the sum is still %q", after)
	}
	b.wait("the category is neither on nor off", `document.querySelector(`+quoted(categorySwitch("postal"))+`).indeterminate`)
	b.look(t, "tools, one off")
	b.click(categorySwitch("calendar"))
	b.saved()
	inCategory := js[[]string](b, `[...document.querySelectorAll('[data-category="calendar"] li[data-tool]')].map((e) => e.dataset.tool)`)
	if len(inCategory) < 2 {
		t.Fatalf("the category has %v", inCategory)
	}
	slices.Sort(inCategory)
	wantOff("a category", append(slices.Clone(inCategory), "postal.lookup")...)
	b.look(t, "tools, a category off")
	b.click(toolSwitch(inCategory[0]))
	wantOff("one of a category that was off", append(slices.Clone(inCategory[1:]), "postal.lookup")...)
	b.click(categorySwitch("calendar"))
	wantOff("the rest of the category", "postal.lookup")

	b.expects(500, 0)
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		problemOf(500, `{"error":"internal"}`)(w)
		return true
	})
	b.click(toolSwitch("convert.units"))
	b.notice("taken-back")
	wantOff("a failed save", "postal.lookup")
	b.look(t, "tools, taken back")
	s.intercept(nil)
	b.click(toolSwitch("postal.lookup"))
	wantOff("everything on again")
	b.noNotice("taken-back")
}

// TestTwoTabs: what one tab changed, the other doesn't undo.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	p := newProfile(t)
	one, two := p.open(t, s), p.open(t, s)
	for _, b := range []*tab{one, two} {
		b.signIn(key)
		b.view("tools")
	}
	one.click(toolSwitch("postal.lookup"))
	one.saved()
	two.expects(412)
	two.click(toolSwitch("convert.units"))
	two.saved()
	two.notice("merged")
	if off := s.off(t, key); !slices.Equal(off, []string{"convert.units", "postal.lookup"}) {
		t.Errorf("off are %v", off)
	}
	if two.isOn("postal.lookup") || two.isOn("convert.units") {
		t.Error("the second tab doesn't show what is off")
	}
	two.look(t, "tools, merged")
	// The first one catches up with its next change.
	one.expects(412)
	one.click(toolSwitch("postal.lookup"))
	one.saved()
	if off := s.off(t, key); !slices.Equal(off, []string{"convert.units"}) {
		t.Errorf("off are %v", off)
	}
}

// TestQuickSwitches: changes made faster than they are saved are all saved.
func TestQuickSwitches(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	b := open(t, s)
	b.signIn(key)
	b.view("tools")
	js[any](b, `for (const e of document.querySelectorAll('li[data-tool] input')) e.click(); null`)
	b.saved()
	all := js[int](b, `document.querySelectorAll("li[data-tool]").length`)
	if off := s.off(t, key); len(off) != all {
		t.Errorf("%d of %d are off", len(off), all)
	}
	b.look(t, "tools, all off")
}
