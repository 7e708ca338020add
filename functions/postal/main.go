// Command postal is the Lambda function that serves the contract's operations of "postal".
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/postal"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/logging"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "postal:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := logging.New(getenv, "postal", os.Stdout)
	if err != nil {
		return err
	}
	api, err := contract.Load()
	if err != nil {
		return err
	}
	server, err := rest.New(api, "postal", postal.Operations(), log, time.Now)
	if err != nil {
		return err
	}
	lambda.StartWithOptions(server.Handle, lambda.WithContext(ctx))
	return nil
}
