package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/openapi"
)

type importCmd struct {
	From    string `arg:"" name:"description" help:"OpenAPI 3 or Swagger 2.0, JSON or YAML: a file or a URL."`
	Output  string `short:"o" help:"Contract to write, or to update if it is there." default:"api.yaml" placeholder:"FILE"`
	Backend string `help:"Name of the backend; by default from the server's host or the title." placeholder:"NAME"`
	chooseFlags
	Private bool          `help:"Let the URL's host have a private address."`
	DryRun  bool          `help:"Write nothing but the report."`
	Force   bool          `help:"Write over a file that no import wrote."`
	Report  string        `help:"Write the report as JSON." placeholder:"FILE"`
	Verbose bool          `help:"Show each line of the report, not only how many there are of a kind."`
	Timeout time.Duration `help:"Give up after this time." default:"10m"`
}

func (c importCmd) Run(ctx context.Context, s streams) error {
	ctx, stop := context.WithTimeout(ctx, c.Timeout)
	defer stop()
	before, err := os.ReadFile(c.Output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return badUsage(err)
	}
	options := c.options(c.From)
	options.Private, options.Backend, options.Previous, options.Force = c.Private, c.Backend, before, c.Force
	own, err := ownContract()
	if err != nil {
		return err
	}
	if options.Reserved, err = reservedNames(own); err != nil {
		return err
	}
	text, report, err := openapi.Import(ctx, options)
	if errors.Is(err, openapi.ErrNotImported) {
		return badUsage(fmt.Errorf("%s: %w: give another -o, or --force to write over it", c.Output, err))
	}
	if err != nil {
		return fmt.Errorf("%w. %s was not changed", err, c.Output)
	}
	if err := report.Write(s.out, c.Verbose); err != nil {
		return err
	}
	if c.Report != "" {
		if err := writeReport(c.Report, report); err != nil {
			return err
		}
	}
	if c.DryRun {
		fmt.Fprintf(s.out, "\nNothing was written (--dry-run).\n")
		return nil
	}
	if bytes.Equal(text, before) {
		fmt.Fprintf(s.out, "\n%s is as it was.\n", c.Output)
		return nil
	}
	if err := replaceFile(c.Output, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\nWrote %s. Review it, then: sekisho up --contract %s\n", c.Output, c.Output)
	return nil
}

func writeReport(path string, report *openapi.Report) error {
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(encoded, '\n'), 0o644)
}

// reservedNames are those of the operations that the merged contract own has before an import.
func reservedNames(own []byte) (openapi.Reserved, error) {
	api, err := contract.Parse(own)
	if err != nil {
		return openapi.Reserved{}, err
	}
	r := openapi.Reserved{
		// Directories that the service or a stand-in for AWS may extend.
		Routes:    []string{"/", "/v1/user/", "/page/", "/_local/", "/.well-known/", "/mcp/"},
		Functions: append(api.AllFunctions(), "default", "relay"),
	}
	for _, op := range api.Operations {
		r.Routes = append(r.Routes, op.Path)
		r.Categories = append(r.Categories, op.Category)
	}
	for _, c := range api.Composites {
		r.Categories = append(r.Categories, c.Category)
	}
	return r, nil
}
