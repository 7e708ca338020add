//go:build interop

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
)

// TestFaultsAreSeen: a page that does what none may is found out, each fault by itself.
func TestFaultsAreSeen(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s)
	for what, c := range map[string]struct{ does, says string }{
		"a script in the page":  {`document.body.append(Object.assign(document.createElement("script"), { textContent: "1" })); null`, "the policy was violated: "},
		"a style in the page":   {`document.body.setAttribute("style", "color: red"); null`, "the policy was violated: style-src"},
		"a request to others":   {`fetch("http://127.0.0.2:9/").catch(() => null)`, "the policy was violated: connect-src"},
		"an error":              {`setTimeout(() => { throw new Error("x"); }); null`, "exception: "},
		"a word to the console": {`console.info("x"); null`, "console: info"},
		"a key that is kept":    {`localStorage.setItem("x", ` + quoted(s.secrets[0]) + `); null`, "a key is kept"},
		"a key in an address":   {`fetch("/v1/health?key=` + s.secrets[0] + `").then(() => null)`, "a key in an address"},
		"a cookie":              {`document.cookie = "a=b"; null`, "a cookie: a"},
		"an answer that fails":  {`fetch("/v1/user/usage").then(() => null)`, "log: network error"},
	} {
		js[any](b, `(async () => { try { return await (`+strings.TrimSuffix(c.does, "; null")+`); } catch { return null; } })()`)
		seen := ""
		for deadline := time.Now().Add(patience); !strings.Contains(seen, c.says) && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			seen += strings.Join(b.faults(), "\n")
		}
		if !strings.Contains(seen, c.says) {
			t.Errorf("%s isn't seen: %s", what, seen)
		}
		js[any](b, `localStorage.clear(); document.cookie = "a=; max-age=0"; window.violations.length = 0; null`)
	}
	b.faults()
}

// hostile are texts that other people choose.
var hostile = []string{
	`<img src=x onerror="window.hacked=1">`, `"><script>window.hacked=1</script>`, "\u202egnp.exe\u202c\u2066x", strings.Repeat("長い説明 long ", 1000), `javascript:window.hacked=1`,
}

// TestHostileTexts: descriptions, names and plans are text, whatever is in them.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy)
	s.seed(t, key)
	b := open(t, s)
	s.change(settingsPath, func(body string) string {
		var settings map[string]any
		if err := json.Unmarshal([]byte(body), &settings); err != nil {
			t.Error(err)
		}
		for i, tool := range settings["tools"].([]any) {
			tool.(map[string]any)["description"] = hostile[i%len(hostile)]
			if i < 3 {
				tool.(map[string]any)["category"] = hostile[i]
				tool.(map[string]any)["name"] = hostile[i]
			}
		}
		edited, _ := json.Marshal(settings) // it was JSON before
		return string(edited)
	})
	b.signIn(key.Key)
	b.view("tools")
	b.isText(t)
	b.size(390, 800)
	b.look(t, "hostile tools, phone")
	b.size(1200, 900)
	s.change(historyPath, editHistory(t, func(h map[string]any) {
		h["plan"], h["upgrade_url"] = hostile[0], hostile[4]
		for i, tool := range h["months"].([]any)[0].(map[string]any)["tools"].([]any) {
			tool.(map[string]any)["tool"] = hostile[i%len(hostile)]
		}
	}))
	b.view("usage")
	b.isText(t)
	b.look(t, "hostile usage")
}

// isText says that no text has become an element, or has run.
func (b *tab) isText(t *testing.T) {
	t.Helper()
	b.wait("the texts are there", `document.body.innerText.includes(`+quoted(hostile[0])+`)`)
	if made := js[int](b, `document.querySelectorAll("#content img, #content script, #notices img, #notices script, [onerror], a[href^='javascript']").length`); made > 0 {
		t.Errorf("%d elements came out of texts", made)
	}
	if js[bool](b, `"hacked" in window`) {
		t.Error("a text has run")
	}
	if js[bool](b, `/[\u202a-\u202e\u2066-\u2069]/.test(document.querySelector("#content").textContent)`) {
		t.Error("a mark of direction is on the page, unseen")
	}
}

// TestReport: what sekisho report writes, in the browser of whoever gets it.
func TestReport(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, key := range []made{
		s.key(t, roomy, "--name", hostile[0]), s.key(t, roomy, "--name", "production"), s.key(t, roomy, "--name", `</style><b>`), s.key(t, free, "--name", "東京支社"),
	} {
		s.seed(t, key)
	}
	for language, width := range map[string]int64{"en": 1200, "ja": 390} {
		file := filepath.Join(t.TempDir(), "report.html")
		s.run(t, "report", "--bill", "12.34", "--lang", language, "-o", file)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write(content)
		}))
		t.Cleanup(server.Close)
		b := newProfile(t).blank(t, strings.TrimPrefix(server.URL, "http://"))
		b.secrets = s.secrets
		b.size(width, 900)
		b.visit(server.URL)
		if language == "en" {
			b.wait("the name is text", `document.body.innerText.includes(`+quoted(hostile[0])+`)`)
		}
		if asked := b.asked(); len(asked) != 1 {
			t.Errorf("the report loads %v", asked)
		}
		if js[bool](b, `"hacked" in window || document.images.length + document.scripts.length > 0`) {
			t.Error("a name became more than text")
		}
		b.look(t, fmt.Sprintf("report %s, %d", language, width))
		background := true
		printed := do(b, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: &background})
		if len(printed.Data) < 10_000 {
			t.Errorf("printed: %d bytes", len(printed.Data))
		}
		if *pictures != "" {
			if err := os.WriteFile(filepath.Join(*pictures, "report "+language+".pdf"), printed.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
