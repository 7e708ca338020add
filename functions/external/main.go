// Command external is the Lambda function that calls the upstream.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/config"
	"sekisho/functions/internal/dynamo"
	"sekisho/functions/internal/handler/external"
	"sekisho/functions/internal/logging"
	"sekisho/functions/internal/parameter"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "external:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := logging.New(getenv, "external", os.Stdout)
	if err != nil {
		return err
	}
	store, err := dynamo.FromEnv(getenv, config.UsageTable)
	if err != nil {
		return err
	}
	token, err := parameter.FromEnv(getenv, config.UpstreamTokenParameter)
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
