package suite

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// testPage: at the API's root, with a slash at its end or without, is the page, whose files are below
// that address. Its own origin may try /mcp, if that is there.
func testPage(t *testing.T, g Target) {
	link := regexp.MustCompile(`(?:href|src)="([^"#][^"]*)"`)
	for _, at := range []string{g.APIURL, g.APIURL + "/"} {
		page := send(t, http.MethodGet, at, "", "")
		if page.Status != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") || page.Header.Get("Content-Security-Policy") == "" {
			t.Fatalf("%s: %s", at, page)
		}
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		for _, m := range link.FindAllStringSubmatch(string(page.Body), -1) {
			address, err := base.Parse(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if address.Scheme == "data" {
				continue
			}
			files++
			if !strings.HasPrefix(address.String(), g.APIURL+"/page/") {
				t.Errorf("%s links to %s", at, address)
			}
			file := send(t, http.MethodGet, address.String(), "", "")
			if file.Status != http.StatusOK || len(file.Body) == 0 || !strings.Contains(file.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d", address, file.Status)
			}
		}
		if files < 5 {
			t.Errorf("%s links to %d files: %s", at, files, page.Body)
		}
	}
	if a := send(t, http.MethodGet, g.APIURL+"/page/0/nothing.js", "", ""); a.Status != http.StatusNotFound || a.problem(t).Error != "route_not_found" {
		t.Errorf("a file that is not there: %s", a)
	}
	api, err := url.Parse(g.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	k := g.newKey(t)
	own := http.StatusOK
	if g.MCPURL != g.APIURL+"/mcp" { // a door of its own, which the page names
		own = http.StatusForbidden
		if page := send(t, http.MethodGet, g.APIURL, "", ""); !strings.Contains(string(page.Body), g.MCPURL) {
			t.Errorf("the page does not say that MCP is at %s: %s", g.MCPURL, page.Body)
		}
	}
	for origin, want := range map[string]int{api.Scheme + "://" + api.Host: own, "https://evil.example": http.StatusForbidden} {
		if a := g.rpc(t, k.Secret, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header("Origin", origin)); a.Status != want {
			t.Errorf("from %s: %s", origin, a)
		}
	}
}
