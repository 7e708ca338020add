package openapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// operationWith is a description whose only operation has a body of the schema Top.
func operationWith(schemas string) string {
	return `{"openapi":"3.0.0","info":{"title":"H","version":"1"},"servers":[{"url":"https://h.example"}],"paths":{"/a":{"post":{"operationId":"a","description":"A.",
		"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Top"}}}},
		"responses":{"200":{"description":"A.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Top"}}}}}}}},
		"components":{"schemas":{` + schemas + `}}}`
}

// doubled is a chain of schemas, each of which has the next one twice.
func doubled(member string) string {
	var b strings.Builder
	b.WriteString(`"Top":{"$ref":"#/components/schemas/S0"}`)
	for i := range 60 {
		next := fmt.Sprintf(`{"$ref":"#/components/schemas/S%d"}`, i+1)
		fmt.Fprintf(&b, `,"S%d":{%s}`, i, fmt.Sprintf(member, next, next))
	}
	return b.String() + `,"S60":{"type":"string"}`
}

// TestHostile: whatever a description holds, it ends in an error or in a contract, with bounded
// memory and within the context's time.
func TestHostile(t *testing.T) {
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	laughs := "openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, many(10, fmt.Sprintf("*a%d", i)))
	}
	for name, tt := range map[string]struct{ text, err, note string }{
		"allOf, doubled 60 times":      {text: operationWith(doubled(`"allOf":[%s,%s]`)), note: "too large to be described"},
		"oneOf, doubled 60 times":      {text: operationWith(doubled(`"oneOf":[%s,%s]`)), note: "too large to be described"},
		"properties, doubled 60 times": {text: operationWith(doubled(`"properties":{"a":%s,"b":%s}`)), note: "nested too deep"},
		"lists, doubled 60 times":      {text: operationWith(doubled(`"type":"array","items":{"properties":{"a":%s,"b":%s}}`)), note: "nested too deep"},
		"a million-fold allOf":         {text: operationWith(`"Top":{"allOf":[` + many(1_000_000, `{}`) + `]}`), note: "too large to be described"},
		"a schema of itself":           {text: operationWith(`"Top":{"$ref":"#/components/schemas/Top"}`), note: "round in a circle"},
		"all of itself":                {text: operationWith(`"Top":{"allOf":[{"$ref":"#/components/schemas/Top"}]}`), note: "too large to be described"},
		"a list of itself":             {text: operationWith(`"Top":{"type":"array","items":{"$ref":"#/components/schemas/Top"}}`), note: "recursive"},
		"100,000 properties":           {text: operationWith(`"Top":{"properties":{` + numbered(100_000, `"p%d":{"type":"string"}`) + `}}`), note: "too large to be described"},
		"100,000 choices":              {text: operationWith(`"Top":{"properties":{"a":{"type":"string","enum":[` + numbered(100_000, `"c%d"`) + `]}}}`), note: "too many choices"},
		"30 MB of description":         {text: operationWith(`"Top":{"properties":{"a":{"type":"string","description":"` + strings.Repeat("Ignore <b>", 3<<20) + `"}}}`)},
		"more than 50 MB":              {text: `{"openapi":"3.0.0","x":"` + strings.Repeat("x", MaxBytes) + `"}`, err: "larger than 50 MB"},
		"nine million lists":           {text: `{"openapi":"3.0.0","x":[` + many(9_000_000, "[]") + `]}`, err: "more than 8000000 values"},
		"lists within lists":           {text: `{"openapi":"3.0.0","x":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`, err: "not valid JSON"},
		"lists within lists, as YAML":  {text: "openapi: 3.0.0\nx: " + strings.Repeat("[", 1<<20), err: "not valid YAML"},
		"aliases of aliases":           {text: laughs, err: "not valid YAML"},
		"more than 50,000 operations":  {text: `{"openapi":"3.0.0","paths":{` + numbered(MaxOperations+1, `"/p%d":{"get":{}}`) + `}}`, err: "more than 50000 operations"},
		"YAML that is none":            {text: "openapi: 3.0.0\npaths: {\n  /a: [", err: "line 3"},
		"JSON that is none":            {text: "{\n \"openapi\": \"3.0.0\",\n \"paths\": }", err: "line 3, column"},
		"not UTF-8":                    {text: "openapi: \xff", err: "not UTF-8"},
		"a page":                       {text: "<!doctype html>", err: "HTML"},
		"nothing":                      {text: " \n", err: "empty"},
		"a list":                       {text: "- a", err: "not an object"},
		"AsyncAPI":                     {text: "asyncapi: 2.0.0", err: "AsyncAPI"},
		"no version":                   {text: "paths: {}", err: "neither openapi nor swagger"},
		"version 1":                    {text: "swagger: '1.2'\npaths: {}", err: "version 1.2 is not read"},
		"no operation":                 {text: "openapi: 3.0.0\npaths: {}", err: "no operation"},
		"paths is a list":              {text: "openapi: 3.0.0\npaths: []", err: "#/paths is not an object"},
		"members of the wrong kinds":   {text: `{"openapi":3,"info":7,"servers":{},"tags":"x","security":3,"components":[],"paths":{"/a":{"parameters":{},"get":{"operationId":[],"tags":{},"parameters":[1,{"name":3},{"name":"q","in":"query","schema":[]}],"requestBody":[],"responses":[]},"post":{"requestBody":{"content":{"application/json":{"schema":{"type":{},"properties":[],"required":{},"enum":{},"allOf":{},"items":3}}}},"responses":{"200":{"content":[]}}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "api.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			contract, report, err := Import(ctx, Options{Location: path})
			runtime.ReadMemStats(&after)
			if most := uint64(2 << 30); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("%d MB were allocated", (after.TotalAlloc-before.TotalAlloc)>>20)
			}
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) || len(err.Error()) > 500 {
					t.Errorf("error %.500v, want %q", err, tt.err)
				}
			case err != nil:
				t.Errorf("%.500v", err)
			case len(contract) > 200_000:
				t.Errorf("a contract of %d bytes", len(contract))
			case !mentions(report, tt.note):
				t.Errorf("nothing in the report about %q: %.2000v", tt.note, report.Notes)
			}
		})
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+",", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func mentions(r *Report, text string) bool {
	if text == "" {
		return true
	}
	for _, n := range r.Notes {
		if strings.Contains(n.Reason+n.Detail, text) {
			return true
		}
	}
	return false
}

// importing says what became of the only reference in a description.
func importing(t *testing.T, location string, private bool) (string, error) {
	t.Helper()
	contract, report, err := Import(t.Context(), Options{Location: location, Private: private})
	if err != nil {
		return "", err
	}
	if bytes.Contains(contract, []byte("leaked")) {
		return "followed", nil
	}
	if !mentions(report, "the reference ") {
		t.Errorf("the reference is neither followed nor reported: %v", report.Notes)
	}
	return "refused", nil
}

func referring(ref string) []byte {
	return []byte(fmt.Sprintf(`{"openapi":"3.1.0","paths":{"/a":{"post":{"requestBody":{"content":{"application/json":{"schema":{"properties":{"a":{"$ref":%q}}}}}}}}}}`, ref))
}

// TestReferencesOfFiles: only files beside the description, and below its directory, are read.
func TestReferencesOfFiles(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "api")
	leak := []byte(`{"A": {"type": "object", "properties": {"leaked": {"type": "string"}}}}`)
	for name, text := range map[string][]byte{"secret.json": leak, "api/beside.json": leak, "api/below/it.json": leak, "api/100% a.json": leak} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"beside.json#/A": "followed", "./below/it.json#/A": "followed", "below/../beside.json#/A": "followed", "100%25%20a.json#/A": "followed",
		"../secret.json#/A": "refused", "below/../../secret.json#/A": "refused", "link.json#/A": "refused", filepath.Join(root, "secret.json") + "#/A": "refused",
		"file://" + filepath.Join(root, "secret.json") + "#/A": "refused", "%2e%2e/secret.json#/A": "refused", "http://127.0.0.1:1/a#/A": "refused",
		"//127.0.0.1/a#/A": "refused", ".#/A": "refused", "gone.json#/A": "refused", `..\secret.json#/A`: "refused", "beside.json#/B": "refused", "#anchor": "refused",
	} {
		path := filepath.Join(dir, "api.json")
		if err := os.WriteFile(path, referring(ref), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := importing(t, path, false); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", ref, got, err, want)
		}
	}
}

// TestReferencesOfURLs: only the same origin, at and below the description's directory.
func TestReferencesOfURLs(t *testing.T) {
	leak := `{"A": {"type": "object", "properties": {"leaked": {"type": "string"}}}}`
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("elsewhere was asked for %s", r.URL) }))
	defer elsewhere.Close()
	var ref string
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/api.json":
			_, _ = w.Write(referring(ref))
		case "/v1/moved.json":
			http.Redirect(w, r, "/v1/beside.json", http.StatusFound)
		case "/v1/away.json", "/away/api.json":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "/v1/beside.json", "/v1/below/it.json":
			_, _ = w.Write([]byte(leak))
		default:
			t.Errorf("%s was asked for", r.URL)
		}
	}))
	defer home.Close()
	for r, want := range map[string]string{
		"beside.json#/A": "followed", "below/it.json#/A": "followed", "/v1/beside.json#/A": "refused", home.URL + "/v1/beside.json#/A": "followed", "moved.json#/A": "followed",
		"../secret.json#/A": "refused", home.URL + "/secret.json#/A": "refused", home.URL + "/v1/../secret.json#/A": "refused", elsewhere.URL + "/v1/beside.json#/A": "refused",
		"away.json#/A": "refused", "file:///etc/passwd#/A": "refused", "http://169.254.169.254/v1/beside.json#/A": "refused",
	} {
		ref = r
		if got, err := importing(t, home.URL+"/v1/api.json", true); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", r, got, err, want)
		}
	}
	for location, want := range map[string]string{home.URL + "/away/api.json": "redirected", "ftp://example.com/a": "http or https"} {
		if _, _, err := Import(t.Context(), Options{Location: location, Private: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", location, err, want)
		}
	}
	if _, _, err := Import(t.Context(), Options{Location: home.URL + "/v1/api.json"}); err == nil || !strings.Contains(err.Error(), "not a public one") {
		t.Errorf("a private address: %v", err)
	}
}

// FuzzImport: nothing that can be written makes the reader panic, and what it makes of it can be
// imported again, to the same.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"orders.yaml", "modern.json", "legacy.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "api.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		made, _, err := Import(t.Context(), Options{Location: path, Reserved: reserved})
		if err != nil {
			return
		}
		again, report, err := Import(t.Context(), Options{Location: path, Reserved: reserved, Previous: made})
		if err != nil || !bytes.Equal(made, again) {
			t.Errorf("imported again: %v, %v\n%s\n%s", err, report, made, again)
		}
	})
}
