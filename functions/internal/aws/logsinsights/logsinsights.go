// Package logsinsights counts refused calls by meter, tool and reason in the access log that API
// Gateway writes to CloudWatch Logs. Logs Insights does the counting and returns only sums.
// AWS bills a query by the gigabytes it reads.
//
// moto 5.2.1 can't emulate this: it supports `fields`, `sort` and `limit`, and ignores
// `filter` and `stats` (moto/logs/logs_query/query_parser.py, "Unknown/Unsupported command").
// The tests have their own stand-in.
package logsinsights

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/money/chargeback"
	"sekisho/functions/internal/usage"
)

// ErrNoGroup: there is no log group with that name.
var ErrNoGroup = errors.New("there is no such log group")

// Group is an access log.
type Group struct {
	Client *cloudwatchlogs.Client
	Name   string
	Now    func() time.Time
	// Poll is the first wait for a query's result; later ones are longer. 0 = a second.
	Poll time.Duration
	// MaxRows is the most rows that one query returns; 0 = 10,000, the service's maximum
	// (docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html).
	MaxRows int
}

const (
	maxRows = 10_000
	// late is how long after its month's end a record may arrive.
	late = time.Hour
	// shortest is the shortest range that is still halved, in seconds.
	shortest = 60
	lastPoll = 10 * time.Second
)

// Denied counts the denied calls of a month. known is false if the log no longer has that
// month's records, or did not exist then.
func (g Group) Denied(ctx context.Context, p usage.Period) (denials chargeback.Denials, known bool, err error) {
	from, to := p.Start().Unix(), p.Reset().Add(late).Unix()
	to = min(to, g.Now().Unix())
	if to <= from {
		return chargeback.Denials{}, true, nil
	}
	if g.MaxRows <= 0 {
		g.MaxRows = maxRows
	}
	denials = chargeback.Denials{}
	err = g.count(ctx, p, from, to, denials)
	if expired(err) {
		return chargeback.Denials{}, false, nil
	}
	return denials, err == nil, err
}

// count adds what was logged from one second to another, inclusive. An answer with MaxRows
// rows may be incomplete, so count then repeats the query for each half of the range.
func (g Group) count(ctx context.Context, p usage.Period, from, to int64, denials chargeback.Denials) error {
	rows, err := g.query(ctx, p, from, to)
	if err != nil {
		return err
	}
	if len(rows) >= g.MaxRows {
		if to-from < shortest {
			return fmt.Errorf("between the epoch seconds %d and %d there are denials for more than %d pairs of key and tool, which is more than Logs Insights can return", from, to, g.MaxRows)
		}
		middle := from + (to-from)/2
		// The first half may be older than the log's retention when the second isn't.
		if err := g.count(ctx, p, from, middle, denials); err != nil && !expired(err) {
			return err
		}
		return g.count(ctx, p, middle+1, to, denials)
	}
	for _, row := range rows {
		if err := add(row, denials); err != nil {
			return err
		}
	}
	return nil
}

// query runs one query and waits for its rows.
func (g Group) query(ctx context.Context, p usage.Period, from, to int64) ([][]types.ResultField, error) {
	started, err := g.Client.StartQuery(ctx, &cloudwatchlogs.StartQueryInput{
		LogGroupName: &g.Name, StartTime: &from, EndTime: &to, Limit: aws.Int32(int32(g.MaxRows)),
		QueryString: aws.String(Query(p, g.MaxRows)),
	})
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("%s: %w", g.Name, ErrNoGroup)
	}
	if err != nil {
		return nil, fmt.Errorf("query the access log %s: %w", g.Name, err)
	}
	rows, err := g.await(ctx, started.QueryId)
	if ctx.Err() != nil {
		g.stop(ctx, started.QueryId)
	}
	if err != nil {
		return nil, fmt.Errorf("query the access log %s: %w", g.Name, err)
	}
	return rows, nil
}

// Query is the query for a month, returning at most the given number of rows. A throttled call
// has no period, because no authorizer saw it, so the month's end bounds it.
func Query(p usage.Period, rows int) string {
	var denials []string
	for _, code := range gateway.CountedDenials() {
		denials = append(denials, strconv.Quote(string(code)))
	}
	said, parse := names.Admission, gateway.QueryFields()
	return strings.Join([]string{
		parse[said.Denial], parse[said.Period],
		fmt.Sprintf(`filter (%s in [%s] and %s = "%s") or (%s = "%s" and @timestamp < %d)`,
			said.Denial, strings.Join(denials, ", "), said.Period, p, names.ResponseType, gateway.Throttled, p.Reset().UnixMilli()),
		parse[said.Meter], parse[said.Operation],
		fmt.Sprintf(`stats count(*) as calls by %s, %s, %s, %s`, said.Meter, said.Operation, said.Denial, names.ResponseType),
		fmt.Sprintf(`limit %d`, rows),
	}, " | ")
}

// names of the fields of a record.
var names = gateway.RecordNames()

func (g Group) await(ctx context.Context, id *string) ([][]types.ResultField, error) {
	wait := g.Poll
	if wait <= 0 {
		wait = time.Second
	}
	for ; ; wait = min(lastPoll, wait*3/2) {
		out, err := g.Client.GetQueryResults(ctx, &cloudwatchlogs.GetQueryResultsInput{QueryId: id})
		if err != nil {
			return nil, err
		}
		switch out.Status {
		case types.QueryStatusComplete:
			return out.Results, nil
		case types.QueryStatusScheduled, types.QueryStatusRunning:
		default:
			return nil, fmt.Errorf("the query ended as %q", out.Status)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// stop cancels a query that nobody waits for any more, if it can.
func (g Group) stop(ctx context.Context, id *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = g.Client.StopQuery(ctx, &cloudwatchlogs.StopQueryInput{QueryId: id})
}

func add(row []types.ResultField, denials chargeback.Denials) error {
	fields := map[string]string{}
	for _, f := range row {
		fields[aws.ToString(f.Field)] = aws.ToString(f.Value)
	}
	calls, err := strconv.ParseInt(fields["calls"], 10, 64)
	if err != nil || calls < 0 {
		return fmt.Errorf("the query returned %q instead of a number of calls", fields["calls"])
	}
	said := gateway.Admission{Denial: fields[names.Admission.Denial], Meter: fields[names.Admission.Meter], Operation: fields[names.Admission.Operation]}
	record := gateway.AccessRecord{ResponseType: fields[names.ResponseType], Admission: said}
	denials[chargeback.Subject{Meter: said.Meter, Operation: said.Operation, Why: record.Refusal()}] += calls
	return nil
}

// expired recognises the refusal of a range that is older than the group or its retention.
// The service has no error code of its own for it.
func expired(err error) bool {
	var malformed *types.MalformedQueryException
	return errors.As(err, &malformed) && strings.Contains(malformed.ErrorMessage(), "retention settings")
}
