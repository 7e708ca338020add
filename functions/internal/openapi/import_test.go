package openapi

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

var reserved = Reserved{
	Routes: []string{"/", "/mcp", "/v1/health", "/v1/user/"}, Categories: []string{"account"}, Functions: []string{"mcp"},
}

// TestImport compares contract and report with golden files, one pair per description.
func TestImport(t *testing.T) {
	for _, path := range []string{"orders.yaml", "modern.json", "legacy.yaml", "split/api.yaml"} {
		t.Run(path, func(t *testing.T) {
			contract, report, err := Import(t.Context(), Options{Location: filepath.Join("testdata", path), Reserved: reserved})
			if err != nil {
				t.Fatal(err)
			}
			var shown bytes.Buffer
			if err := report.Write(&shown, true); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join("testdata", "golden", strings.ReplaceAll(path[:len(path)-len(filepath.Ext(path))], "/", "-"))
			golden(t, name+".yaml", contract)
			golden(t, name+".txt", shown.Bytes())
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); look at it, then run with -update. Now:\n%s", path, err, got)
	}
}

// TestServersOfOperations: a backend is there for the operations that it serves, and for no others.
func TestServersOfOperations(t *testing.T) {
	const paths = `
  /a: { servers: [{ url: "https://one.example" }], get: { description: A., responses: {} } }
  /b: { get: { description: B., servers: [{ url: "https://one.example" }], responses: {} } }
`
	for name, c := range map[string]struct {
		top, more string
		want      map[string]string
	}{
		"only operations name one": {"", "", map[string]string{"shop": "https://one.example"}},
		"none takes the top's":     {`servers: [{ url: "https://top.example" }]`, "", map[string]string{"shop": "https://one.example"}},
		"one takes the top's": {`servers: [{ url: "https://top.example" }]`, "  /c: { get: { description: C., responses: {} } }\n",
			map[string]string{"shop": "https://top.example", "one": "https://one.example"}},
	} {
		_, report := imports(t, "openapi: 3.0.0\ninfo: { title: Shop, version: \"1\" }\n"+c.top+"\npaths:"+paths+c.more, nil, Options{Backend: "shop"})
		if !maps.Equal(report.Backends, c.want) {
			t.Errorf("%s: %v, want %v", name, report.Backends, c.want)
		}
	}
}
