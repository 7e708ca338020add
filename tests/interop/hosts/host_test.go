//go:build interop

package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// host is a program between a model and the server.
type host struct {
	// id is the client's in the printed configuration; pkg the package that brings the program.
	id, name, pkg, program string
	argv                   func(packages) []string
	env                    func(ground) []string
	// setup are commands, and prepare changes files, after the configuration was pasted.
	setup   func(ground) [][]string
	prepare func(ground)
	// run is the command that talks to the model until the script ends.
	run func(ground) []string
}

// ground is where a run takes place.
type ground struct {
	// home is the host's own; work the directory that it works in.
	home, work string
	// model is the origin of the model's API.
	model string
	// short asks for a short waiting for calls, in seconds, where it isn't 0.
	short int
}

const task = "Look things up with the tools of sekisho."

// runTime is how long one command may take on a slow machine.
const runTime = 4 * time.Minute

func (g ground) write(name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		panic(err) // a temporary directory
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		panic(err)
	}
}

// read returns "" for a file that isn't there.
func (g ground) read(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

// change changes a file of JSON, which it makes if need be.
func (g ground) change(name string, change func(object)) {
	settings := object{}
	if text := g.read(name); text != "" {
		if err := json.Unmarshal([]byte(text), &settings); err != nil {
			panic(fmt.Errorf("%w in %s", err, text))
		}
	}
	change(settings)
	text, err := json.Marshal(settings)
	if err != nil {
		panic(err)
	}
	g.write(name, string(text))
}

// shorten sets how long calls of the server are waited for, where second is how many of the setting's units a second has.
func (g ground) shorten(settings object, servers, name string, second int) {
	if all, ok := settings[servers].(object); ok && g.short > 0 {
		all["sekisho"].(object)[name] = g.short * second
	}
}

// client is a client of the printed configuration: a command for a shell, or a text for a file.
type client struct{ ID, Name, Where, Text string }

// play pastes the configuration and runs the host.
func (h host) play(t *testing.T, g ground, printed client, out *bytes.Buffer) error {
	// A person would have the program on the PATH.
	var line strings.Builder
	for _, word := range h.argv(shared.packages) {
		fmt.Fprintf(&line, " '%s'", word)
	}
	program := filepath.Join(g.home, "bin", h.program)
	g.write(program, "#!/bin/sh\nexec"+line.String()+` "$@"`+"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		return err
	}
	if printed.Where == "" {
		if err := h.command(t, g, out, "sh", "-c", printed.Text); err != nil {
			return err
		}
	} else {
		file := filepath.Join(g.work, printed.Where)
		if name, ok := strings.CutPrefix(printed.Where, "~/"); ok {
			file = filepath.Join(g.home, name)
		}
		g.write(file, printed.Text+"\n")
	}
	if h.setup != nil {
		for _, args := range h.setup(g) {
			if err := h.command(t, g, out, append([]string{program}, args...)...); err != nil {
				return err
			}
		}
	}
	if h.prepare != nil {
		h.prepare(g)
	}
	return h.command(t, g, out, append([]string{program}, h.run(g)...)...)
}

// command runs a program with the host's environment, and with nothing of ours that could change it.
func (h host) command(t *testing.T, g ground, out *bytes.Buffer, argv ...string) error {
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	run := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// A host starts more programs; all of them end with it.
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = 10 * time.Second
	run.Dir = g.work
	run.Stdout, run.Stderr = out, out
	run.Env = append([]string{
		"HOME=" + g.home, "TMPDIR=" + filepath.Join(g.home, "tmp"), "PATH=" + filepath.Join(g.home, "bin") + ":" + shared.packages.Bin + ":" + os.Getenv("PATH"),
		"LANG=C.UTF-8", "TERM=dumb", "CI=1", "NODE_COMPILE_CACHE=" + filepath.Join(shared.dir, "compiled"),
		// Nothing but the loopback is reached: elsewhere is a proxy that nobody serves.
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9",
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}, h.env(g)...)
	fmt.Fprintf(out, "$ %q\n", argv)
	err := run.Run()
	if run.Process != nil {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
	}
	g.endRest()
	if err != nil {
		return fmt.Errorf("%q: %w", argv, err)
	}
	return nil
}

// endRest ends what a host has left running in a session of its own, such as Cline's hub: the processes
// that have the run's home in their environment. Where there is no /proc, they end by themselves.
func (g ground) endRest() {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		text, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), "HOME="+g.home) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
