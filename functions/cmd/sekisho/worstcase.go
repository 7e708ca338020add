package main

import (
	"errors"
	"fmt"
	"os"

	"sekisho/functions/internal/money/worstcase"
)

// worstCaseCmd prints what the ceilings of a plan or of a deployed stack let an hour cost.
type worstCaseCmd struct {
	contractFlag
	File string `arg:"" help:"What terraform show -json printed of a plan or of the state, or terraform output -json." placeholder:"FILE"`
	JSON bool   `name:"json" help:"Print the three figures as JSON."`
}

func (c worstCaseCmd) Run(s streams) error {
	report, err := worstCase(c.contractFlag, c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return report.JSON(s.out)
	}
	return report.Markdown(s.out)
}

// worstCase computes the report for the ceilings in a file.
func worstCase(from contractFlag, file string) (worstcase.Report, error) {
	printed, err := os.ReadFile(file)
	if err != nil {
		return worstcase.Report{}, badUsage(err)
	}
	ceilings, err := worstcase.Read(printed)
	if err != nil {
		return worstcase.Report{}, badUsage(fmt.Errorf("%s: %w", file, err))
	}
	api, err := from.load("")
	if err != nil {
		return worstcase.Report{}, err
	}
	report, err := worstcase.Of(ceilings, api)
	if errors.Is(err, worstcase.ErrUnbounded) {
		err = badUsage(err)
	}
	return report, err
}
