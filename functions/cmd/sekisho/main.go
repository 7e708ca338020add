// Command sekisho runs the service on a laptop, and looks after keys, plans and usage
// wherever it runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"sekisho/functions/internal/boot"
)

// cli is the command line.
type cli struct {
	Up      upCmd            `cmd:"" help:"Run the whole service on this machine."`
	Keys    keysCmd          `cmd:"" help:"Create, list, revoke and rotate API keys."`
	Plan    planCmd          `cmd:"" help:"Give a user another plan."`
	Usage   usageCmd         `cmd:"" help:"Show who used how much in a month."`
	Brake   brakeCmd         `cmd:"" help:"Stop spending, release it, or see how it stands."`
	Probe   probeCmd         `cmd:"" help:"Show one outbound call's life: attempts, waits, and what an agent would see."`
	Tools   toolsCmd         `cmd:"" help:"Show what the list of tools costs an agent, in bytes and tokens."`
	Cost    costCmd          `cmd:"" help:"Price a month of calls, admitted, failed and denied."`
	Sizing  sizingCmd        `cmd:"" help:"Suggest a reserved concurrency from expected traffic."`
	Version kong.VersionFlag `help:"Print the version."`
}

// Exit codes: what a script may rely on.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and did not work
	exitUsage  = 2 // bad arguments or surroundings; nothing was changed
)

// usageError is an error of the caller's: exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// badUsage marks an error as the caller's.
func badUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// streams are the program's surroundings.
type streams struct {
	out, err io.Writer
	getenv   func(string) string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr, os.Getenv})
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, s streams) (code int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("sekisho"),
		kong.Description("A metered MCP server: every call is counted against its key's plan before any code runs."),
		kong.UsageOnError(), kong.Writers(s.out, s.err),
		kong.Vars{"version": boot.Version(), "data": defaultData},
		kong.Exit(func(code int) { exited = code; panic(exiting{}) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s),
	)
	if err != nil {
		fmt.Fprintln(s.err, "sekisho:", err)
		return exitUsage
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exiting); !ok {
				panic(r)
			}
			code = exited
		}
	}()
	command, err := parser.Parse(joinPercent(args))
	if err != nil {
		fmt.Fprintln(s.err, "sekisho:", err)
		return exitUsage
	}
	return report(command.Run(), s.err)
}

// exiting unwinds when kong has answered by itself, with a help text or the version.
type exiting struct{}

// exitCode is an outcome that has been reported already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func report(err error, w io.Writer) int {
	var code exitCode
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintln(w, "sekisho:", err)
		return exitUsage
	default:
		fmt.Fprintln(w, "sekisho:", err)
		return exitFailed
	}
}
