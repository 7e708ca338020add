//go:build interop

package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// allViews looks at each view.
func (b *tab) allViews(t *testing.T, state string) {
	t.Helper()
	for _, view := range []string{"usage", "tools", "connect", "diagnosis"} {
		b.view(view)
		b.look(t, state+", "+view)
	}
}

// TestKeyboard goes through the whole page without a mouse, and sees where the focus is.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	b := open(t, s)
	visible := func() {
		t.Helper()
		if !js[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return document.activeElement.matches(":focus-visible") && (s.outlineStyle !== "none" && s.outlineWidth !== "0px" || s.boxShadow !== "none"); })()`) {
			t.Errorf("the focus can't be seen on %s", b.focused())
		}
	}
	reach := func(selector, press string) {
		t.Helper()
		b.tabTo(selector)
		visible()
		b.press(press)
	}
	b.press("\t")
	if b.focused() != "skip" {
		t.Errorf("the first stop is %s", b.focused())
	}
	visible()
	b.picture(t, "keyboard, skip link")
	b.press("\r")
	b.tabTo("#key")
	b.typed(key)
	reach("#keep", " ")
	reach("#sign-in button", "\r")
	b.wait("signed in", ready)
	reach("#to-tools", "\r")
	b.wait("the tools", ready+` && document.querySelector("#content").dataset.shows === "tools"`)
	reach(toolSwitch("postal.lookup"), " ")
	b.saved()
	if off := s.off(t, key); fmt.Sprint(off) != "[postal.lookup]" {
		t.Errorf("off are %v", off)
	}
	b.tabTo(toolSwitch("postal.lookup") + ", #to-connect") // the focus has not been lost
	b.picture(t, "keyboard, a switch")
	js[any](b, `document.activeElement.blur(); null`)
	reach("#to-connect", "\r")
	b.wait("the clients", ready+` && document.querySelector("#content").dataset.shows === "connect"`)
	reach("#put-key", " ")
	reach(`[data-client="curl"] .copy`, "\r")
	b.wait("an announcement", `document.querySelector("#announcer").textContent !== ""`)
	js[any](b, `document.activeElement.blur(); null`)
	reach("#to-diagnosis", "\r")
	b.wait("the checks", ready+` && document.querySelector("#content").dataset.shows === "diagnosis"`)
	reach("#run", "\r")
	b.wait("the verdict", `document.querySelector("#verdict").textContent !== ""`)
	js[any](b, `document.activeElement.blur(); null`)
	reach("#sign-out", "\r")
	b.wait("signed out", isSignedOut)
}

// TestJapanese: the browser's choice, and then the holder's.
func TestJapanese(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy)
	s.seed(t, key)
	p := newProfile(t)
	b := p.blank(t, s.host())
	b.secrets = s.secrets
	agent := js[string](b, `navigator.userAgent`)
	do(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: "ja-JP,en"})
	b.visit(s.url + "/")
	b.wait("it speaks Japanese", `document.documentElement.lang === "ja"`)
	b.look(t, "Japanese, signed out")
	b.signIn(key.Key)
	b.allViews(t, "Japanese")
	if text := js[string](b, `document.body.innerText`); strings.ContainsAny(text, "{}") {
		t.Errorf("a place that isn't filled in: %s", text)
	}
	choose := func(language string) {
		js[any](b, `(() => { const l = document.querySelector("#language"); l.value = `+quoted(language)+`; l.dispatchEvent(new Event("change")); })()`)
		b.wait("it speaks "+language, ready+` && document.documentElement.lang === `+quoted(language))
	}
	choose("en")
	b.says("Diagnosis")
	b.reload()
	b.wait("the choice is kept", isSignedOut+` && document.documentElement.lang === "en"`)
	if kept := js[string](b, `JSON.stringify(Object.values(localStorage))`); kept != `["en"]` {
		t.Errorf("kept is %s", kept)
	}
}

// TestPhone: nothing is wider than a phone.
func TestPhone(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{320, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			key := s.key(t, roomy)
			s.seed(t, key)
			b := open(t, s)
			b.size(width, 800)
			b.look(t, fmt.Sprintf("phone %d, signed out", width))
			b.signIn(key.Key)
			b.allViews(t, fmt.Sprintf("phone %d", width))
		})
	}
}
