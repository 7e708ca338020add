//go:build interop

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sekisho/tests/npm"
)

// packages bring the clients. dir holds a link to them and driver.mjs: a module finds packages from
// where it lies itself.
type packages struct {
	npm.Packages
	dir string
}

func newPackages(dir string) (packages, error) {
	installed, err := npm.Install("clients")
	if err != nil {
		return packages{}, err
	}
	driver, err := os.ReadFile("driver.mjs")
	if err != nil {
		return packages{}, err
	}
	return packages{installed, dir}, errors.Join(
		os.Symlink(installed.Modules, filepath.Join(dir, "node_modules")),
		os.WriteFile(filepath.Join(dir, "driver.mjs"), driver, 0o600),
		os.Mkdir(filepath.Join(dir, "home"), 0o700),
	)
}

// command runs a file of the directory. What a client writes at home goes into home, and the
// environment's proxies don't stand between it and 127.0.0.1.
func (p packages) command(ctx context.Context, home, file string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, p.Node(), append([]string{filepath.Join(p.dir, file)}, args...)...)
	command.WaitDelay = 10 * time.Second
	command.Env = append(os.Environ(), "HOME="+home, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		// Most of a run is the start of Node.
		"NODE_COMPILE_CACHE="+filepath.Join(p.dir, "compiled"),
		// A person at a terminal is asked to log in; it is the refusal of that which is looked at.
		"MCP_AUTO_OPEN_ENABLED=true", "MCP_INSPECTOR_SECRET_STORE=memory")
	return command
}

// opens makes a program open addresses with the endpoint's browser: xdg-open looks for BROWSER where
// it knows no desktop.
func opens(at endpoint) []string {
	if at.browser == "" {
		return nil
	}
	return []string{"BROWSER=" + at.browser, "XDG_CURRENT_DESKTOP=X-Generic"}
}

// typeScript is a client of the TypeScript SDK, in a process of its own.
type typeScript struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *tail
}

func (p packages) newTypeScript(ctx context.Context, sdk, mode string) (client, error) {
	c := &typeScript{process: p.command(ctx, p.dir, "driver.mjs", sdk, mode), stderr: &tail{}}
	c.process.Stderr = c.stderr
	var errIn, errOut error
	var out io.Reader
	c.in, errIn = c.process.StdinPipe()
	out, errOut = c.process.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.process.Start()
}

// ask sends one operation and reads its result into out.
func (c *typeScript) ask(operation string, parameters map[string]any, out any) error {
	request := map[string]any{"op": operation}
	for name, value := range parameters {
		request[name] = value
	}
	line, err := json.Marshal(request)
	if err != nil {
		return &broken{err}
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return &broken{fmt.Errorf("%w: %s", err, c.stderr)}
	}
	if line, err = c.out.ReadBytes('\n'); err != nil {
		return &broken{fmt.Errorf("%w: %s", err, c.stderr)}
	}
	var answer struct {
		Result json.RawMessage
		Thrown *string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return &broken{fmt.Errorf("%w in %s", err, line)}
	}
	if answer.Thrown != nil {
		return errors.New(*answer.Thrown)
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return &broken{fmt.Errorf("%w in %s", err, line)}
	}
	return nil
}

func (c *typeScript) connect(_ context.Context, at endpoint) (s server, err error) {
	if err := c.ask("close", nil, new(any)); err != nil {
		return s, &broken{err}
	}
	headers := map[string]string{}
	for name := range at.header {
		headers[name] = at.header.Get(name)
	}
	err = c.ask("connect", map[string]any{"url": at.url, "headers": headers, "browser": at.browser}, &s)
	return s, err
}

func (c *typeScript) list(context.Context) (names []string, err error) {
	err = c.ask("list", nil, &names)
	return names, err
}

func (c *typeScript) others(context.Context) (n int, err error) {
	err = c.ask("others", nil, &n)
	return n, err
}

func (c *typeScript) call(_ context.Context, tool string, arguments map[string]any) (r result, err error) {
	err = c.ask("call", map[string]any{"tool": tool, "arguments": arguments}, &r)
	return r, err
}

func (c *typeScript) pass(_ context.Context, d time.Duration) bool {
	return c.ask("pass", map[string]any{"milliseconds": d.Milliseconds()}, new(any)) == nil
}

func (c *typeScript) close() {
	_ = c.in.Close()     // without input the driver ends
	_ = c.process.Wait() // its end says nothing that the answers did not
}

// tail keeps what a program writes to standard error.
type tail struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
