//go:build interop

package hosts

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sekisho/tests/program"
)

var (
	update = flag.Bool("update", false, "write what came out to testdata")
	keep   = flag.String("keep", "", "a directory to leave requests to the models and the hosts' output in")
)

// shared is what all tests share; it is set once, before them.
var shared struct {
	binary program.Program
	npm    npm
	dir    string
}

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
	dir, err := os.MkdirTemp("", "sekisho-hosts")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	shared.dir = dir
	root, err := filepath.Abs("../../..")
	if err != nil {
		return 1, err
	}
	if shared.binary, err = program.Build(dir); err != nil {
		return 1, err
	}
	if shared.npm, err = newNPM(root); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
