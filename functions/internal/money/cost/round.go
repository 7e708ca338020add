package cost

import (
	"math/big"
	"slices"
)

// Apportion rounds amounts to a number of decimals such that a column adds up to the total
// printed below it: the rounded amounts add up to the rounded sum. It rounds all amounts down
// and gives what is left to those with the largest remainders (the first among equals).
// Amounts are 0 or more; results are in units of the last decimal.
func Apportion(amounts []*big.Rat, decimals int) (rounded []int64, total int64) {
	scale := new(big.Rat).SetInt(pow10(decimals))
	sum := new(big.Rat)
	remainders := make([]*big.Rat, len(amounts))
	for i, amount := range amounts {
		sum.Add(sum, amount)
		scaled := new(big.Rat).Mul(amount, scale)
		whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
		remainders[i] = scaled.Sub(scaled, new(big.Rat).SetInt(whole))
		rounded = append(rounded, whole.Int64())
		total -= whole.Int64()
	}
	sum.Mul(sum, scale)
	half := sum.Add(sum, big.NewRat(1, 2))
	rest := new(big.Int).Quo(half.Num(), half.Denom()).Int64()
	order := make([]int, len(amounts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return remainders[b].Cmp(remainders[a]) })
	for _, i := range order[:min(len(order), int(rest+total))] {
		rounded[i]++
	}
	return rounded, rest
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// Shares splits a whole in proportion to weights, rounded as by Apportion. If all weights
// are 0, so are all shares.
func Shares(whole *big.Rat, weights []*big.Rat, decimals int) []int64 {
	sum := new(big.Rat)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	parts := make([]*big.Rat, len(weights))
	for i, w := range weights {
		parts[i] = new(big.Rat)
		if sum.Sign() > 0 {
			parts[i].Quo(parts[i].Mul(whole, w), sum)
		}
	}
	rounded, _ := Apportion(parts, decimals)
	return rounded
}
