//go:build interop

package clients

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"sekisho/tests/interop/chromium"
	"sekisho/tests/program"
)

var (
	update = flag.Bool("update", false, "write what came out to testdata")
	served = topology{"proxy", "rest"}
	oauth  = flag.Bool("oauth", false, "open the OAuth door too, and sign in there; what is at the other doors stays as it is")
)

// topology is how /mcp is served.
type topology struct{ dispatch, door string }

func (y *topology) String() string { return y.dispatch + "/" + y.door }

// Set reads DISPATCH/DOOR; the service checks both.
func (y *topology) Set(text string) error {
	var ok bool
	if y.dispatch, y.door, ok = strings.Cut(text, "/"); !ok {
		return errors.New("write DISPATCH/DOOR, such as direct/http")
	}
	return nil
}

// isDefault: testdata has all of what clients show with it, and of another topology what differs.
func (y *topology) isDefault() bool { return *y == topology{"proxy", "rest"} }

// world is what all tests share; it is set once, before them.
type world struct {
	// binary is the program under test.
	binary   program.Program
	packages packages
	rows     []row
	// browser is the context of the running browser, if the OAuth door is open.
	browser context.Context
}

var shared world

func TestMain(m *testing.M) {
	flag.Var(&served, "topology", "how /mcp is served, as DISPATCH/DOOR, such as direct/http")
	program.Main(m, &shared.binary, prepare)
}

func prepare(dir string) (end func(), err error) {
	if shared.packages, err = newPackages(dir); err != nil {
		return nil, err
	}
	if shared.rows, err = rows(shared.packages); err != nil || !*oauth {
		return func() {}, err
	}
	shared.browser, end, err = chromium.Start(dir)
	return end, err
}
