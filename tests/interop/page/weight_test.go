//go:build interop

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// mostBytes is what the page may weigh on the wire, until somebody can sign in.
const mostBytes = 120_000

// pricedVisits are the requests of one visit of each kind, by what sekisho cost prices.
func pricedVisits(t *testing.T) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "functions", "internal", "money", "cost", "measured.json"))
	if err != nil {
		t.Fatal(err)
	}
	var measured struct {
		Visits map[string]struct {
			Calls    int64
			Requests int64 `json:"billed_requests"`
		}
	}
	if err := json.Unmarshal(text, &measured); err != nil {
		t.Fatal(err)
	}
	priced := map[string]int64{}
	for name, v := range measured.Visits {
		priced[name] = v.Requests / v.Calls
	}
	return priced
}

// TestWeight: what it takes until somebody can sign in, and what each view asks of the API. The page
// says that itself, in api.js, and what a visit is priced with is what a browser really asks.
func TestWeight(t *testing.T) {
	s := start(t)
	key := s.key(t, roomy)
	s.seed(t, key)
	var came atomic.Int64
	s.intercept(func(http.ResponseWriter, *http.Request) bool { came.Add(1); return false })
	b := open(t, s, `
		new MutationObserver((_, observer) => {
			if (document.querySelector("#key")) { window.usableAt ??= performance.now(); observer.disconnect(); }
		}).observe(document, { childList: true, subtree: true });`)
	usable, files := js[float64](b, `usableAt`), b.asked()
	wire, decoded := b.received()
	if wire > mostBytes || wire > decoded/2 {
		t.Errorf("%.0f bytes on the wire of %.0f, want at most %d, and compressed", wire, decoded, mostBytes)
	}
	b.click("#keep")
	b.signIn(key.Key)
	priced := pricedVisits(t)
	if n := came.Swap(0); n != priced["first visit"] {
		t.Errorf("a first visit makes %d requests, and is priced with %d", n, priced["first visit"])
	}
	shown := js[float64](b, `performance.getEntriesByType("resource").filter((e) => e.name.includes("/history")).at(-1).duration`)
	shared.seen.weigh(fmt.Sprintf("The page: %.0f bytes on the wire, %.0f unpacked, in %d requests; %.0f ms until somebody can sign in, then %.0f ms for the figures",
		wire, decoded, len(files), usable, shown))
	b.asked()
	b.reload()
	b.wait("shown again", ready)
	if n := came.Swap(0); n != priced["later visit"] {
		t.Errorf("a later visit makes %d requests, and is priced with %d", n, priced["later visit"])
	}
	for _, view := range []string{"usage", "tools", "connect", "diagnosis"} {
		if view != "usage" {
			b.asked()
			b.view(view)
		}
		if view == "diagnosis" {
			b.click("#run")
			b.wait("the verdict", `document.querySelector("#verdict").textContent !== ""`)
		}
		asked := slices.DeleteFunc(b.asked(), func(r string) bool { return r == "GET /" || strings.HasPrefix(r, "GET /page/") })
		want := js[[]string](b, `import(document.querySelector("script[type=module]").src.replace("main.js", "api.js")).then((api) => api.requests[`+quoted(view)+`])`)
		for i := range want {
			want[i] = strings.Replace(want[i], " ", " /", 1)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s asks %v, want %v", view, asked, want)
		}
	}
}
