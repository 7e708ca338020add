// Package dispatchlog finds in CloudWatch Logs what invocations of mcp admitted.
package dispatchlog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
)

// Log is the log group of mcp.
type Log struct {
	Client *cloudwatchlogs.Client
	Group  string
	// Pauses are the waits between looks, as long as nothing is found.
	Pauses []time.Duration
}

// pauses are for lines that the platform's report overtook. An invocation that failed may have
// admitted nothing: then all of them pass.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// FromEnv returns the log group that an environment variable names; nil if it is not set.
func FromEnv(env boot.Env, variable string) (*Log, error) {
	group := env(variable)
	if group == "" {
		return nil, nil
	}
	cfg, err := awsconfig.Config(env)
	if err != nil {
		return nil, err
	}
	return &Log{Client: cloudwatchlogs.NewFromConfig(cfg), Group: group, Pauses: pauses}, nil
}

// Admitted returns the lines about admissions that invocations wrote which failed.
func (l *Log) Admitted(ctx context.Context, failed []gateway.Report) (lines []string, err error) {
	missing := slices.Clone(failed)
	for i := 0; ; i++ {
		found := map[string]bool{}
		for part := range slices.Chunk(missing, gateway.MostInvocations) {
			more, err := l.find(ctx, part)
			if err != nil {
				return nil, err
			}
			for _, line := range more {
				if d, ok := gateway.ParseDispatched([]byte(line)); ok {
					found[d.Invocation] = true
				}
			}
			lines = append(lines, more...)
		}
		missing = slices.DeleteFunc(missing, func(r gateway.Report) bool { return found[r.Record.RequestID] })
		if len(missing) == 0 || i == len(l.Pauses) {
			return lines, nil
		}
		select {
		case <-time.After(l.Pauses[i]):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *Log) find(ctx context.Context, failed []gateway.Report) (lines []string, err error) {
	from, to := failed[0].Window()
	var invocations []string
	for _, report := range failed {
		start, end := report.Window()
		if start.Before(from) {
			from = start
		}
		if end.After(to) {
			to = end
		}
		invocations = append(invocations, report.Record.RequestID)
	}
	pages := cloudwatchlogs.NewFilterLogEventsPaginator(l.Client, &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: &l.Group, FilterPattern: aws.String(gateway.AdmittedBy(invocations)),
		StartTime: aws.Int64(from.UnixMilli()), EndTime: aws.Int64(to.UnixMilli()),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read log group %s: %w", l.Group, err)
		}
		for _, event := range page.Events {
			lines = append(lines, aws.ToString(event.Message))
		}
	}
	return lines, nil
}
