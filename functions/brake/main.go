// Command brake is the Lambda function that stops spending.
package main

import (
	awsbrake "sekisho/functions/internal/aws/brake"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/brake"
)

func main() { boot.Main("brake", brake.FromEnv(dynamo.FromEnv, awsbrake.FromEnv)) }
