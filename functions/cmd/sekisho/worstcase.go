package main

import (
	"errors"
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
	printed, err := os.ReadFile(c.File)
	if err != nil {
		return badUsage(err)
	}
	ceilings, err := worstcase.Read(printed)
	if err != nil {
		return badUsage(err)
	}
	api, err := c.load("")
	if err != nil {
		return err
	}
	report, err := worstcase.Of(ceilings, api)
	if errors.Is(err, worstcase.ErrUnbounded) {
		return badUsage(err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return report.JSON(s.out)
	}
	return report.Markdown(s.out)
}
