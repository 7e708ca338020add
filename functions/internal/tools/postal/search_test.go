package postal

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sekisho/functions/internal/tools/postal/spelling"
)

// The whole table takes half an hour: go test -run EveryPlace -every 1 -v ./functions/internal/tools/postal
var every = flag.Int("every", 1499, "check one of so many rows")

// TestEveryPlaceIsFoundByItsUsualSpellings spells rows of the whole table in all the ways
// that people write them.
func TestEveryPlaceIsFoundByItsUsualSpellings(t *testing.T) {
	tried, found := map[string]int{}, map[string]int{}
	for row := 0; row < data().rows; row += *every {
		for kind, addresses := range usual(data().place(row)) {
			for _, address := range addresses {
				tried[kind]++
				if finds(address, row) {
					found[kind]++
					continue
				}
				t.Errorf("%s: %s does not find %+v", kind, address, data().place(row))
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(tried)) {
		t.Logf("%-28s %6d of %6d", kind, found[kind], tried[kind])
	}
}

// finds says whether a search for an address has a row among its results. That it has when
// the names or the readings of the row contain the query, TestSearchIsSubstringSearch holds.
func finds(address string, row int) bool {
	city, town := data().city(row), data().town(row)
	reading, _ := spellReading(address)
	for v, q := range map[view]string{data().keys(): spelling.Key(withoutCode(address)), data().readings(): reading} {
		joined := v.prefectures.of(int(data().prefOf[city])) + v.cities.of(city) + v.towns.of(town)
		if q != "" && strings.Contains(joined, q) {
			return true
		}
	}
	rows, err := data().selection(SearchRequest{Address: address})
	return err == nil && rows.from <= row && rows.match.has(city, town)
}

// TestEveryKeyFitsTheCode: a change of spelling.Key without making the data again would hide
// places. The spellings of all rows have the key of the row, however they are searched.
func TestEveryKeyFitsTheCode(t *testing.T) {
	for _, names := range []names{data().prefectures, data().cities, data().towns} {
		for i := range names.key.len() {
			if text := names.textOf(i); spelling.Key(text) != names.key.of(i) {
				t.Fatalf("%s is stored as %s and searched as %s: run scripts/data/regenerate.sh", text, names.key.of(i), spelling.Key(text))
			}
		}
	}
}

// TestSearchIsSubstringSearch compares with joining every row's names.
func TestSearchIsSubstringSearch(t *testing.T) {
	joined := func(v view, row int, from int) string {
		city := data().city(row)
		return v.prefectures.of(int(data().prefOf[city])) + v.cities.of(city)[from:] + v.towns.of(data().town(row))
	}
	contains := func(v view, row int, q string) bool {
		county := data().afterCounty(v, data().city(row))
		return strings.Contains(joined(v, row, 0), q) || strings.Contains(joined(v, row, county), q)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := data().keys()
		if rapid.Bool().Draw(t, "by readings") {
			v = data().readings()
		}
		row := rapid.IntRange(0, data().rows-1).Draw(t, "row")
		text := joined(v, row, 0)
		cuts := slices.Concat([]int{0}, v.innerCuts(text), []int{len(text)})
		from := rapid.IntRange(0, len(cuts)-2).Draw(t, "from")
		q := text[cuts[from]:cuts[rapid.IntRange(from+1, len(cuts)-1).Draw(t, "to")]]
		found := data().containing(v, q)
		if !found.has(data().city(row), data().town(row)) {
			t.Fatalf("%q does not find %+v", q, data().place(row))
		}
		for i := range 200 { // a sample of other rows, spread over the table
			other := (row + i*617) % data().rows
			if got := found.has(data().city(other), data().town(other)); got != contains(v, other, q) {
				t.Fatalf("%q in %s: %v", q, joined(v, other, 0), got)
			}
		}
	})
}

// TestNoNameIsLongerThanItsCuts: containing looks at no more characters of a city's name.
func TestNoNameIsLongerThanItsCuts(t *testing.T) {
	for city := range data().cityCount {
		for _, v := range []view{data().keys(), data().readings()} {
			if name := v.prefectures.of(int(data().prefOf[city])) + v.cities.of(city); len(v.innerCuts(name))+1 >= maxCuts {
				t.Errorf("%s has more than %d characters", name, maxCuts)
			}
		}
	}
}
