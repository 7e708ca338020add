//go:build interop

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a condition may take to come true.
const patience = 20 * time.Second

// tab is one page in the browser, and all that it did.
type tab struct {
	t    *testing.T
	ctx  context.Context
	host string

	mu       sync.Mutex
	requests []string
	// wire is the bytes that came, with their headers, and decoded what they were without compression.
	wire, decoded float64
	troubles      []string
	// expected are the statuses of answers that the test brings about, which a browser writes to
	// the console as errors; 0 for no answer at all.
	expected []int64
	secrets  []string
}

// watch notes what a page may not do. It runs before the page's own scripts.
const watch = `
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) => window.violations.push(e.violatedDirective + " " + e.blockedURI));
`

// profile is a browser of its own: storage, cookies and language are nobody else's.
type profile struct{ ctx context.Context }

func newProfile(t *testing.T) profile {
	t.Helper()
	ctx, cancel := chromedp.NewContext(shared.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	return profile{ctx}
}

// open opens a page in a new profile. before are scripts that run ahead of the page's.
func open(t *testing.T, s *site, before ...string) *tab {
	t.Helper()
	return newProfile(t).open(t, s, before...)
}

// open opens a page in this profile.
func (p profile) open(t *testing.T, s *site, before ...string) *tab {
	t.Helper()
	b := p.blank(t, s.host(), before...)
	b.secrets = s.secrets
	b.visit(s.url + "/")
	b.wait("the page is there", `document.querySelector("#content").childElementCount > 0`)
	return b
}

// blank opens an empty tab that is watched.
func (p profile) blank(t *testing.T, host string, before ...string) *tab {
	t.Helper()
	b := &tab{t: t, host: host}
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithListener(b.event))
	b.ctx = ctx
	t.Cleanup(func() { b.close(); cancel() })
	do(b, network.Enable, network.EnableParams{})
	do(b, log.Enable, cdp.Empty{})
	do(b, page.Enable, page.EnableParams{})
	// Of tabs that are open side by side each one believes that it has the focus.
	on := true
	do(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: on})
	for _, source := range append([]string{watch}, before...) {
		do(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	}
	b.size(1200, 900)
	return b
}

// do runs a command of the DevTools protocol.
func do[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

func (b *tab) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.request(ev)
	case *network.EventLoadingFinished:
		b.wire += ev.EncodedDataLength
	case *network.EventDataReceived:
		b.decoded += float64(ev.DataLength)
	case *runtime.EventConsoleAPICalled: // of any kind: a page has nothing to say there, least of all a key
		text := string(ev.Type)
		for _, argument := range ev.Args {
			text += " " + string(argument.Value) + argument.Description
		}
		b.trouble("console: " + text)
	case *runtime.EventExceptionThrown:
		text, _ := json.Marshal(ev.ExceptionDetails)
		b.trouble("exception: " + string(text))
	case *log.EventEntryAdded:
		if !b.isExpected(ev.Entry) {
			b.trouble(fmt.Sprintf("log: %s %s %s %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text, ev.Entry.URL))
		}
	}
}

func (b *tab) request(ev *network.EventRequestWillBeSent) {
	address, err := url.Parse(ev.Request.URL)
	if err != nil || address.Scheme == "data" || address.Scheme == "about" {
		return
	}
	b.requests = append(b.requests, ev.Request.Method+" "+address.RequestURI())
	if address.Host != b.host {
		b.trouble("a request to elsewhere: " + ev.Request.URL)
	}
	for _, secret := range b.secrets {
		if strings.Contains(ev.Request.URL, secret) {
			b.trouble("a key in an address: " + ev.Request.URL)
		}
	}
}

func (b *tab) trouble(text string) { b.troubles = append(b.troubles, text) }

// isExpected says whether a line of the browser's log is an answer that the test brought about.
func (b *tab) isExpected(e *log.Entry) bool {
	if e.Source != log.EntrySourceNetwork {
		return false
	}
	for _, status := range b.expected {
		if status == 0 && strings.Contains(e.Text, "net::ERR_") || strings.Contains(e.Text, fmt.Sprintf("status of %d", status)) {
			return true
		}
	}
	return false
}

// expects names the statuses of answers that the test brings about.
func (b *tab) expects(statuses ...int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, statuses...)
}

// close holds a page to what no page may do.
func (b *tab) close() {
	b.t.Helper()
	for _, fault := range b.faults() {
		b.t.Error(fault)
	}
}

// faults are what the page did that no page may.
func (b *tab) faults() (faults []string) {
	b.t.Helper()
	for _, violation := range js[[]string](b, `window.violations ?? []`) {
		faults = append(faults, "the policy was violated: "+violation)
	}
	kept := js[string](b, `JSON.stringify([document.cookie, {...localStorage}, location.href, history.state])`)
	for _, secret := range b.secrets {
		if strings.Contains(kept, secret) {
			faults = append(faults, "a key is kept: "+kept)
		}
	}
	for _, cookie := range do(b, network.GetCookies, network.GetCookiesParams{}).Cookies {
		faults = append(faults, "a cookie: "+cookie.Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	faults = append(faults, b.troubles...)
	b.troubles = nil
	return faults
}

// asked are the requests since the last time it was called.
func (b *tab) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests := b.requests
	b.requests = nil
	return requests
}

// received is how many bytes came over the wire, and what they were without compression.
func (b *tab) received() (wire, decoded float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wire, b.decoded
}

// js evaluates an expression; a promise is waited for.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	result, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return result
}

// quoted is text as a string of JavaScript.
func quoted(text string) string {
	encoded, _ := json.Marshal(text) // texts always encode
	return string(encoded)
}

// wait waits until a condition is true.
func (b *tab) wait(what, condition string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+condition+")"))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not so: %s (%s): %v; the page says: %s", what, condition, err, js[string](b, `document.body.innerText.slice(0, 2000)`))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// says waits for a text on the page.
func (b *tab) says(text string) {
	b.t.Helper()
	b.wait("the page says "+text, `document.body.innerText.includes(`+quoted(text)+`)`)
}

func (b *tab) visit(address string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(address)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) reload() {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Reload()); err != nil {
		b.t.Fatal(err)
	}
}

// click clicks on what is visible, as a mouse does.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.wait(selector+" can be clicked", `(() => { const e = document.querySelector(`+quoted(selector)+`); return e && e.checkVisibility() && !e.disabled; })()`)
	at := js[struct{ X, Y float64 }](b, `(() => {
		const e = document.querySelector(`+quoted(selector)+`);
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const box = e.getBoundingClientRect();
		return { X: box.x + box.width / 2, Y: box.y + box.height / 2 };
	})()`)
	if err := chromedp.Do(b.ctx, chromedp.MouseClickXY(at.X, at.Y)); err != nil {
		b.t.Fatal(err)
	}
}

// typed writes into what has the focus.
func (b *tab) typed(text string) {
	b.t.Helper()
	do(b, input.InsertText, input.InsertTextParams{Text: text})
}

// press presses a key as a keyboard does.
func (b *tab) press(keys string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	do(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
}

func (b *tab) scheme(name string) {
	b.t.Helper()
	do(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// focused is the ID of what has the focus, or its text.
func (b *tab) focused() string {
	b.t.Helper()
	return js[string](b, `document.activeElement.id || document.activeElement.textContent.trim() || document.activeElement.tagName`)
}

// tabTo presses Tab until something has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	var passed []string
	for range 200 {
		if js[bool](b, `document.activeElement.matches(`+quoted(selector)+`)`) {
			return
		}
		b.press("\t")
		passed = append(passed, b.focused())
	}
	b.t.Fatalf("Tab never comes to %s: %v", selector, slices.Compact(passed))
}
