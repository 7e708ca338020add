// Command brake is the Lambda function that stops spending.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	awsbrake "sekisho/functions/internal/aws/brake"
	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	handler "sekisho/functions/internal/handler/brake"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "brake:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := boot.NewLogger(getenv, "brake", os.Stdout)
	if err != nil {
		return err
	}
	c, err := handler.FromEnv(getenv)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, boot.AccountsTable)
	if err != nil {
		return err
	}
	cfg, err := awsconfig.Config(getenv)
	if err != nil {
		return err
	}
	brake, err := awsbrake.New(cfg, c, getenv("AWS_LAMBDA_FUNCTION_NAME"), store.Brake(c.MemoryName()), time.Now)
	if err != nil {
		return err
	}
	h := &handler.Handler{Topic: c.Topic, Rules: c.Rules, Brake: brake, Log: log}
	lambda.StartWithOptions(h.Handle, lambda.WithContext(ctx))
	return nil
}
