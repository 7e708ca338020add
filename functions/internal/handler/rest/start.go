package rest

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
)

// Start is what main does for a function that is nothing but its operations: it serves them
// in Lambda until the instance ends. The error says why it could not start.
func Start(ctx context.Context, getenv func(string) string, function string, operations map[string]Operation) error {
	log, err := boot.NewLogger(getenv, function, os.Stdout)
	if err != nil {
		return err
	}
	api, err := contract.Load()
	if err != nil {
		return err
	}
	server, err := New(api, function, operations, log, time.Now)
	if err != nil {
		return err
	}
	lambda.StartWithOptions(server.Handle, lambda.WithContext(ctx))
	return nil
}
