package main

import (
	"context"
	"time"

	"sekisho/functions/internal/outbound/probe"
)

type probeCmd struct {
	URL        string        `arg:"" help:"URL to call."`
	Timeout    time.Duration `help:"Timeout of one attempt, including the body." default:"15s"`
	Attempts   int           `help:"Maximum number of attempts, 1 to 4." default:"4"`
	Method     string        `help:"HTTP method." default:"GET"`
	Idempotent bool          `help:"Treat the request as safe to repeat, whatever the method."`
	JSON       bool          `name:"json" help:"Print one JSON object per line."`
}

func (c probeCmd) Run(ctx context.Context, s streams) error {
	code := probe.Run(ctx, probe.Options{
		URL: c.URL, Timeout: c.Timeout, Attempts: c.Attempts, Method: c.Method, Idempotent: c.Idempotent, JSON: c.JSON,
	}, s.out, s.err)
	if code == 0 {
		return nil
	}
	return exitCode(code)
}
