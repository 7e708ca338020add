package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// resources of the operations with a backend, by their path.
func resources(api *API) map[string]string {
	found := map[string]string{}
	for _, op := range api.Operations {
		if op.Backend != "" {
			found[op.Path] = op.Resource
		}
	}
	return found
}

// pathOperations makes one operation of orders for each path; their parameters are described.
func pathOperations(paths ...string) string {
	var all strings.Builder
	for i, path := range paths {
		var params []string
		for _, m := range placeholder().FindAllStringSubmatch(path, -1) {
			params = append(params, fmt.Sprintf("{ name: %s, in: path, required: true, schema: { type: string } }", strings.TrimSuffix(m[1], "+")))
		}
		all.WriteString(get(path, fmt.Sprintf("orders.n%d", i), "parameters: ["+strings.Join(params, ", ")+"]"))
	}
	return all.String()
}

// TestResources: what API Gateway can't hold goes under a greedy path with its neighbours, and
// everything else keeps its own.
func TestResources(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"plain":           {"/a": "/a", "/a/{id}": "/a/{id}", "/a/{id}/b-c_d.e:f": "/a/{id}/b-c_d.e:f"},
		"a slash":         {"/a/": "/a", "/a/{id}/": "/a/{id}"},
		"two names":       {"/a/{id}": "/a/{id}", "/a/{key}/b": "/a/{id}/b", "/a/{key}/c/{id}": "/a/{id}/c/{id_}"},
		"a suffix":        {"/a": "/a", "/a/{id}": "/a/{proxy+}", "/a/{id}.json": "/a/{proxy+}", "/a/{id}/b": "/a/{proxy+}", "/c/{id}": "/c/{id}"},
		"a verb":          {"/v1/a/{id}:cancel": "/v1/a/{proxy+}", "/v1/b": "/v1/b"},
		"below a name":    {"/a/{id}/b/{c}.{d}": "/a/{id}/b/{proxy+}", "/a/{key}": "/a/{id}"},
		"at the top":      {"/{id}.json": "/{proxy+}", "/b": "/{proxy+}"},
		"a character":     {"/a b/c": "/{proxy+}"},
		"a fragment":      {"/x/#a": "/x/{proxy+}", "/x/?a=b": "/x/{proxy+}", "/x": "/x"},
		"nested":          {"/a/{id}.json": "/a/{proxy+}", "/a/b/{id}.json": "/a/{proxy+}"},
		"beside a greedy": {"/a/{rest+}": "/a/{rest+}", "/b": "/b"},
	} {
		api := merged(t, tools(pathOperations(slices.Sorted(maps.Keys(want))...)))
		if got := resources(api); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for _, op := range api.Operations {
			if op.Backend == "" && op.Resource != op.Path {
				t.Errorf("%s: the service's own %s is at %s", name, op.Path, op.Resource)
			}
		}
	}
}

// TestResolve: whatever resource API Gateway names, the operation is found by the path that was
// called, with its own parameters.
func TestResolve(t *testing.T) {
	api := merged(t, tools(pathOperations("/a/{id}", "/a/{key}/b", "/c/{id}", "/c/{id}.json", "/c/{id}/d/")+
		operation("delete", "/c/{id}.txt", "orders.delete", path1)))
	for _, c := range []struct {
		method, resource string
		params           map[string]string
		want             string
	}{
		{"GET", "/a/{id}", map[string]string{"id": "1"}, "orders.n0 map[id:1]"},
		{"GET", "/a/{id}/b", map[string]string{"id": "1%2F2"}, "orders.n1 map[key:1%2F2]"},
		{"GET", "/c/{proxy+}", map[string]string{"proxy": "1"}, "orders.n2 map[id:1]"},
		{"GET", "/c/{proxy+}", map[string]string{"proxy": "1.json"}, "orders.n3 map[id:1]"},
		{"DELETE", "/c/{proxy+}", map[string]string{"proxy": "1.txt"}, "orders.delete map[id:1]"},
		{"GET", "/c/{proxy+}", map[string]string{"proxy": "1/d"}, "orders.n4 map[id:1]"},
		{"POST", "/c/{proxy+}", map[string]string{"proxy": "1.json"}, ""},
		{"GET", "/c/{proxy+}", map[string]string{"proxy": "1/e"}, ""},
		{"GET", "/c/{proxy+}", nil, ""},
		{"PUT", "/a/{id}", map[string]string{"id": "1"}, ""},
		{"PUT", "/mcp", nil, "system.mcp map[]"},
		{"GET", "/nowhere", nil, ""},
	} {
		op, params := api.Resolve(c.method, c.resource, c.params)
		got := ""
		if op != nil {
			got = fmt.Sprintf("%s %v", op.ID, params)
		}
		if got != c.want {
			t.Errorf("%s %s %v: %q, want %q", c.method, c.resource, c.params, got, c.want)
		}
	}
}

// wide makes paths of several branches, each with so many leaves.
func wide(branches map[string]int) (paths []string) {
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		for i := range branches[branch] {
			paths = append(paths, fmt.Sprintf("/%s/{id}/n%d", branch, i))
		}
	}
	return paths
}

// countResources of API Gateway that the operations need.
func countResources(api *API) int {
	seen := map[string]bool{"": true}
	for _, op := range api.Operations {
		steps := segments(op.Resource)
		for i := range steps {
			seen[strings.Join(steps[:i+1], "/")] = true
		}
	}
	return len(seen)
}

// TestQuota: of what is too much, the largest branches share a greedy path, and no more of them
// than needed.
func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name          string
		paths, shared []string
	}{
		{"fits", wide(map[string]int{"a": 100, "b": 100}), nil},
		{"one branch", wide(map[string]int{"a": 200, "b": 100, "c": 20}), []string{"/a/{id}/{proxy+}"}},
		{"two branches", wide(map[string]int{"a": 200, "b": 200, "c": 200, "d": 20}), []string{"/a/{proxy+}", "/b/{id}/{proxy+}"}},
		{"one stem", wide(map[string]int{"api/v1/a": 290, "api/v1/b": 20}), []string{"/api/v1/a/{id}/{proxy+}"}},
		{"flat", wide(map[string]int{"x": 900}), []string{"/x/{id}/{proxy+}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := merged(t, tools(pathOperations(c.paths...)))
			found := map[string]bool{}
			for _, op := range api.Operations {
				if op.Shared() {
					found[op.Resource] = true
				}
			}
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, c.shared) {
				t.Errorf("shared are %v, want %v", got, c.shared)
			}
			if n := countResources(api); n > api.Limits.Resources {
				t.Errorf("%d resources, and %d are taken", n, api.Limits.Resources)
			}
		})
	}
	_, err := merge(t, tools(pathOperations(wide(map[string]int{"a": 20})...))+"x-sekisho-limits: { resources: 9 }\n")
	if err == nil || !strings.Contains(err.Error(), "with greedy paths, and it takes 9: leave operations out") {
		t.Errorf("too many for any greedy path: %v", err)
	}
}

// TestTwoBackends: each shares its own paths only.
func TestTwoBackends(t *testing.T) {
	two := func(a, b string) string {
		return strings.Replace(tools(pathOperations(a)+get(b, "orders.b", "x-sekisho: { backend: stock, units: 1 }", path1)), "x-sekisho-backends: {", "x-sekisho-backends: { stock: { type: lambda },", 1)
	}
	api := merged(t, two("/a/{id}.json", "/a/x/{id}"))
	if got, want := resources(api), map[string]string{"/a/{id}.json": "/a/{proxy+}", "/a/x/{id}": "/a/x/{id}"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := merge(t, two("/a/{id}.json", "/a/{id}.xml")); err == nil || !strings.Contains(err.Error(), "give the operations of stock a prefix of their own") {
		t.Errorf("two backends under one greedy path: %v", err)
	}
	greedy := pathOperations("/a/{id}.json") + get("/a/{rest+}", "orders.rest", "parameters: [{ name: rest, in: path, required: true, schema: { type: string } }]", "x-sekisho: { function: files, units: 1 }")
	if _, err := merge(t, tools(greedy)); err == nil || !strings.Contains(err.Error(), "two greedy parameters below /a") {
		t.Errorf("two greedy parameters: %v", err)
	}
}
