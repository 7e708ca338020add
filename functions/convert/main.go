// Command convert is the Lambda function that serves the contract's operations of "convert".
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/convert"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/logging"
)

func main() {
	if err := run(context.Background(), os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
	log, err := logging.New(getenv, "convert", os.Stdout)
	if err != nil {
		return err
	}
	api, err := contract.Load()
	if err != nil {
		return err
	}
	server, err := rest.New(api, "convert", convert.Operations(), log, time.Now)
	if err != nil {
		return err
	}
	lambda.StartWithOptions(server.Handle, lambda.WithContext(ctx))
	return nil
}
