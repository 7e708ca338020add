// Command mcp is the Lambda function that speaks MCP and turns tool calls into calls of the REST API.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/mcpserver"
)

func main() { boot.Main("mcp", mcpserver.FromEnv(dynamo.FromEnv, nil)) }
