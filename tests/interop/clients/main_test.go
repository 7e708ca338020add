//go:build interop

package clients

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sekisho/tests/program"
)

var update = flag.Bool("update", false, "write what came out to testdata")

// world is what all tests share; it is set once, before them.
type world struct {
	// binary is the program under test.
	binary program.Program
	npm    npm
	rows   []row
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
	dir, err := os.MkdirTemp("", "sekisho-clients")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := filepath.Abs("../../..")
	if err != nil {
		return 1, err
	}
	if shared.binary, err = program.Build(dir); err != nil {
		return 1, err
	}
	if shared.npm, err = newNPM(root, dir); err != nil {
		return 1, err
	}
	if shared.rows, err = rows(shared.npm); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
