// Package npm installs the packages that tests run, as a package-lock.json pins them.
package npm

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sekisho/tests/repository"
)

// Packages are those of one lock, and the pinned Node that runs them.
type Packages struct {
	// Bin is the directory of Node's programs, Modules that of the packages.
	Bin, Modules string
}

// Install installs what tests/interop/NAME/package-lock.json pins, or PATH/package-lock.json, unless it
// is there already.
func Install(name string) (Packages, error) {
	bin, err := repository.Script("node")
	if err != nil {
		return Packages{}, err
	}
	installed, err := repository.Script("npm-install", name)
	return Packages{bin, filepath.Join(installed, "node_modules")}, err
}

// Node is the program.
func (p Packages) Node() string { return filepath.Join(p.Bin, "node") }

// Version of an installed package.
func (p Packages) Version(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(p.Modules, name, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct{ Version string }
	if err = json.Unmarshal(text, &manifest); err == nil && manifest.Version == "" {
		err = fmt.Errorf("no version in %s", text)
	}
	return manifest.Version, err
}
