package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"sekisho/functions/internal/brake"
)

type brakeCmd struct {
	Status brakeStatusCmd `cmd:"" help:"Show whether spending is stopped, since when, why, and each function's reserved concurrency."`
	On     brakeOnCmd     `cmd:"" help:"Stop spending now: the functions that spend go to reserved concurrency 0."`
	Off    brakeOffCmd    `cmd:"" help:"Release the brake: every function gets back what it had."`
}

// brakeFlags say whose brake it is: that of a laptop's directory, or of a deployment.
type brakeFlags struct {
	Data     string `help:"Directory of the laptop's data." default:"${data}" placeholder:"DIR"`
	Function string `help:"Name in AWS of the deployment's function brake, instead of --data; its environment tells the rest." env:"SEKISHO_BRAKE_FUNCTION" placeholder:"NAME"`
	Region   string `help:"AWS region of --function; by default that of the AWS configuration." placeholder:"REGION"`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// brakes is a brake that a command reaches.
type brakes interface {
	Status(ctx context.Context) (brake.Status, error)
	On(ctx context.Context, cause brake.Cause) error
	Off(ctx context.Context) error
	// Command is how to call a subcommand for this brake.
	Command(name string) string
	// Note is what else there is to know; it may be empty.
	Note() string
}

func (f brakeFlags) reach(ctx context.Context) (brakes, func() error, error) {
	if f.Function != "" {
		b, err := f.deployed(ctx)
		return b, func() error { return nil }, err
	}
	if f.Region != "" {
		return nil, nil, badUsage(errors.New("--region goes with --function: `terraform output brake` shows the whole command"))
	}
	return f.onLaptop(ctx)
}

// withBrake does something with the brake, and closes what that took.
func (f brakeFlags) withBrake(ctx context.Context, do func(brakes) error) error {
	b, done, err := f.reach(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(b), done())
}

// show prints the status as it is now, and returns it.
func (f brakeFlags) show(ctx context.Context, w io.Writer, b brakes) (brake.Status, error) {
	status, err := b.Status(ctx)
	if err != nil {
		return status, err
	}
	if f.JSON {
		return status, printJSON(w, status)
	}
	return status, showBrake(w, status, b)
}

type brakeStatusCmd struct{ brakeFlags }

func (c brakeStatusCmd) Run(ctx context.Context, s streams) error {
	return c.withBrake(ctx, func(b brakes) error {
		_, err := c.show(ctx, s.out, b)
		return err
	})
}

type brakeOnCmd struct {
	brakeFlags
	Reason string `help:"Why, for the message to finance." placeholder:"TEXT"`
}

func (c brakeOnCmd) Run(ctx context.Context, s streams) error {
	cause := brake.Cause{Name: "hand", Text: "Put on by hand, with sekisho brake on."}
	if c.Reason != "" {
		cause.Text = "Put on by hand: " + c.Reason
	}
	return c.withBrake(ctx, func(b brakes) error {
		if err := b.On(ctx, cause); err != nil {
			return err
		}
		_, err := c.show(ctx, s.out, b)
		return err
	})
}

type brakeOffCmd struct{ brakeFlags }

func (c brakeOffCmd) Run(ctx context.Context, s streams) error {
	return c.withBrake(ctx, func(b brakes) error {
		before, err := b.Status(ctx)
		if err != nil {
			return err
		}
		if err := b.Off(ctx); err != nil {
			return err
		}
		after, err := c.show(ctx, s.out, b)
		if err != nil || c.JSON {
			return err
		}
		return showChanged(s.out, before, after)
	})
}

// showBrake prints a status for people.
func showBrake(w io.Writer, status brake.Status, b brakes) error {
	fmt.Fprintln(w, sentence(status))
	if note := b.Note(); note != "" {
		fmt.Fprintln(w, note)
	}
	if status.Why != "" {
		fmt.Fprintf(w, "Why: %s\n", status.Why)
	}
	if len(status.Functions) > 0 {
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, "FUNCTION\tBEFORE\tNOW")
		for _, f := range status.Functions {
			fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, ceiling(f.Before), ceiling(f.Now))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if status.State != "off" && status.State != brake.ReleasedByApply {
		fmt.Fprintf(w, "\nTo release it: %s\n", b.Command("off"))
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
	case brake.ReleasedByApply:
		return "The brake is off: a terraform apply has released it. It was on" + since + "."
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

// showChanged tells of functions that did not get back what they had, since somebody had
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

// direct is a brake whose service this process can act on.
type direct struct {
	*brake.Brake
	flags string
}

func (d direct) On(ctx context.Context, cause brake.Cause) error {
	_, err := d.Trip(ctx, cause, time.Now())
	return err
}

func (d direct) Off(ctx context.Context) error {
	_, err := d.Release(ctx)
	return err
}

func (d direct) Note() string { return "" }

func (d direct) Command(name string) string { return "sekisho brake " + name + d.flags }
