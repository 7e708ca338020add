//go:build interop

package page

import (
	"testing"
)

// ready says that a view is shown and up to date.
const ready = `document.body.dataset.state === "ready"`

// signIn types a key in and waits for the usage.
func (b *tab) signIn(key string) {
	b.t.Helper()
	b.click("#key")
	b.typed(key)
	b.press("\r")
	b.wait("signed in", ready)
}

// view follows the link to a view.
func (b *tab) view(name string) {
	b.t.Helper()
	b.click("#to-" + name)
	b.wait(name+" is shown", ready+` && document.body.dataset.view === `+quoted(name)+` && document.querySelector("#content").dataset.shows === `+quoted(name))
}

// notice waits for a message of a kind.
func (b *tab) notice(kind string) {
	b.t.Helper()
	b.wait("a notice "+kind, `document.querySelector('[data-notice="`+kind+`"]')`)
}

func (b *tab) noNotice(kind string) {
	b.t.Helper()
	b.wait("no notice "+kind, `!document.querySelector('[data-notice="`+kind+`"]')`)
}

const isSignedOut = `document.body.dataset.state === "signed-out" && document.querySelector("#key")`

// holds says whether the page has a text anywhere: in its elements, or in a field.
func (b *tab) holds(text string) bool {
	b.t.Helper()
	return js[bool](b, `(() => {
		const text = `+quoted(text)+`;
		return document.documentElement.outerHTML.includes(text) || [...document.querySelectorAll("input, textarea")].some((e) => e.value.includes(text));
	})()`)
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	b := open(t, s)
	b.asked()
	b.look(t, "signed out")

	b.click("#sign-in button")
	if len(b.asked()) > 0 || !js[bool](b, `!!(`+isSignedOut+`)`) {
		t.Error("no key at all is sent")
	}
	b.click("#key")
	b.typed("鍵ではない")
	b.press("\r")
	b.notice("wrong-key")
	if asked := b.asked(); len(asked) > 0 {
		t.Errorf("what can't be a key is sent: %v", asked)
	}
	b.expects(401)
	js[any](b, `document.querySelector("#key").value = ""; null`)
	b.click("#key")
	b.typed(key[:len(key)-1] + "!")
	b.press("\r")
	b.wait("the API has refused the key", `document.body.dataset.state === "signed-out"`)
	b.notice("wrong-key")
	if asked := b.asked(); len(asked) != 1 {
		t.Errorf("a wrong key costs %v", asked)
	}
	b.look(t, "wrong key")

	b.signIn(key)
	if b.holds(key) {
		t.Error("the key is on the page")
	}
	if kept := js[string](b, `JSON.stringify(sessionStorage)`); kept != "{}" {
		t.Errorf("nobody asked to keep the key: %s", kept)
	}
	b.reload()
	b.wait("the key is forgotten", isSignedOut)
}

// TestKeep: the key outlives a reload if that is asked for, and signing out forgets it.
func TestKeep(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy).Key
	b := open(t, s)
	b.click("#keep")
	b.signIn(key)
	if kept := js[string](b, `JSON.stringify(Object.values(sessionStorage))`); kept != `[`+quoted(key)+`]` {
		t.Errorf("the session keeps %d bytes", len(kept))
	}
	b.reload()
	b.wait("still signed in", ready)
	if b.holds(key) {
		t.Error("the key is on the page")
	}
	b.click("#sign-out")
	b.wait("signed out", isSignedOut)
	b.notice("signed-out")
	if kept := js[string](b, `JSON.stringify(sessionStorage)`); kept != "{}" {
		t.Error("the session still keeps something")
	}
	if focus := b.focused(); focus != "key" {
		t.Errorf("the focus is on %q", focus)
	}
	b.reload()
	b.wait("still signed out", isSignedOut)
}

// TestRevoked: a key that stops working while the page is open.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy)
	b := open(t, s)
	b.click("#keep")
	b.signIn(key.Key)
	s.run(t, "keys", "revoke", key.ID)
	b.expects(401)
	b.click("#refresh")
	b.notice("revoked")
	b.wait("signed out", isSignedOut)
	if kept := js[string](b, `JSON.stringify(sessionStorage)`); kept != "{}" {
		t.Error("a revoked key is kept")
	}
	b.look(t, "revoked")
}
