// Command mcp is the Lambda function that speaks MCP and turns tool calls into calls of the REST API.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/mcpserver"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := boot.NewLogger(getenv, "mcp", os.Stdout)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, boot.AccountsTable)
	if err != nil {
		return err
	}
	handle, err := mcpserver.FromEnv(getenv, store.Accounts(), nil, log, time.Now)
	if err != nil {
		return err
	}
	lambda.StartWithOptions(handle, lambda.WithContext(ctx))
	return nil
}
