//go:build interop

package page

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

func TestConnect(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	b := open(t, s)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if _, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
			Origin: s.url, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		}); err != nil {
			t.Fatal(err)
		}
	}
	b.signIn(key)
	b.view("connect")
	b.look(t, "connect")
	clients := js[[]string](b, `[...document.querySelectorAll("[data-client]")].map((e) => e.dataset.client)`)
	for _, want := range []string{"claude-code", "codex", "continue", "inspector", "curl"} {
		if !slices.Contains(clients, want) {
			t.Errorf("no configuration for %s among %v", want, clients)
		}
	}
	if b.holds(key) {
		t.Error("the key is on the page, and nobody asked for it")
	}
	b.click("#put-key")
	for _, client := range clients {
		text := js[string](b, `document.querySelector('[data-client="`+client+`"] pre').textContent`)
		if !strings.Contains(text, s.url) || !strings.Contains(text, key) || strings.ContainsAny(text, "\u00a0") {
			t.Errorf("%s: %s", client, text)
		}
		if strings.HasPrefix(text, "{") && !json.Valid([]byte(text)) {
			t.Errorf("%s: not JSON: %s", client, text)
		}
		b.click(`[data-client="` + client + `"] .copy`)
		b.wait("it is announced", `document.querySelector("#announcer").textContent.includes(document.querySelector('[data-client="`+client+`"] h2').textContent)`)
		if copied := js[string](b, `navigator.clipboard.readText()`); copied != text {
			t.Errorf("%s: copied %q", client, copied)
		}
	}
	b.look(t, "connect, with the key")
	command := js[string](b, `document.querySelector('[data-client="curl"] pre').textContent`)
	if out, err := exec.Command("sh", "-c", command+" --silent").CombinedOutput(); err != nil || !strings.Contains(string(out), "\"plan\":") {
		t.Errorf("%v: %s", err, out)
	}
	b.click("#put-key")
	if b.holds(key) {
		t.Error("the key stays on the page")
	}
	b.view("usage")
	b.view("connect")
	if b.holds(key) {
		t.Error("the key comes back by itself")
	}
}

// TestDiagnosis: each check is seen to wait, run and pass, one after the other. Nothing is between
// the browser and the service here, so it also shows that the service takes its page for its own.
func TestDiagnosis(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.url = s.APIURL
	b := open(t, s)
	b.signIn(s.key(t, roomy).Key)
	b.view("diagnosis")
	b.look(t, "diagnosis, before")
	js[any](b, `window.seen = [];
		new MutationObserver((records) => { for (const r of records) seen.push(r.target.dataset.check + " " + r.target.dataset.state); })
			.observe(document.querySelector("#content"), { subtree: true, attributeFilter: ["data-state"] }); null`)
	b.click("#run")
	b.wait("the verdict", `document.querySelector("#verdict").textContent !== ""`)
	var want []string
	for _, check := range []string{"endpoint", "key", "usage", "settings", "mcp"} {
		want = append(want, check+" running", check+" good")
	}
	seen := slices.DeleteFunc(js[[]string](b, `seen`), func(s string) bool { return strings.HasSuffix(s, " waiting") })
	// A check that takes no time may be seen in its last state only.
	if got := slices.Compact(seen); !isOrdered(got, want) {
		t.Errorf("seen %v, want %v", got, want)
	}
	b.look(t, "diagnosis, passed")
}

// isOrdered says whether got has the last state of each check, and nothing out of order.
func isOrdered(got, want []string) bool {
	at := 0
	for _, state := range want {
		if at < len(got) && got[at] == state {
			at++
		} else if strings.HasSuffix(state, " good") && (at == 0 || got[at-1] != state) {
			return false
		}
	}
	return at == len(got)
}
