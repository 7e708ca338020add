package postal

import (
	"math/bits"
	"slices"
)

// rowSet says which rows of the table are meant, in a form that a walk through all rows can
// pass over most of them by a bit.
type rowSet struct {
	cities []bool                    // by city: all rows of it; nil: all rows there are
	towns  bitset                    // in other cities, no rows but of these towns
	exact  func(city, town int) bool // and of those the ones for which this is true
}

// either is the rows of both sets.
func either(a, b rowSet) rowSet {
	for city, all := range b.cities {
		a.cities[city] = a.cities[city] || all
	}
	exactA, exactB := a.exact, b.exact
	a.towns.addAll(b.towns)
	a.exact = func(city, town int) bool { return exactA(city, town) || exactB(city, town) }
	return a
}

// has says whether a row is meant.
func (of rowSet) has(city, town int) bool {
	return of.cities[city] || of.towns.has(town) && of.exact(city, town)
}

// next is the first row of a set from a row on, or t.rows.
func (t *table) next(of rowSet, from int) int {
	switch {
	case of.cities == nil:
		return from
	case of.towns.empty() && !slices.Contains(of.cities, true):
		return t.rows
	}
	for row := from; row < t.rows; row++ {
		if of.has(t.city(row), t.town(row)) {
			return row
		}
	}
	return t.rows
}

// bitset is a set of small numbers.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }
func (b bitset) add(i int)      { b[i>>6] |= 1 << (i & 63) }

func (b bitset) addAll(other bitset) {
	for i, word := range other {
		b[i] |= word
	}
}

func (b bitset) empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// bitsOf goes through the numbers of the bits that are set in a word.
func bitsOf(word uint64) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for ; word != 0; word &= word - 1 {
			if !yield(bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
