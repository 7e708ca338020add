//go:build interop

package page

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const historyPath = "/v1/user/usage/history"

// answerWith answers a path's requests until it is put away.
func answerWith(path string, answer func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		answer(w)
		return true
	}
}

func problemOf(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// history reads and changes the history's JSON.
func editHistory(t *testing.T, edit func(h map[string]any)) func(string) string {
	return func(body string) string {
		var h map[string]any
		if err := json.Unmarshal([]byte(body), &h); err != nil {
			t.Error(err)
			return body
		}
		edit(h)
		edited, err := json.Marshal(h)
		if err != nil {
			t.Error(err)
		}
		return string(edited)
	}
}

// TestUsedUp: what is used up is said, with the way to a larger plan if that is a web address.
func TestUsedUp(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, tiny).Key
	s.call(t, key, "GET", "/v1/postal/100-0001", "", 200)
	s.call(t, key, "GET", "/v1/postal/100-0001", "", 429)
	upgrade := "https://example.com/plans?a=1&b=2"
	s.change(historyPath, editHistory(t, func(h map[string]any) { h["upgrade_url"] = upgrade }))
	b := open(t, s)
	b.signIn(key)
	b.notice("used-up")
	if href := js[string](b, `document.querySelector("#upgrade").href`); href != upgrade {
		t.Errorf("the link leads to %q", href)
	}
	b.wait("the gauge is empty", `document.querySelector('[data-limit="monthly"]').dataset.level === "empty"`)
	b.look(t, "used up")
	b.view("diagnosis")
	b.click("#run")
	b.wait("the verdict", `document.querySelector("#verdict").textContent !== ""`)
	b.wait("the usage is at fault", `document.querySelector('[data-check="usage"]').dataset.state === "bad"`)
	b.look(t, "used up, diagnosis")

	s.change(historyPath, editHistory(t, func(h map[string]any) { h["upgrade_url"] = "javascript:alert(1)" }))
	b.view("usage")
	b.wait("no link", `document.querySelector('[data-notice="used-up"]') && !document.querySelector("#upgrade")`)
}

// TestDayUsedUp: the limit of the day is told apart from that of the month.
func TestDayUsedUp(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, daily).Key
	s.call(t, key, "GET", "/v1/postal/100-0001", "", 200)
	b := open(t, s)
	b.signIn(key)
	b.notice("used-up")
	for limit, level := range map[string]string{"daily": "empty", "monthly": "fine"} {
		b.wait(limit+" is "+level, `document.querySelector('[data-limit="`+limit+`"]').dataset.level === "`+level+`"`)
	}
	b.look(t, "used up for the day")
}

// TestThrottled: the page waits as long as the API says, and tries again by itself.
func TestThrottled(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s)
	b.signIn(s.key(t, roomy).Key)
	b.asked()
	b.expects(429, 503)
	s.intercept(answerWith(historyPath, problemOf(429, `{"error":"throttled","retryable":true,"retryAfterMs":600000}`)))
	b.click("#refresh")
	b.notice("throttled")
	b.look(t, "throttled")
	if asked := b.asked(); len(asked) != 1 {
		t.Errorf("before the time has come it asks %v", asked)
	}

	var refused atomic.Int32
	s.intercept(answerWith(historyPath, func(w http.ResponseWriter) {
		refused.Add(1)
		problemOf(429, `{"error":"throttled","retryable":true,"retryAfterMs":1000}`)(w)
	}))
	b.click("#refresh")
	b.wait("it has been refused again", `performance.getEntriesByType("resource").filter((e) => e.name.includes("/history")).length >= 3`)
	s.intercept(nil)
	b.wait("tried again", ready)
	b.noNotice("throttled")
	if asked := len(b.asked()); asked != int(refused.Load())+1 {
		t.Errorf("%d requests, %d of them refused", asked, refused.Load())
	}

	s.intercept(answerWith(historyPath, problemOf(503, `{"error":"store_unavailable","retryable":true,"retryAfterMs":1000}`)))
	b.click("#refresh")
	b.notice("unavailable")
	s.intercept(nil)
	b.wait("tried again", ready)
}

// TestBraked: usage and settings go on, calls don't, and the page says why.
func TestBraked(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s)
	b.signIn(s.key(t, roomy).Key)
	s.run(t, "brake", "on", "--reason", "drill")
	b.click("#refresh")
	b.wait("the usage is shown", ready)
	b.view("diagnosis")
	b.expects(429)
	b.click("#run")
	b.notice("braked")
	b.wait("MCP is stopped, the others answer", `[...document.querySelectorAll("[data-check]")].every((e) => e.dataset.state === (e.dataset.check === "mcp" ? "bad" : "good"))`)
	b.look(t, "braked")
	s.run(t, "brake", "off")
	b.click(".retry")
	b.wait("all is well again", `[...document.querySelectorAll("[data-check]")].every((e) => e.dataset.state === "good")`)
	b.noNotice("braked")
}

// TestOffline: nothing answers, and then something does.
func TestOffline(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s)
	b.signIn(s.key(t, roomy).Key)
	b.expects(0)
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool { panic(http.ErrAbortHandler) })
	b.click("#refresh")
	b.notice("offline")
	b.wait("offline", `document.body.dataset.state === "offline"`)
	b.look(t, "offline")
	s.intercept(nil)
	b.click(".retry")
	b.wait("there again", ready)
	b.noNotice("offline")

	s.intercept(func(w http.ResponseWriter, r *http.Request) bool { panic(http.ErrAbortHandler) })
	b.click("#refresh")
	b.notice("offline")
	s.intercept(nil)
	js[any](b, `dispatchEvent(new Event("online")); null`)
	b.wait("it comes back by itself", ready)
}

// TestSlow: a slow answer is announced, and comes all the same. One that never comes is given up.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s, `const timeout = AbortSignal.timeout; AbortSignal.timeout = (ms) => timeout.call(AbortSignal, window.short ?? ms);`)
	key := s.key(t, roomy).Key
	release := make(chan struct{})
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == historyPath {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	})
	b.click("#key")
	b.typed(key)
	b.press("\r")
	b.notice("slow")
	b.wait("slow", `document.body.dataset.state === "slow"`)
	b.look(t, "slow")
	close(release)
	b.wait("the answer has come", ready)
	b.noNotice("slow")

	b.expects(0)
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	js[any](b, `window.short = 300; null`)
	b.click("#refresh")
	b.notice("timeout")
	b.look(t, "timeout")
	s.intercept(nil)
	js[any](b, `window.short = undefined; null`)
	b.click(".retry")
	b.wait("there again", ready)
}

// TestFailed: an answer that makes no sense.
func TestFailed(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s)
	b.signIn(s.key(t, roomy).Key)
	b.expects(500)
	s.intercept(answerWith(historyPath, problemOf(500, `{"error":"internal"}`)))
	b.click("#refresh")
	b.notice("failed")
	b.look(t, "failed")
	s.intercept(nil)
	b.click(".retry")
	b.wait("there again", ready)
	b.noNotice("failed")
}

// TestTurn: a new month begins while the page is open. Its clocks for hours are set off by hand.
func TestTurn(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy)
	s.seed(t, key)
	b := open(t, s, `
		window.longTimers = new Map();
		const later = setTimeout, never = clearTimeout;
		window.setTimeout = (f, ms, ...rest) => {
			const id = later(f, ms, ...rest);
			if (ms > 60000) window.longTimers.set(id, f);
			return id;
		};
		window.clearTimeout = (id) => { window.longTimers.delete(id); never(id); };`)
	b.signIn(key.Key)
	now := time.Now().UTC()
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	shown := js[string](b, `document.querySelector("#month").value`)
	s.change(historyPath, editHistory(t, func(h map[string]any) {
		name := next.Format("2006-01")
		h["now"], h["month"] = next.Format(time.RFC3339), name
		h["days"] = []any{map[string]any{"day": next.Format(time.DateOnly), "used": 0}}
		months := h["months"].([]any)
		empty := map[string]any{"month": name, "used": 0, "admitted": 0, "refunded": 0, "denied": 0, "tools": []any{}}
		h["months"] = append([]any{empty}, months[:len(months)-1]...)
		for _, limit := range h["limits"].([]any) {
			l := limit.(map[string]any)
			l["used"], l["remaining"] = 0, l["limit"]
			if l["limit_period"] == "monthly" {
				l["reset_at"] = next.AddDate(0, 1, 0).Format(time.RFC3339)
			} else {
				l["reset_at"] = next.AddDate(0, 0, 1).Format(time.RFC3339)
			}
		}
	}))
	if n := js[int](b, `longTimers.size`); n != 1 {
		t.Fatalf("%d timers for the turn", n)
	}
	js[any](b, `for (const f of longTimers.values()) f(); null`)
	b.notice("turned")
	b.wait("the new month is shown", `document.querySelector("#month").value === `+quoted(next.Format("2006-01")))
	if shown == next.Format("2006-01") {
		t.Error("it was shown before")
	}
	b.wait("nothing of it is used", `document.querySelector('[data-limit="monthly"] progress').value === 0`)
	b.look(t, "turned")
	if strings.Contains(js[string](b, `document.body.innerText`), "NaN") {
		t.Error("NaN")
	}
}
