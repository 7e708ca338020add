// Command dice is the Lambda function that serves the contract's operations of "dice".
package main

import (
	"context"
	"fmt"
	"os"

	"sekisho/functions/internal/handler/dice"
	"sekisho/functions/internal/handler/rest"
)

func main() {
	if err := rest.Start(context.Background(), os.Getenv, "dice", dice.Operations()); err != nil {
		fmt.Fprintln(os.Stderr, "dice:", err)
		os.Exit(1)
	}
}
