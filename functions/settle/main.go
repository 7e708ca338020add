// Command settle is the Lambda function that gives failed calls their units back.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/settle"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "settle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := boot.NewLogger(getenv, "settle", os.Stdout)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, boot.UsageTable)
	if err != nil {
		return err
	}
	handler := &settle.Handler{Store: store.Usage(), Log: log, Now: time.Now}
	lambda.StartWithOptions(handler.Handle, lambda.WithContext(ctx))
	return nil
}
