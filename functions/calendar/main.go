// Command calendar is the Lambda function that serves the contract's operations of "calendar".
package main

import (
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/calendar"
	"sekisho/functions/internal/handler/rest"
)

func main() { boot.Main("calendar", rest.FromEnv(calendar.Operations)) }
