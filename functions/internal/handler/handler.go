// Package handler lists the functions that are nothing but their operations.
package handler

import (
	"sekisho/functions/internal/handler/calendar"
	"sekisho/functions/internal/handler/convert"
	"sekisho/functions/internal/handler/postal"
	"sekisho/functions/internal/handler/rest"
)

// Functions are those that need no store and no settings, by the contract's names. A new
// function is added here, for the laptop and for the tests; in AWS each has a main of its own.
func Functions() map[string]func() map[string]rest.Operation {
	return map[string]func() map[string]rest.Operation{
		"calendar": calendar.Operations,
		"convert":  convert.Operations,
		"postal":   postal.Operations,
	}
}
