// Command authorizer is the Lambda function that decides about every call before it runs.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/authorizer"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "authorizer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := boot.NewLogger(getenv, "authorizer", os.Stdout)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, boot.AccountsTable, boot.UsageTable)
	if err != nil {
		return err
	}
	handler, err := authorizer.New(getenv, store.Accounts(), store.Usage(), log, time.Now)
	if err != nil {
		return err
	}
	lambda.StartWithOptions(handler.Handle, lambda.WithContext(ctx))
	return nil
}
