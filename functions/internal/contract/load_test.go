package contract

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoad: a function in Lambda serves the contract in its zip or does not start.
func TestLoad(t *testing.T) {
	write := func(doc []byte) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), doc, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	own, err := merge(t, tools(get("/a", "orders.a")))
	if err != nil {
		t.Fatal(err)
	}
	stale := bytes.Replace(own, []byte(`"x-sekisho-base":"`), []byte(`"x-sekisho-base":"0`), 1)
	load := func(root, file string) (*API, error) {
		return Load(func(name string) string { return map[string]string{"LAMBDA_TASK_ROOT": root, FileVariable: file}[name] })
	}
	for name, c := range map[string]struct{ root, file, has, says string }{
		"neither":          {has: "postal.lookup"},
		"in Lambda":        {root: write(own), has: "orders.a"},
		"on a laptop":      {file: filepath.Join(write(own), File), has: "orders.a"},
		"the zip's own":    {root: write(own), file: filepath.Join(write(document), File), has: "orders.a"},
		"missing":          {root: t.TempDir(), file: filepath.Join(write(own), File), says: "run `make build`, and deploy the zips"},
		"stale":            {root: write(stale), says: "merged with another base"},
		"of an older kind": {root: write([]byte(`{"paths":{}}`)), says: "merged with another base (none)"},
		"broken":           {root: write(own[:100]), says: "not JSON"},
		"named, missing":   {file: filepath.Join(t.TempDir(), File), says: "there is no "},
	} {
		api, err := load(c.root, c.file)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", name, err, c.says)
			}
			continue
		}
		if err != nil || api.Operation(c.has) == nil {
			t.Errorf("%s: no %s, %v", name, c.has, err)
		}
		if again, _ := load(c.root, c.file); again != api {
			t.Errorf("%s: read twice", name)
		}
	}
}
