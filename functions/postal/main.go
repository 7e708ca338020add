// Command postal is the Lambda function that serves the contract's operations of "postal".
package main

import (
	"context"
	"fmt"
	"os"

	"sekisho/functions/internal/handler/postal"
	"sekisho/functions/internal/handler/rest"
)

func main() {
	if err := rest.Start(context.Background(), os.Getenv, "postal", postal.Operations()); err != nil {
		fmt.Fprintln(os.Stderr, "postal:", err)
		os.Exit(1)
	}
}
