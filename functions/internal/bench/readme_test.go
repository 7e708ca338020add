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
	testsNamed = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
)

// TestThreats: each threat is met by tests that are there.
func TestThreats(t *testing.T) {
	sources := testSources(t)
	for _, name := range []string{"functions/THREATS.md", "functions/internal/oauth/THREATS.md"} {
		raw, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, line := range strings.Split(string(raw), "\n") {
			if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| Test |") {
				continue
			}
			rows++
			tests := testsNamed.FindAllStringSubmatch(line, -1)
			if len(tests) == 0 {
				t.Errorf("%s: no test in %s", name, line)
			}
			for _, m := range tests {
				if !strings.Contains(sources, "\nfunc "+m[1]+"(") {
					t.Errorf("%s names %s, which is no test", name, m[1])
				}
			}
		}
		if rows < 10 {
			t.Errorf("%s: %d threats found", name, rows)
		}
	}
}

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
		if !strings.Contains(sources, "\nfunc "+m[1]+"(") {
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
