// Package convert serves the operations of the function "convert".
package convert

import (
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/tools/convert"
)

// Operations lists what the function serves.
func Operations() map[string]rest.Operation {
	return map[string]rest.Operation{
		"convert.era":   rest.Simple(convert.ConvertEra),
		"convert.units": rest.Simple(convert.ConvertUnits),
		"convert.width": rest.Simple(convert.ConvertWidth),
	}
}
