package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sekisho/tests/e2e/suite"
)

// binary is the program under test, built once.
var binary string

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
	binary = filepath.Join(dir, "sekisho")
	build := exec.Command("go", "build", "-o", binary, "sekisho/functions/cmd/sekisho")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// ready is what `sekisho up --json` prints.
type ready struct {
	MCPURL string            `json:"mcp_url"`
	APIURL string            `json:"api_url"`
	Keys   map[string]string `json:"keys"`
}

// up starts the service and stops it, as Ctrl-C does, when the test ends.
func up(t *testing.T, environment []string, args ...string) ready {
	t.Helper()
	command := exec.Command(binary, append([]string{"up", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	command.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadBytes('\n')
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGINT)
		more, _ := lines.ReadBytes(0)
		if err := command.Wait(); err != nil {
			t.Errorf("stopped with %v: %s", err, stderr.Bytes())
		}
		if len(more) > 0 {
			t.Errorf("more than one line on standard output: %s", more)
		}
	})
	if err != nil {
		t.Fatalf("no line: %v: %s", err, stderr.Bytes())
	}
	var r ready
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return r
}

// sekisho runs the command line with flags that name the store.
func sekisho(environment []string, store ...string) func(testing.TB, ...string) string {
	return func(t testing.TB, args ...string) string {
		t.Helper()
		out, code := execute(t, environment, append(args, store...)...)
		if code != 0 {
			t.Fatalf("sekisho %v: exit code %d", args, code)
		}
		return out
	}
}

func execute(t testing.TB, environment []string, args ...string) (stdout string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = append(os.Environ(), environment...)
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code = command.ProcessState.ExitCode(); code != 0 {
		t.Logf("sekisho %v: %s", args, stderr.Bytes())
	}
	return out.String(), code
}

// TestLaptop runs the suite against `sekisho up` over its own database.
func TestLaptop(t *testing.T) {
	dir := t.TempDir()
	r := up(t, nil, "--data", dir, "--plan", fmt.Sprintf("%s=%d", suite.Plan, suite.Limit),
		"--publish-per-day", "1000", "--upstream-burst", "1000")
	if r.Keys[suite.Plan] == "" || len(r.Keys) != 1 {
		t.Errorf("keys %v; want one of plan %s", r.Keys, suite.Plan)
	}
	suite.Run(t, suite.Target{
		MCPURL: r.MCPURL, APIURL: r.APIURL, Local: true, Upstream: true, Repeats: 10, Settled: 10 * time.Second,
		Sekisho: sekisho(nil, "--data", dir),
	})
}
