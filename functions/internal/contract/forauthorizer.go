package contract

import (
	"encoding/json"
	"fmt"
	"slices"

	"sekisho/functions/internal/reply"
)

// What the authorizer reads of a merged contract: where operations are, and what a call of them counts. The
// routes of OAuth are what the table of functions is checked against.
var (
	decidedBy          = []string{"paths", "security", "x-sekisho-base", "x-sekisho-backends", "x-sekisho-functions", "x-sekisho-limits", "x-sekisho-oauth-routes"}
	operationDecidedBy = []string{"operationId", "security", "x-sekisho"}
	countedBy          = []string{"answer", "backend", "braked", "code", "function", "per_day", "resource", "units"}
)

// ForAuthorizer is a merged contract without what the authorizer does not read, which is most of it:
// callers wait for all that it decodes at a start.
func ForAuthorizer(doc []byte) ([]byte, error) {
	if _, err := Parse(doc); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(doc, &all); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	keep(all, decidedBy)
	for _, item := range object(all["paths"]) {
		for member, value := range object(item) {
			if methods[member] == "" {
				delete(object(item), member)
				continue
			}
			keep(object(value), operationDecidedBy)
			keep(object(object(value)["x-sekisho"]), countedBy)
		}
	}
	return reply.JSON(all)
}

func keep(members map[string]any, names []string) {
	for name := range members {
		if !slices.Contains(names, name) {
			delete(members, name)
		}
	}
}
