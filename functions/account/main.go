// Command account is the Lambda function that shows key holders their usage and keeps their settings.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/account"
)

func main() { boot.Main("account", account.FromEnv(dynamo.FromEnv)) }
