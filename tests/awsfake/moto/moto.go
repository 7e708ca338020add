// Package moto runs a moto server, an emulator of AWS, for tests.
//
// The server listens on a free port of 127.0.0.1, keeps everything in memory and ends with
// the process that started it. Tests share one per test binary and separate their data by
// fresh names, because a start takes about a second:
//
//	var emulator moto.Shared
//
//	func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }
//
//	func TestX(t *testing.T) { endpoint := emulator.Endpoint(t) … }
package moto

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"sekisho/tests/repository"
)

//go:embed sitecustomize.py
var siteCustomize []byte

// Region and AccountID are where everything lives; the account is moto's.
const (
	Region    = "us-east-1"
	AccountID = "123456789012"
)

// startTimeout is generous: a busy machine may take long to start Python.
const startTimeout = 60 * time.Second

// Shared is one server for all tests of a binary, started by the first that asks for it.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Endpoint returns the URL of the server.
func (s *Shared) Endpoint(t testing.TB) string {
	t.Helper()
	s.once.Do(func() { s.server, s.err = Start() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server.Endpoint
}

// Run runs the tests, ends the server and returns the exit code.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	if s.server != nil {
		s.server.Stop()
	}
	return code
}

// Config is the configuration of the SDK's clients for the server.
func (s *Shared) Config(t testing.TB) aws.Config {
	t.Helper()
	return Config(s.Endpoint(t))
}

// Config is the configuration of the SDK's clients for a server.
func Config(endpoint string) aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

// Server is a running server.
type Server struct {
	// Endpoint is its URL, such as http://127.0.0.1:40123.
	Endpoint string
	cmd      *exec.Cmd
	stdin    io.Closer
	dir      string
}

// Start runs a server until Stop, or until this process ends.
func Start() (*Server, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sekisho-moto-")
	if err != nil {
		return nil, fmt.Errorf("start moto: %w", err)
	}
	s, err := launchIn(dir, program)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("start moto (%s): %w", program, err)
	}
	return s, nil
}

func launchIn(dir, program string) (*Server, error) {
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), siteCustomize, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-H", "127.0.0.1", "-p", "0")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: stdin, dir: dir}
	if s.Endpoint, err = awaitAddress(stderr); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the process that Start started, and no other.
func (s *Server) Stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

var listening = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

// awaitAddress reads the log up to the line that names the address, which is written once
// the port is bound. From then on a goroutine throws the log away, until the process ends.
func awaitAddress(log io.Reader) (string, error) {
	type found struct {
		endpoint string
		err      error
	}
	answer := make(chan found, 1)
	go func() {
		var said bytes.Buffer
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if m := listening.FindSubmatch(lines.Bytes()); m != nil {
				answer <- found{endpoint: string(m[1])}
				_, _ = io.Copy(io.Discard, log)
				return
			}
			said.Write(append(lines.Bytes(), '\n'))
		}
		answer <- found{err: fmt.Errorf("it ended before it listened: %s", strings.TrimSpace(said.String()))}
	}()
	select {
	case f := <-answer:
		return f.endpoint, f.err
	case <-time.After(startTimeout):
		return "", fmt.Errorf("no answer in %s", startTimeout)
	}
}

// find names the program. scripts/moto knows where to look; it installs nothing here,
// because several test binaries run at once.
func find() (string, error) {
	program, err := repository.Script("moto", "--find")
	if err != nil {
		return "", fmt.Errorf("these tests need an emulator of AWS: %w", err)
	}
	return program, nil
}
