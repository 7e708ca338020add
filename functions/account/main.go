// Command account is the Lambda function that shows key holders their usage and keeps their settings.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/trace/otlp"
)

func main() { boot.Main("account", otlp.Traced(account.FromEnv(dynamo.FromEnv))) }
