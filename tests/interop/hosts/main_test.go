//go:build interop

package hosts

import (
	"flag"
	"testing"

	"sekisho/tests/npm"
	"sekisho/tests/program"
)

var (
	update = flag.Bool("update", false, "write what came out to testdata")
	keep   = flag.String("keep", "", "a directory to leave requests to the models and the hosts' output in")
)

// shared is what all tests share; it is set once, before them.
var shared struct {
	binary   program.Program
	packages packages
	dir      string
}

func TestMain(m *testing.M) {
	program.Main(m, &shared.binary, func(dir string) (end func(), err error) {
		shared.dir = dir
		shared.packages.Packages, err = npm.Install("hosts")
		return func() {}, err
	})
}
