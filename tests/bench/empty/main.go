// Command empty is a Lambda function that does nothing: what every Go function's start is compared with.
package main

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{}`), nil })
}
