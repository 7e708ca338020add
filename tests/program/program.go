// Package program builds and runs the command sekisho for black-box tests.
package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/tests/repository"
)

// Program is the path of a built sekisho.
type Program string

// Version is the version that Build builds in.
const Version = "1.2.3-test"

// Main is the body of a TestMain: it builds sekisho, runs the tests and ends the process. Each prepare
// makes ready what else the tests share, in a directory that is removed afterwards, and returns what is
// to be done when they have run.
func Main(m *testing.M, built *Program, prepare ...func(dir string) (end func(), err error)) {
	flag.Parse()
	code, err := run(m, built, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, built *Program, prepare []func(string) (func(), error)) (code int, err error) {
	dir, err := os.MkdirTemp("", "sekisho-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if *built, err = Build(dir); err != nil {
		return 1, err
	}
	for _, p := range prepare {
		end, err := p(dir)
		if err != nil {
			return 1, err
		}
		defer end()
	}
	return m.Run(), nil
}

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
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	script := exec.Command(filepath.Join(root, "scripts", "version"), "--ldflags")
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
	// OAuthURL is where MCP is at the OAuth door, "" if there is none.
	OAuthURL string `json:"oauth_url"`
	// Keys that were created, by plan.
	Keys map[string]string `json:"keys"`
	// LeftOut are the applied functions that no call reaches.
	LeftOut []string `json:"left_out"`
	// LocalToken opens /_local/. It is not printed: only the data directory has it.
	LocalToken string `json:"-"`
}

// Service is a running `sekisho up`.
type Service struct {
	Ready
	t       testing.TB
	command *exec.Cmd
	out     *bufio.Reader
	stderr  bytes.Buffer
	ended   bool
}

// Up starts the service on data and stops it, as Ctrl-C does, when the test ends. environment
// is added to that of the test.
func (p Program) Up(t testing.TB, environment []string, data string, args ...string) *Service {
	t.Helper()
	s := &Service{t: t, command: exec.Command(string(p), append([]string{"up", "--json", "--listen", "127.0.0.1:0", "--data", data}, args...)...)}
	s.command.Env = append(os.Environ(), environment...)
	s.command.Stderr = &s.stderr
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.out = bufio.NewReader(out)
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("no line: %v: %s", err, s.stderr.Bytes())
	}
	if err := json.Unmarshal(line, &s.Ready); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if s.LocalToken, err = localToken(data); err != nil {
		t.Fatal(err)
	}
	return s
}

func localToken(data string) (string, error) {
	var file struct{ Token string }
	raw, err := os.ReadFile(filepath.Join(data, "service.json"))
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	return file.Token, err
}

// PID is its process.
func (s *Service) PID() int { return s.command.Process.Pid }

// Stop ends the service as Ctrl-C does, if it has not ended yet. It must end well.
func (s *Service) Stop() {
	s.t.Helper()
	if s.ended {
		return
	}
	s.ended = true
	s.command.Process.Signal(syscall.SIGINT)
	more, _ := s.out.ReadBytes(0)
	if err := s.command.Wait(); err != nil {
		s.t.Errorf("stopped with %v: %s", err, s.stderr.Bytes())
	}
	if len(more) > 0 {
		s.t.Errorf("more than one line on standard output: %s", more)
	}
}

// Kill ends the service at once, without a chance to put anything in order.
func (s *Service) Kill() {
	s.ended = true
	s.command.Process.Kill()
	_ = s.command.Wait()
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
