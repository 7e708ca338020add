// Command calendar is the Lambda function that serves the contract's operations of "calendar".
package main

import (
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/calendar"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/trace/otlp"
)

func main() { boot.Main("calendar", otlp.Traced(rest.FromEnv(calendar.Operations))) }
