package chargeback

import (
	"cmp"
	"slices"
)

// Sum is what some rows add up to.
type Sum struct {
	// Row has the texts of the first of the rows, and their figures added up.
	Row
	// Rows is how many rows were added up.
	Rows int
}

// Succeeded is the units that were charged and not given back.
func (s Sum) Succeeded() int64 { return s.Charged - s.Refunded }

func (s *Sum) add(r Row) {
	if s.Rows == 0 {
		s.Row = r
	} else {
		s.Charged += r.Charged
		s.Refunded += r.Refunded
		s.Denied += r.Denied
		s.Share += r.Share
		s.Cents += r.Cents
	}
	s.Rows++
}

// Total adds up all rows.
func (s Sheet) Total() (total Sum) {
	for _, r := range s.Rows {
		total.add(r)
	}
	return total
}

// By adds up the rows that have the same name, the largest share first.
func (s Sheet) By(name func(Row) string) []Sum {
	at := map[string]int{}
	var sums []Sum
	for _, r := range s.Rows {
		i, ok := at[name(r)]
		if !ok {
			i = len(sums)
			at[name(r)] = i
			sums = append(sums, Sum{})
		}
		sums[i].add(r)
	}
	slices.SortStableFunc(sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Charged, a.Charged), cmp.Compare(b.Denied, a.Denied))
	})
	return sums
}

// Merge adds up sums, as the last line of a table that shows only the largest.
func Merge(sums []Sum) (all Sum) {
	for _, s := range sums {
		n := all.Rows + s.Rows
		all.add(s.Row)
		all.Rows = n
	}
	return all
}
