package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"go.uber.org/zap"

	"sekisho/functions/internal/aws/dispatchlog"
	"sekisho/functions/internal/aws/queue"
	"sekisho/functions/internal/handler/settle"
)

type settleCmd struct {
	storeFlags
	contractFlag
	Queue       string `required:"" help:"URL of the queue NAME-settle-undelivered." placeholder:"URL"`
	MCPLogGroup string `name:"mcp-log-group" help:"Log group of mcp, /aws/lambda/NAME-mcp, where mcp dispatches calls itself." placeholder:"NAME"`
}

// messages is the queue, as this command uses it.
type messages interface {
	Receive(ctx context.Context, hide time.Duration) ([]queue.Message, error)
	Delete(ctx context.Context, m queue.Message) error
}

// hidden is how long a received message is this run's alone: ten of them take seconds.
const hidden = 5 * time.Minute

func (c settleCmd) Run(ctx context.Context, s streams) error {
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return badUsage(fmt.Errorf("AWS configuration: %w", err))
	}
	q, err := queue.New(cfg, c.Queue)
	if err != nil {
		return badUsage(err)
	}
	st, err := c.open(ctx)
	if err != nil {
		return err
	}
	api, err := c.load("")
	if err != nil {
		return errors.Join(err, st.close())
	}
	h := &settle.Handler{API: api, Store: st.Usage(), Log: zap.NewNop(), Now: time.Now}
	if c.MCPLogGroup != "" {
		h.Admissions = &dispatchlog.Log{Client: cloudwatchlogs.NewFromConfig(cfg), Group: c.MCPLogGroup}
	}
	return errors.Join(settleQueue(ctx, q, h, s.out), st.close())
}

// settleQueue settles what lies in the queue until it is empty, and deletes each event once it
// is settled. What can't be settled stays, and the rest goes on.
func settleQueue(ctx context.Context, q messages, h *settle.Handler, w io.Writer) error {
	settled := 0
	var failed error
	for {
		batch, err := q.Receive(ctx, hidden)
		if err != nil {
			return errors.Join(failed, err)
		}
		if len(batch) == 0 {
			fmt.Fprintf(w, "%d deliveries settled.\n", settled)
			return failed
		}
		for _, m := range batch {
			if err := settleMessage(ctx, h, m); err != nil {
				failed = errors.Join(failed, fmt.Errorf("message %s stays in the queue: %w", m.ID, err))
				continue
			}
			if err := q.Delete(ctx, m); err != nil {
				return errors.Join(failed, err)
			}
			settled++
		}
	}
}

// settleMessage takes the event out of what Lambda writes about an invocation that failed
// (https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html).
func settleMessage(ctx context.Context, h *settle.Handler, m queue.Message) error {
	var record struct {
		RequestPayload *events.CloudwatchLogsEvent `json:"requestPayload"`
	}
	if err := json.Unmarshal([]byte(m.Body), &record); err != nil {
		return fmt.Errorf("not a record of a failed invocation: %w", err)
	}
	if record.RequestPayload == nil || record.RequestPayload.AWSLogs.Data == "" {
		return errors.New("not a delivery of the access log: is it the queue of settle?")
	}
	if _, err := record.RequestPayload.AWSLogs.Parse(); err != nil {
		return fmt.Errorf("not a delivery of the access log: %w", err)
	}
	return h.Handle(ctx, *record.RequestPayload)
}
