// Command oauth is the Lambda function that signs people in for MCP hosts that take no key.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/oauth"
)

func main() { boot.Main("oauth", oauth.FromEnv(dynamo.FromEnv)) }
