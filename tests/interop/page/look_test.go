//go:build interop

package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// findings are what was looked at, for the table at the end.
type findings struct {
	mu     sync.Mutex
	rows   map[string]string
	weight string
}

func (f *findings) add(state, result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows = map[string]string{}
	}
	f.rows[state] = result
}

func (f *findings) weigh(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.weight = text
}

func (f *findings) table() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n%-44s %s\n", f.weight, "STATE", "AXE FINDINGS, LIGHT AND DARK")
	for _, state := range slices.Sorted(maps.Keys(f.rows)) {
		fmt.Fprintf(&b, "%-44s %s\n", state, f.rows[state])
	}
	return b.String()
}

// violation is a finding of axe-core.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, FailureSummary string }
}

// look checks a state in light and dark: nothing that axe-core finds, nothing that is wider than
// the window. It draws a picture of each.
func (b *tab) look(t *testing.T, state string) {
	t.Helper()
	var found []string
	// Only colours depend on the scheme.
	for scheme, rules := range map[string]string{"light": `null`, "dark": `["color-contrast", "link-in-text-block"]`} {
		b.scheme(scheme)
		b.picture(t, state+"-"+scheme)
		for _, v := range b.axe(rules) {
			detail, _ := json.Marshal(v.Nodes) // texts always encode
			t.Errorf("%s, %s: axe: %s (%s): %s: %s", state, scheme, v.ID, v.Impact, v.Help, detail)
			found = append(found, scheme+" "+v.ID)
		}
	}
	if wide := js[[]string](b, `[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 &&
		!e.closest("[class~=unseen], svg, pre, canvas") && !scrolls(e)).map((e) => e.outerHTML.slice(0, 120));
		function scrolls(e) { for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return true; return false; }`); len(wide) > 0 {
		t.Errorf("%s is wider than its window: %q", state, wide[0])
	}
	b.scheme("light")
	shared.seen.add(state, fmt.Sprintf("%d %s", len(found), strings.Join(found, ", ")))
}

// axe runs axe-core with some of its rules, or with all for null.
func (b *tab) axe(rules string) []violation {
	b.t.Helper()
	if !js[bool](b, `"axe" in window`) {
		js[any](b, shared.axe+"; null")
	}
	return js[[]violation](b, `axe.run(document, { resultTypes: ["violations"], ...(`+rules+` ? { runOnly: `+rules+` } : {}) }).then((r) => r.violations.map((v) =>
		({ ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => ({ HTML: n.html, FailureSummary: n.failureSummary })) })))`)
}

// picture writes what is in the window, and what is below it.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	if *pictures == "" {
		return
	}
	beyond := true
	shot := do(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond})
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), shot.Data, 0o644); err != nil {
		t.Fatal(err)
	}
}
