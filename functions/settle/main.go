// Command settle is the Lambda function that gives failed calls their units back.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/topic"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/settle"
)

func main() { boot.Main("settle", settle.FromEnv(dynamo.FromEnv, subscribers)) }

func subscribers(env boot.Env, variable string) (settle.Publisher, error) {
	return topic.FromEnv(env, variable)
}
