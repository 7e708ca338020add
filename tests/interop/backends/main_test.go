//go:build interop

package backends

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/tests/npm"
	"sekisho/tests/program"
)

var update = flag.Bool("update", false, "write what came out to testdata")

var binary program.Program

// packages hold Prism, and descriptions for it to play.
var packages npm.Packages

func TestMain(m *testing.M) {
	program.Main(m, &binary, func(string) (end func(), err error) {
		packages, err = npm.Install("backends")
		return func() {}, err
	})
}

const recorded = "testdata/backends.md"

// TestBackends: whatever the API, its tools are listed, a call is counted, a failed one is given
// back, and the limit holds.
func TestBackends(t *testing.T) {
	t.Setenv("SOME_TOKEN", "0123456789abcdef")
	cases := all()
	rows := make([]string, len(cases))
	t.Run("backends", func(t *testing.T) {
		for i, b := range cases {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				rows[i] = b.drive(t)
			})
		}
	})
	if t.Failed() {
		return
	}
	table := "| API | Tools listed | Call | Failed calls, each given back | After the last unit |\n|---|---:|---|---|---|\n" + strings.Join(rows, "")
	if *update {
		if err := os.WriteFile(recorded, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.FromSlash(recorded))
	if err != nil || string(want) != table {
		t.Errorf("%v: what came out is\n%s\nand %s has\n%s\n-update writes it", err, table, recorded, want)
	}
}
