package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/money/statement"
	"sekisho/functions/internal/money/worstcase"
	"sekisho/functions/internal/usage"
)

type reportCmd struct {
	splitFlags
	Output string `short:"o" help:"File to write; standard output by default. Only another report is overwritten." placeholder:"FILE"`
	Lang   string `help:"Language: en or ja." enum:"en,ja" default:"en"`

	Ceilings      string `help:"What terraform output -json printed, for the most that can be spent; see sekisho worst-case." placeholder:"FILE"`
	BrakeFunction string `help:"With tables: the name in AWS of the deployment's function brake, for its state." env:"SEKISHO_BRAKE_FUNCTION" placeholder:"NAME"`
}

// Help says what is in the report; kong shows it below the summary.
func (reportCmd) Help() string {
	return `Writes one HTML file that loads nothing and runs nothing: spend by key, user and tool with
shares of the bill, up to thirteen months side by side, what the limits, the ceilings and the
brake did, and the month's rows as CSV. The figures and the CSV are those of "sekisho usage
export" with the same options. It names users and keys: mail it only to people who may know them.`
}

func (c reportCmd) Run(ctx context.Context, s streams) error {
	now := time.Now()
	month, earlier, err := reportMonths(c.Month, now)
	if err != nil {
		return badUsage(err)
	}
	if err := overwritable(c.Output); err != nil {
		return badUsage(fmt.Errorf("-o %s: %w", c.Output, err))
	}
	st, err := c.statement(ctx, now, month, earlier)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := st.HTML(&page, statement.Language(c.Lang)); err != nil {
		return err
	}
	if c.Output == "" {
		_, err := s.out.Write(page.Bytes())
		return err
	}
	if err := replaceFile(c.Output, page.Bytes(), 0o600); err != nil {
		return badUsage(fmt.Errorf("-o %s: %w", c.Output, err))
	}
	fmt.Fprintf(s.err, "sekisho: wrote %s, %d kB\n", c.Output, (page.Len()+999)/1000)
	return nil
}

// reportMonths are the month of the report, and the kept ones before it.
func reportMonths(text string, now time.Time) (usage.Period, []usage.Period, error) {
	month, err := monthOf(text, now)
	if err != nil {
		return month, nil, fmt.Errorf("--month: %w", err)
	}
	kept := usage.History(now)
	at := slices.Index(kept, month)
	if at < 0 {
		return month, nil, fmt.Errorf("--month %s: only the months from %s to %s are kept", month, kept[len(kept)-1], kept[0])
	}
	return month, kept[at+1:], nil
}

func (c reportCmd) statement(ctx context.Context, now time.Time, month usage.Period, earlier []usage.Period) (*statement.Statement, error) {
	var worst *worstcase.Figures
	if c.Ceilings != "" {
		report, err := worstCase(c.contractFlag, c.Ceilings)
		if err != nil {
			return nil, fmt.Errorf("--ceilings: %w", err)
		}
		figures := report.Figures()
		worst = &figures
	}
	split, err := c.split(ctx, now, month, earlier...)
	if err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	if err := split.write(&rows, "csv"); err != nil {
		return nil, err
	}
	st := &statement.Statement{
		Month: month, Sheets: split.sheets, Apps: split.apps, Billed: split.billed, WorstCase: worst, Notes: split.notes,
		CSV: rows.Bytes(), Made: now, Version: boot.Version(), Show: printable,
	}
	if split.denials != nil {
		st.Refusals = split.denials.Reasons()
	}
	st.Brake, err = c.brake(ctx)
	return st, err
}

// brake is the state of the brake that belongs to the store; nil if it isn't named.
func (c reportCmd) brake(ctx context.Context) (status *brake.Status, err error) {
	flags := brakeFlags{Data: c.Data}
	if c.AccountsTable != "" {
		if c.BrakeFunction == "" {
			return nil, nil
		}
		flags = brakeFlags{Function: c.BrakeFunction}
	}
	err = flags.withBrake(ctx, func(t *brakeTarget) error {
		s, err := t.Status(ctx)
		status = &s
		return err
	})
	return status, err
}

// overwritable refuses a file that is something else than a report: a typo must not cost work.
func overwritable(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	start, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if err != nil {
		return err
	}
	if !bytes.Contains(start, []byte(`content="`+statement.Generator+`"`)) {
		return errors.New("that file exists and is not a report; choose another name, or remove it")
	}
	return nil
}
