// Command dice is the Lambda function that serves the contract's operations of "dice".
package main

import (
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/dice"
	"sekisho/functions/internal/handler/rest"
)

func main() { boot.Main("dice", rest.FromEnv(dice.Operations)) }
