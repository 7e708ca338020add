package postal

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"
)

// view is one way to compare all names: by their keys or by their readings.
type view struct {
	prefectures, cities, towns column
	county, ward               string // what a county ends with, and a city that has wards
	bytewise                   bool   // a character is a byte, and two can look like one of UTF-8
}

func (t *table) keys() view {
	return view{t.prefectures.key, t.cities.key, t.towns.key, "郡", "市", false}
}

// readings has no end of a city with wards: シ is in too many names.
func (t *table) readings() view {
	county, _ := spellReading("グン")
	return view{t.prefectures.reading, t.cities.reading, t.towns.reading, county, "", true}
}

// maxCuts is how many characters of a query the end of a city's name can be: more than
// the longest name has.
const maxCuts = 64

// containing gives the rows whose prefecture+city+town contains q; after the prefecture,
// the county (郡) may be missing. Rows are not joined one by one: all towns are searched
// at once, and prefecture and city are judged once per city.
func (t *table) containing(v view, q string) rowSet {
	inTown := v.towns.containing(q)
	whole := make([]bool, t.cityCount)
	split := make([]uint64, t.cityCount) // bit i: the city ends with q[:cuts[i]]
	cuts := v.innerCuts(q)
	used := uint64(0)
	needle, joined := []byte(q), []byte(nil)
	for city := range t.cityCount {
		pref, name := v.prefectures.of(int(t.prefOf[city])), v.cities.of(city)
		for _, from := range [...]int{0, t.afterCounty(v, city)} {
			joined = append(append(joined[:0], pref...), name[from:]...)
			whole[city] = whole[city] || bytes.Contains(joined, needle)
			for i, cut := range cuts {
				if bytes.HasSuffix(joined, needle[:cut]) {
					split[city] |= 1 << i
				}
			}
		}
		used |= split[city]
	}
	candidates := v.towns.none()
	candidates.addAll(inTown)
	var begins [maxCuts]bitset
	for i := range bitsOf(used) {
		begins[i] = v.towns.beginning(q[cuts[i]:])
		candidates.addAll(begins[i])
	}
	return rowSet{cities: whole, towns: candidates, exact: func(city, town int) bool {
		if inTown.has(town) {
			return true
		}
		for i := range bitsOf(split[city]) {
			if begins[i].has(town) {
				return true
			}
		}
		return false
	}}
}

// innerCuts are the places between the characters of q, the first maxCuts of them.
func (v view) innerCuts(q string) []int {
	cuts := make([]int, 0, maxCuts)
	for at := 1; at < len(q) && len(cuts) < maxCuts; at++ {
		if v.bytewise || utf8.RuneStart(q[at]) {
			cuts = append(cuts, at)
		}
	}
	return cuts
}

// afterCounty is where the name of a city goes on after its 郡; 0 if it is in none.
func (t *table) afterCounty(v view, city int) int {
	key := t.cities.key.of(city)
	if !strings.HasSuffix(key, "町") && !strings.HasSuffix(key, "村") || !strings.Contains(key, "郡") {
		return 0
	}
	if at := strings.Index(v.cities.of(city), v.county); at > 0 {
		return at + len(v.county)
	}
	return 0
}

// afterCity is where the ward begins in the name of a city that has wards, else 0.
func (t *table) afterCity(v view, city int) int {
	name := v.cities.of(city)
	if v.ward == "" || !strings.HasSuffix(name, "区") {
		return 0
	}
	if at := strings.Index(name, v.ward); at > 0 {
		return at + len(v.ward)
	}
	return 0
}

// none is an empty set of indexes into a column.
func (c column) none() bitset { return make(bitset, c.len()/64+1) }

// containing gives the strings that have q in them, beginning those that begin with it.
func (c column) containing(q string) bitset { return c.search(q, false) }
func (c column) beginning(q string) bitset  { return c.search(q, true) }

// search looks through all strings at once.
func (c column) search(q string, atBegin bool) bitset {
	found := c.none()
	for from := 0; ; {
		at := strings.Index(c.all[from:], q)
		if at < 0 {
			return found
		}
		at += from
		from = at + 1
		i := sort.Search(c.len(), func(i int) bool { return u24(c.at, i+1) > at })
		end := u24(c.at, i+1)
		if at+len(q) > end || atBegin && at > u24(c.at, i) {
			continue // it goes on in the next string, or is inside of this one
		}
		found.add(i)
		from = end
	}
}
