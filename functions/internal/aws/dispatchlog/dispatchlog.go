// Package dispatchlog finds in CloudWatch Logs what an invocation of mcp admitted.
package dispatchlog

import (
	"context"
	"fmt"
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

// The window in which the lines of an invocation lie, around the report of its end: Lambda runs a
// function for 15 minutes at most.
const before, after = 16 * time.Minute, time.Minute

// Admitted returns the lines about admissions that an invocation wrote. at is when the platform
// reported its end.
func (l *Log) Admitted(ctx context.Context, invocation string, at time.Time) ([]string, error) {
	for i := 0; ; i++ {
		lines, err := l.find(ctx, invocation, at)
		if err != nil || len(lines) > 0 || i == len(l.Pauses) {
			return lines, err
		}
		select {
		case <-time.After(l.Pauses[i]):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *Log) find(ctx context.Context, invocation string, at time.Time) (lines []string, err error) {
	pages := cloudwatchlogs.NewFilterLogEventsPaginator(l.Client, &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName:  &l.Group,
		FilterPattern: aws.String(gateway.AdmittedBy(invocation)),
		StartTime:     aws.Int64(at.Add(-before).UnixMilli()), EndTime: aws.Int64(at.Add(after).UnixMilli()),
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
