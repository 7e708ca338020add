//go:build interop

package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/tests/interop/chromium"
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

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "sekisho-page")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if *pictures != "" {
		if err := os.MkdirAll(*pictures, 0o755); err != nil {
			return 1, err
		}
	}
	if shared.binary, err = program.Build(dir); err != nil {
		return 1, err
	}
	installed, err := script("npm-install", "page")
	if err != nil {
		return 1, err
	}
	axe, err := os.ReadFile(filepath.Join(installed, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return 1, err
	}
	shared.axe = string(axe)
	browser, stop, err := chromium.Start(dir)
	if err != nil {
		return 1, err
	}
	shared.browser = browser
	defer stop()
	code = m.Run()
	fmt.Print(shared.seen.table())
	return code, nil
}

// script runs one of the project's and returns what it prints.
func script(name string, args ...string) (string, error) {
	command := exec.Command(filepath.Join("..", "..", "..", "scripts", name), args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
