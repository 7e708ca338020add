// Command sekisho runs the service on a laptop, and manages keys, plans, usage and the brake
// on a laptop or in AWS.
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

// cli is the whole command line.
type cli struct {
	Up        upCmd            `cmd:"" help:"Run the whole service on this laptop."`
	Import    importCmd        `cmd:"" help:"Make a contract of tools from an OpenAPI description, or update one."`
	Keys      keysCmd          `cmd:"" help:"Create, list, revoke and rotate API keys."`
	Plan      planCmd          `cmd:"" help:"Move a user to another plan."`
	Usage     usageCmd         `cmd:"" help:"Show a month's usage by key, or split it by tool."`
	Report    reportCmd        `cmd:"" help:"Write a month's usage and spend as one HTML file to mail, for finance."`
	Settle    settleCmd        `cmd:"" help:"Give back what failed calls took whose records a deployment's settle could not handle."`
	Brake     brakeCmd         `cmd:"" help:"Stop spending, release the brake, or show its state."`
	Probe     probeCmd         `cmd:"" help:"Make one outbound call and show its attempts, waits and what an agent would see."`
	Contract  contractCmd      `cmd:"" help:"Merge a contract of tools with the service's own, as the functions and Terraform read it."`
	Tools     toolsCmd         `cmd:"" help:"Show how many bytes and tokens the list of tools costs an agent."`
	Cost      costCmd          `cmd:"" help:"Estimate the cost of a month of calls."`
	WorstCase worstCaseCmd     `cmd:"" name:"worst-case" help:"Show the most that an hour can cost, from the ceilings of a plan or of a deployed stack."`
	Sizing    sizingCmd        `cmd:"" help:"Suggest a reserved concurrency for expected traffic."`
	Version   kong.VersionFlag `help:"Print the version."`
}

// Exit codes, which scripts may rely on.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran and failed
	exitUsage  = 2 // bad arguments or environment; nothing was changed
)

// usageError is an error that the user has to correct: exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// badUsage marks an error as one that the user has to correct.
func badUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// streams are the process's outputs and environment.
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
	s.out, s.err = &terminal{to: s.out}, &terminal{to: s.err}
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

// exiting unwinds the stack after kong has printed the help or the version.
type exiting struct{}

// exitCode is a failure that has already been reported.
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
