// Package dice serves the operations of the function "dice".
package dice

import (
	"math/rand/v2"

	"sekisho/functions/internal/handler/rest"
)

// Operations lists what the function serves.
func Operations() map[string]rest.Operation {
	return map[string]rest.Operation{"dice.roll": rest.Simple(roll)}
}

type request struct {
	Count int `json:"count"`
	Sides int `json:"sides"`
}

type answer struct {
	Rolls []int `json:"rolls"`
	Sum   int   `json:"sum"`
}

// roll throws the dice. The schema has already checked the arguments and filled in sides.
func roll(in request) (answer, error) {
	out := answer{Rolls: make([]int, in.Count)}
	for i := range out.Rolls {
		out.Rolls[i] = 1 + rand.IntN(in.Sides)
		out.Sum += out.Rolls[i]
	}
	return out, nil
}
