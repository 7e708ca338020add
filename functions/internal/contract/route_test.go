package contract

import (
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
