// Command authorizer is the Lambda function that decides about every call before it runs.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/authorizer"
)

func main() { boot.Main("authorizer", authorizer.FromEnv(dynamo.Connected)) }
