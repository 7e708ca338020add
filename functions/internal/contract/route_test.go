package contract

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzMatch checks that what matches is put together to what was asked.
func FuzzMatch(f *testing.F) {
	for _, path := range []string{"/", "/a", "/a/b", "/a/b/c", "//a//", "/a/%2F", "/x/y/z/", "/a/{b}", ""} {
		f.Add(path)
	}
	r := &Routes[string]{}
	patterns := []string{"/a", "/a/b", "/a/{one}", "/a/{one}/c", "/{top}", "/x/{rest+}", "/x/{mid}/z"}
	for _, pattern := range patterns {
		if err := r.Add("GET", pattern, pattern); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, path string) {
		built, params, found := r.Match("GET", path)
		if !found {
			return
		}
		resource := built
		for name, value := range params {
			if value == "" {
				t.Fatalf("%q: parameter %s is empty", path, name)
			}
			built = strings.Replace(built, "{"+name+"+}", value, 1)
			if !strings.Contains(value, "{") {
				built = strings.Replace(built, "{"+name+"}", value, 1)
			}
		}
		if !strings.Contains(path, "{") && built != "/"+strings.Trim(path, "/") {
			t.Fatalf("%q matched %s with %v", path, resource, params)
		}
	})
}

// TestMatch: exact segments go first, then those with text around a parameter, {param}, {greedy+}.
func TestMatch(t *testing.T) {
	r := &Routes[string]{}
	for _, route := range []string{
		"GET /", "GET /a", "GET /a/{id}", "PUT /a/{key}", "GET /a/new", "GET /a/{id}.json", "GET /a/{id}:cancel", "GET /a/{id}.tar.json",
		"GET /a/{id}/b", "GET /a/{other}/c", "GET /compare/{base}...{head}", "ANY /any/{rest+}", "GET /a b/#x", "GET /pre{a}-{b}post",
	} {
		method, path, _ := strings.Cut(route, " ")
		if err := r.Add(method, path, route); err != nil {
			t.Fatal(err)
		}
	}
	for asked, want := range map[string]string{
		"GET /": "GET /", "GET /a": "GET /a", "GET /a/": "GET /a", "GET /a/1": "GET /a/{id} id=1", "PUT /a/1": "PUT /a/{key} key=1",
		"GET /a/new": "GET /a/new", "PUT /a/new": "", "GET /a/1.json": "GET /a/{id}.json id=1", "GET /a/1.tar.json": "GET /a/{id}.tar.json id=1",
		"GET /a/1:cancel": "GET /a/{id}:cancel id=1", "GET /a/1%3Acancel": "GET /a/{id}:cancel id=1", "GET /a/:cancel": "GET /a/{id} id=:cancel",
		"GET /a/%20%2F.json": "GET /a/{id}.json id=%20%2F", "GET /a/1/b": "GET /a/{id}/b id=1", "GET /a/1/c": "GET /a/{other}/c other=1", "GET /a/1.json/b": "GET /a/{id}/b id=1.json",
		"GET /compare/v1...v2": "GET /compare/{base}...{head} base=v1 head=v2", "GET /compare/...v2": "", "GET /compare/v1...": "",
		"PATCH /any/x//y": "ANY /any/{rest+} rest=x//y", "TRACE /any/x": "", "GET /any": "", "GET /a%20b/%23x": "GET /a b/#x",
		"GET /pre1-2-3post": "GET /pre{a}-{b}post a=1 b=2-3", "GET /pre-post": "", "GET /a/%zz.json": "GET /a/{id} id=%zz.json", "POST /a": "", "GET /b": "",
	} {
		method, path, _ := strings.Cut(asked, " ")
		got, params, _ := r.Match(method, path)
		for _, name := range slices.Sorted(maps.Keys(params)) {
			got += " " + name + "=" + params[name]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
}

// TestRequestComesBack: what Request makes of an operation's path, Match takes apart again.
func TestRequestComesBack(t *testing.T) {
	paths := []string{"/a/{id}", "/b/{id}.json", "/c/{id}:cancel", "/d/{x}...{y}", "/e/#f", "/g h/{id}/", "/i?j=k"}
	api := merged(t, tools(pathOperations(paths...)))
	for i, path := range paths {
		op := api.Operation(fmt.Sprintf("orders.n%d", i))
		args := map[string]any{}
		for _, m := range placeholder().FindAllStringSubmatch(path, -1) {
			args[m[1]] = "v/1 %" + m[1]
		}
		r, err := op.Request("http://127.0.0.1/live", args)
		if err != nil {
			t.Fatal(err)
		}
		found, params := api.Match("GET", strings.TrimPrefix(r.URL.EscapedPath(), "/live"))
		if found != op || r.URL.RawQuery != "" || r.URL.Fragment != "" {
			t.Errorf("%s: %s leads to %+v", path, r.URL, found)
			continue
		}
		for name, value := range params {
			if text, err := url.PathUnescape(value); err != nil || text != args[name] {
				t.Errorf("%s: %s = %q, %v; want %q", path, name, text, err, args[name])
			}
		}
	}
}
