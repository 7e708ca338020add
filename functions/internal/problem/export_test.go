package problem

import (
	"maps"
	"slices"
)

// Codes lists all codes in order.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds)) }
