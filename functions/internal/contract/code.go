package contract

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// MaxCoded is how many operations have a counter of their own. The counters are in the item
// of a key and month, which must stay below 1 KB: above it every admission costs two write
// units. A contract with more counted operations has none; the split by tool then comes out
// of the access log.
const MaxCoded = 40

// codeAlphabet are the characters of a code.
const codeAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func isCode(text string) bool { return len(text) == 2 && strings.Trim(text, codeAlphabet) == "" }

// CodeOf makes the code of an operation's counter of its ID, so that it stays the same
// whatever else the contract holds.
func CodeOf(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	n := h.Sum32() % (62 * 62)
	return string([]byte{codeAlphabet[n/62], codeAlphabet[n%62]})
}

// assignCodes gives each counted operation its code: the one that the contract declares, else
// one made of its ID. Two operations with one code would share a counter.
func assignCodes(operations []*Operation) error {
	counted := make([]*Operation, 0, len(operations))
	for _, op := range operations {
		if op.Units > 0 {
			counted = append(counted, op)
		}
	}
	if len(counted) > MaxCoded {
		for _, op := range counted {
			op.Code = ""
		}
		return nil
	}
	owner := map[string]string{}
	for _, op := range counted {
		if op.Code == "" {
			op.Code = CodeOf(op.ID)
		}
		if other, taken := owner[op.Code]; taken {
			return fmt.Errorf("operations %s and %s have the same code %q: add `code: XY`, two other letters or digits, to the x-sekisho of the newer one", other, op.ID, op.Code)
		}
		owner[op.Code] = op.ID
	}
	return nil
}

// CodeOf is the code of an operation's counter, "" where it has none.
func (a *API) CodeOf(id string) string {
	if op := a.Operation(id); op != nil {
		return op.Code
	}
	return ""
}

// Named gives figures that stand by codes the IDs of their operations. A code that the contract
// no longer has keeps its place.
func Named[T any](a *API, byCode map[string]T) map[string]T {
	named := make(map[string]T, len(byCode))
	for code, figure := range byCode {
		if op := a.ByCode(code); op != nil {
			code = op.ID
		}
		named[code] = figure
	}
	return named
}

// ByCode returns the operation whose counter has a code; nil if there is none.
func (a *API) ByCode(code string) *Operation {
	for _, op := range a.Operations {
		if code != "" && op.Code == code {
			return op
		}
	}
	return nil
}
