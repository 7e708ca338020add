package e2e_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"sekisho/tests/e2e/suite"
	"sekisho/tests/program"
)

// binary is the program under test, built once.
var binary program.Program

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sekisho-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = program.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestLaptop runs the suite against `sekisho up` over its own database.
func TestLaptop(t *testing.T) {
	dir := t.TempDir()
	r := binary.Up(t, nil, "--data", dir, "--plan", fmt.Sprintf("%s=%d", suite.Plan, suite.Limit),
		"--publish-per-day", "1000", "--upstream-burst", "1000")
	if r.Keys[suite.Plan] == "" || len(r.Keys) != 1 {
		t.Errorf("keys %v; want one of plan %s", r.Keys, suite.Plan)
	}
	suite.Run(t, suite.Target{
		MCPURL: r.MCPURL, APIURL: r.APIURL, Local: true, Upstream: true, Repeats: 10, Settled: 10 * time.Second,
		Sekisho: binary.On(nil, "--data", dir),
	})
}
