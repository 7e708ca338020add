// Package spelling compares names, to suggest the one that was meant.
package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Edits is the Levenshtein distance: how many characters to insert, delete or replace. It takes
// time by the product of the lengths, so callers bound them.
func Edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(y)]
}

// longest is how many characters of a name are compared.
const longest = 64

// Nearest returns the names that were most likely meant, best first, at most so many: those that
// differ in case only, or in a third of their characters at most.
func Nearest(name string, names []string, most int) []string {
	if utf8.RuneCountInString(name) > longest {
		return nil
	}
	type candidate struct {
		name  string
		edits int
	}
	var near []candidate
	written := strings.ToLower(name)
	for _, n := range names {
		// A difference in length is that many edits at least.
		allowed := max(len(n), len(name)) / 3
		if d := len(n) - len(name); d > allowed || -d > allowed {
			continue
		}
		if e := Edits(written, strings.ToLower(n)); e <= allowed {
			near = append(near, candidate{n, e})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	found := make([]string, 0, most)
	for _, c := range near[:min(most, len(near))] {
		found = append(found, c.name)
	}
	return found
}

// fewNames are listed in full.
const fewNames = 30

// Known says which names there are besides a wrong one, as the end of a sentence with its full
// stop: all of them if they are few, else those that were most likely meant.
func Known(name string, names []string) string {
	if len(names) <= fewNames {
		return "there are: " + strings.Join(names, ", ") + "."
	}
	if near := Nearest(name, names, 3); len(near) > 0 {
		return DidYouMean(near)
	}
	return fmt.Sprintf("there are %d, none like it.", len(names))
}

// DidYouMean asks, as the end of a sentence, for one of one or more names.
func DidYouMean(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return "did you mean " + names[0] + "?"
	}
	return "did you mean " + strings.Join(names[:last], ", ") + " or " + names[last] + "?"
}
