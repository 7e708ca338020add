//go:build interop

package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sekisho/tests/interop/chromium"
	"sekisho/tests/npm"
	"sekisho/tests/program"
)

var (
	pictures = flag.String("pictures", "", "directory for a picture of each state")
	update   = flag.Bool("update", false, "draw the README's pictures")
)

// world is what all tests share; it is set once, before them.
type world struct {
	binary program.Program
	// browser is the context of the running browser; each tab is a child of it.
	browser context.Context
	// axe is the source of axe-core.
	axe  string
	seen findings
}

var shared world

func TestMain(m *testing.M) { program.Main(m, &shared.binary, prepare) }

func prepare(dir string) (end func(), err error) {
	if *pictures != "" {
		if err := os.MkdirAll(*pictures, 0o755); err != nil {
			return nil, err
		}
	}
	packages, err := npm.Install("page")
	if err != nil {
		return nil, err
	}
	axe, err := os.ReadFile(filepath.Join(packages.Modules, "axe-core", "axe.min.js"))
	if err != nil {
		return nil, err
	}
	shared.axe = string(axe)
	browser, stop, err := chromium.Start(dir)
	shared.browser = browser
	return func() {
		fmt.Print(shared.seen.table())
		stop()
	}, err
}
