// Command calendar is the Lambda function that serves the contract's operations of "calendar".
package main

import (
	"context"
	"fmt"
	"os"

	"sekisho/functions/internal/handler/calendar"
	"sekisho/functions/internal/handler/rest"
)

func main() {
	if err := rest.Start(context.Background(), os.Getenv, "calendar", calendar.Operations()); err != nil {
		fmt.Fprintln(os.Stderr, "calendar:", err)
		os.Exit(1)
	}
}
