// Command convert is the Lambda function that serves the contract's operations of "convert".
package main

import (
	"context"
	"fmt"
	"os"

	"sekisho/functions/internal/handler/convert"
	"sekisho/functions/internal/handler/rest"
)

func main() {
	if err := rest.Start(context.Background(), os.Getenv, "convert", convert.Operations()); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}
