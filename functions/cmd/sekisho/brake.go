package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sekisho/functions/internal/brake"
)

type brakeCmd struct {
	Status brakeStatusCmd `cmd:"" help:"Show whether spending is stopped, since when, why, and what is stopped."`
	On     brakeOnCmd     `cmd:"" help:"Stop spending now: the functions that spend go to reserved concurrency 0, their methods to a throttle of 0."`
	Off    brakeOffCmd    `cmd:"" help:"Release the brake: functions and methods get back what they had, and the alarms are armed again."`
}

// brakeFlags say whose brake it is: that of a laptop's directory, or of a deployment.
type brakeFlags struct {
	contractFlag
	Data     string `help:"Directory of the laptop's data." default:"${data}" placeholder:"DIR"`
	Function string `help:"Name in AWS of the deployment's function brake, instead of --data; the rest is in its environment." env:"SEKISHO_BRAKE_FUNCTION" placeholder:"NAME"`
	Region   string `help:"AWS region of --function; by default that of the AWS configuration." placeholder:"REGION"`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// reachedBrake is what a command can do with a brake.
type reachedBrake interface {
	Status(ctx context.Context) (brake.Status, error)
	On(ctx context.Context, reason string) error
	Off(ctx context.Context) error
}

// brakeTarget is the brake that the flags name.
type brakeTarget struct {
	reachedBrake
	// flags name it again, in the commands that people are told.
	flags string
	// note is what else there is to know; it may be empty.
	note  string
	close func() error
}

func (f brakeFlags) reach(ctx context.Context) (*brakeTarget, error) {
	if f.Function != "" {
		return f.deployed(ctx)
	}
	if f.Region != "" {
		return nil, badUsage(errors.New("--region goes with --function: `terraform output brake` shows the whole command"))
	}
	return f.onLaptop(ctx)
}

// withBrake does something with the brake, and closes what that took.
func (f brakeFlags) withBrake(ctx context.Context, do func(*brakeTarget) error) error {
	t, err := f.reach(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.close())
}

// show prints the status as it is now, and returns it.
func (f brakeFlags) show(ctx context.Context, w io.Writer, t *brakeTarget) (brake.Status, error) {
	status, err := t.Status(ctx)
	if err != nil {
		return status, err
	}
	if f.JSON {
		return status, printJSON(w, status)
	}
	return status, showBrake(w, status, t)
}

type brakeStatusCmd struct{ brakeFlags }

func (c brakeStatusCmd) Run(ctx context.Context, s streams) error {
	return c.withBrake(ctx, func(t *brakeTarget) error {
		_, err := c.show(ctx, s.out, t)
		return err
	})
}

type brakeOnCmd struct {
	brakeFlags
	Reason string `help:"Why, for the message to finance." placeholder:"TEXT"`
}

func (c brakeOnCmd) Run(ctx context.Context, s streams) error {
	if c.Reason != printable(c.Reason) {
		return badUsage(errors.New("--reason must be printable text on one line"))
	}
	return c.withBrake(ctx, func(t *brakeTarget) error {
		if err := t.On(ctx, c.Reason); err != nil {
			return err
		}
		_, err := c.show(ctx, s.out, t)
		return err
	})
}

type brakeOffCmd struct{ brakeFlags }

func (c brakeOffCmd) Run(ctx context.Context, s streams) error {
	return c.withBrake(ctx, func(t *brakeTarget) error {
		before, err := t.Status(ctx)
		if err != nil {
			return err
		}
		if err := t.Off(ctx); err != nil {
			return err
		}
		after, err := c.show(ctx, s.out, t)
		if err != nil || c.JSON {
			return err
		}
		return showChanged(s.out, before, after)
	})
}

// showBrake prints a status for people.
func showBrake(w io.Writer, status brake.Status, t *brakeTarget) error {
	fmt.Fprintln(w, sentence(status))
	if t.note != "" {
		fmt.Fprintln(w, t.note)
	}
	if status.Why != "" {
		fmt.Fprintf(w, "Why: %s\n", printable(status.Why))
	}
	if len(status.Functions) > 0 {
		fmt.Fprintln(w)
		var lines [][]string
		for _, f := range status.Functions {
			lines = append(lines, []string{f.Name, ceiling(f.Before), ceiling(f.Now)})
		}
		if err := writeTable(w, []string{"FUNCTION", "BEFORE", "NOW"}, lines); err != nil {
			return err
		}
	}
	if len(status.Methods) > 0 {
		fmt.Fprintf(w, "\nClosed, at a throttle of 0: %s\n", strings.Join(status.Methods, ", "))
	}
	if status.State != "off" && status.State != brake.ReleasedElsewhere {
		fmt.Fprintf(w, "\nTo release it: sekisho brake off%s\n", t.flags)
	}
	return nil
}

func sentence(status brake.Status) string {
	since := ""
	if status.Since != nil {
		since = " since " + status.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	switch status.State {
	case "off":
		if status.ReleasedAt != nil {
			return "The brake is off; it was last released at " + status.ReleasedAt.UTC().Format("2006-01-02 15:04:05 UTC") + "."
		}
		return "The brake is off."
	case "on":
		return "The brake is on" + since + "."
	case brake.ReleasedElsewhere:
		return "The brake is off: it was released by other means than sekisho brake off. It was on" + since + "."
	default:
		return fmt.Sprintf("The brake is %s%s, and not done yet.", status.State, since)
	}
}

// ceiling writes a reserved concurrency; "-" where it is not known.
func ceiling(n *int) string {
	switch {
	case n == nil:
		return "-"
	case *n == brake.Unreserved:
		return "unreserved"
	default:
		return strconv.Itoa(*n)
	}
}

// showChanged names functions that did not get back what they had, because somebody had
// changed them meanwhile.
func showChanged(w io.Writer, before, after brake.Status) error {
	now := map[string]*int{}
	for _, f := range after.Functions {
		now[f.Name] = f.Now
	}
	for _, f := range before.Functions {
		if n := now[f.Name]; f.Before != nil && n != nil && *n != *f.Before {
			if _, err := fmt.Fprintf(w, "%s had %s before the brake and was changed since: it is left as it is.\n", f.Name, ceiling(f.Before)); err != nil {
				return err
			}
		}
	}
	return nil
}
