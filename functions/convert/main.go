// Command convert is the Lambda function that serves the contract's operations of "convert".
package main

import (
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/convert"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/trace/otlp"
)

func main() { boot.Main("convert", otlp.Traced(rest.FromEnv(convert.Operations))) }
