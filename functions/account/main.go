// Command account is the Lambda function that tells key holders their usage and keeps their settings.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/account"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "account:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := boot.NewLogger(getenv, "account", os.Stdout)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, boot.AccountsTable, boot.UsageTable)
	if err != nil {
		return err
	}
	server, err := account.New(getenv, store.Accounts(), store.Usage(), log, time.Now)
	if err != nil {
		return err
	}
	lambda.StartWithOptions(server.Handle, lambda.WithContext(ctx))
	return nil
}
