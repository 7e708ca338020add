// Package postal serves the operations of the function "postal".
package postal

import (
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/tools/postal"
)

// Operations lists what the function serves.
func Operations() map[string]rest.Operation {
	return map[string]rest.Operation{
		"postal.lookup": rest.Simple(postal.Lookup),
		"postal.search": rest.Simple(postal.Search),
	}
}
