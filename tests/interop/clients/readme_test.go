//go:build interop

package clients

import (
	"os"
	"strings"
	"testing"
)

// TestReadme: tests/interop/README.md names every client that is tested, with its version and protocols.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range shared.rows {
		software, version := r.name[:strings.LastIndex(r.name, " ")], r.name[strings.LastIndex(r.name, " ")+1:]
		if !named(string(text), software, version, r.protocol) {
			t.Errorf("no line of the table in tests/interop/README.md has %s, %s and %s", software, version, r.protocol)
		}
	}
}

func named(text string, words ...string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		found := strings.HasPrefix(line, "| ")
		for _, word := range words {
			found = found && strings.Contains(line, word)
		}
		if found {
			return true
		}
	}
	return false
}
