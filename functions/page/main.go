// Command page is the Lambda function that serves the page for key holders.
package main

import (
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/page"
)

func main() { boot.Main("page", page.Build) }
