// Command relay is the Lambda function of a backend: a service that somebody else wrote.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/function"
	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/trace/otlp"
)

func main() {
	boot.Main("relay", otlp.Traced(relay.FromEnv(dynamo.FromEnv, relay.Options{Secret: parameter.FromEnv, Invoker: function.FromEnv})))
}
