//go:build interop

package hosts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// npm is where the pinned packages are, and the Node that runs them.
type npm struct{ node, modules string }

// newNPM installs what package-lock.json pins, if it is not there.
func newNPM(root string) (npm, error) {
	node, err := scripts(root, "node")
	if err != nil {
		return npm{}, err
	}
	installed, err := scripts(root, "npm-install", "hosts")
	return npm{node, filepath.Join(installed, "node_modules")}, err
}

// scripts runs one of the project's scripts and returns what it prints.
func scripts(root, name string, args ...string) (string, error) {
	command := exec.Command(filepath.Join(root, "scripts", name), args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// version of an installed package.
func (n npm) version(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(n.modules, name, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct{ Version string }
	err = json.Unmarshal(text, &manifest)
	return manifest.Version, err
}

// javaScript is the command line that runs a file of a package.
func (n npm) javaScript(file string) []string {
	return []string{filepath.Join(n.node, "node"), filepath.Join(n.modules, file)}
}

// native is the command line of a program that a package brings for each platform. The packages'
// own scripts, which would put it in a place of one name, aren't run.
func (n npm) native(pattern string) []string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return []string{filepath.Join(n.modules, strings.ReplaceAll(pattern, "{platform}", runtime.GOOS+"-"+arch))}
}
