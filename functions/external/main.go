// Command external is the Lambda function that calls the upstream.
package main

import (
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/external"
)

func main() {
	boot.Main("external", external.FromEnv(dynamo.FromEnv, external.Options{Token: parameter.FromEnv}))
}
