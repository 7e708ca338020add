//go:build interop

package hosts

import (
	"path/filepath"
	"runtime"
	"strings"

	"sekisho/tests/npm"
)

// packages bring the hosts.
type packages struct{ npm.Packages }

// javaScript is the command line that runs a file of a package.
func (p packages) javaScript(file string) []string {
	return []string{p.Node(), filepath.Join(p.Modules, file)}
}

// native is the command line of a program that a package brings for each platform. The packages'
// own scripts, which would put it in a place of one name, aren't run.
func (p packages) native(pattern string) []string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return []string{filepath.Join(p.Modules, strings.ReplaceAll(pattern, "{platform}", runtime.GOOS+"-"+arch))}
}
