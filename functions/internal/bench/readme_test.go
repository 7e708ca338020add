package bench

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	partsNamed = regexp.MustCompile(`BENCH=([a-z,]+)`)
	testsNamed = regexp.MustCompile("`(Test[A-Za-z]+)`")
)

// TestReadme: what the README names as the proof of a claim is there.
func TestReadme(t *testing.T) {
	raw, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(raw)
	proofs := partsNamed.FindAllStringSubmatch(readme, -1)
	for _, m := range proofs {
		for _, name := range strings.Split(m[1], ",") {
			if !slices.Contains(names(), name) {
				t.Errorf("README names the part %s, which is not measured; there are %v", name, names())
			}
		}
	}
	for _, p := range parts {
		if !strings.Contains(readme, p.name) {
			t.Errorf("README does not name the part %s", p.name)
		}
	}
	sources := testSources(t)
	tests := testsNamed.FindAllStringSubmatch(readme, -1)
	for _, m := range tests {
		if !strings.Contains(sources, "\nfunc "+m[1]+"(t *testing.T)") {
			t.Errorf("README names %s, which is no test", m[1])
		}
	}
	if len(proofs) < 5 || len(tests) < 5 {
		t.Errorf("found %d parts and %d tests in the README", len(proofs), len(tests))
	}
}

// testSources are the files of tests, one after the other.
func testSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, tree := range []string{"functions", "tests"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", tree), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			all.Write(source)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
