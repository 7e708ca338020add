// Package program builds and runs the command sekisho for black-box tests.
package program

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
	"strings"
	"syscall"
	"testing"
	"time"
)

// Program is the path of a built sekisho.
type Program string

// Version is the version that Build builds in.
const Version = "1.2.3-test"

// Build compiles sekisho into dir, with the same linker flag as every build.
func Build(dir string) (Program, error) {
	flag, err := versionFlag()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sekisho")
	build := exec.Command("go", "build", "-ldflags", flag, "-o", path, "sekisho/functions/cmd/sekisho")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sekisho: %w: %s", err, out)
	}
	return Program(path), nil
}

// versionFlag asks the same script as make. The linker silently ignores a flag for a variable
// that doesn't exist, so a test must check the version that the program prints.
func versionFlag() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	script := exec.Command(filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "scripts", "version"), "--ldflags")
	script.Env = append(os.Environ(), "SEKISHO_VERSION="+Version)
	flag, err := script.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/version: %w", err)
	}
	return strings.TrimSpace(string(flag)), nil
}

// Ready is what `sekisho up --json` prints.
type Ready struct {
	MCPURL string `json:"mcp_url"`
	APIURL string `json:"api_url"`
	// Keys that were created, by plan.
	Keys map[string]string `json:"keys"`
	// LeftOut are the applied functions that no call reaches.
	LeftOut []string `json:"left_out"`
}

// Up starts the service, and stops it as Ctrl-C does when the test ends. environment is added
// to the test's own.
func (p Program) Up(t testing.TB, environment []string, args ...string) Ready {
	t.Helper()
	command := exec.Command(string(p), append([]string{"up", "--json", "--listen", "127.0.0.1:0"}, args...)...)
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
	var r Ready
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return r
}

// On returns the command line with flags that name a store, in the form that the suite expects.
func (p Program) On(environment []string, store ...string) func(testing.TB, ...string) string {
	return func(t testing.TB, args ...string) string {
		t.Helper()
		out, code := p.Run(t, environment, append(args, store...)...)
		if code != 0 {
			t.Fatalf("sekisho %v: exit code %d", args, code)
		}
		return out
	}
}

// Run runs one command to completion. If it fails, its standard error is logged.
func (p Program) Run(t testing.TB, environment []string, args ...string) (stdout string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, string(p), args...)
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
