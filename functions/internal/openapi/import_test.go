package openapi

import (
	"bytes"
	"flag"
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
