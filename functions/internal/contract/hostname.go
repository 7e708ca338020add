package contract

import (
	"regexp"
	"strings"
)

// HostPrefix is the longest of what hosts were seen to put before a tool's name, for a server that is
// configured as sekisho.
const HostPrefix = "mcp__sekisho__"

// HostNames are the forms in which hosts were seen to offer a tool to their models, without the
// prefixes that are the same for all; tests/interop/hosts/hosts.md has them. No two tools may share one.
func HostNames(id string) []string {
	listed := ListedName(id)
	return []string{listed, FoldedName(listed), cut("mcp_sekisho_" + listed)}
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// FoldedName is a tool's name without what some hosts drop: case, and which characters stand between
// words.
func FoldedName(name string) string { return notWord.ReplaceAllString(strings.ToLower(name), "_") }

// cut is what Gemini CLI makes of a name that is longer than models take.
func cut(name string) string {
	if len(name) <= 63 {
		return name
	}
	return name[:30] + "..." + name[len(name)-30:]
}
