// Command postal is the Lambda function that serves the contract's operations of "postal".
package main

import (
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/postal"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/trace/otlp"
)

func main() { boot.Main("postal", otlp.Traced(rest.FromEnv(postal.Operations))) }
