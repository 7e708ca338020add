// Command external is the Lambda function that calls the upstream.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/external"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "external:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := boot.NewLogger(getenv, "external", os.Stdout)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, boot.UsageTable)
	if err != nil {
		return err
	}
	token, err := parameter.FromEnv(getenv, boot.UpstreamTokenParameter)
	if err != nil {
		return err
	}
	server, err := external.New(getenv, external.Deps{
		Buckets: store.Buckets(), Dailies: store.Dailies(), Token: token, Log: log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	lambda.StartWithOptions(server.Handle, lambda.WithContext(ctx))
	return nil
}
