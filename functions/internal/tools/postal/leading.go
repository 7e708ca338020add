package postal

import (
	"strings"
	"unicode/utf8"
)

// address is a query that begins with a place, and goes on with what follows a town: 丁目,
// a number, a building.
type address struct {
	rows rowSet
	// end is where the place ends in the query; 0 if it begins with no place.
	end int
	// city is one that the query begins with. prefEnd and cityEnd are where the names of its
	// prefecture and itself end; 0 if there are none.
	city, prefEnd, cityEnd int
}

// leading finds the longest beginning of q that is a place: a town, alone or after
// prefecture and city or a part of them.
func (t *table) leading(v view, q string) address {
	offsets, from, found := t.afterCities(v, q)
	towns := t.townsAt(v, q, offsets, found.prefEnd)
	endOf := func(city, town int) (end int) {
		for i := range bitsOf(from[city]) {
			if towns[i].has(town) {
				end = max(end, offsets[i]+len(v.towns.of(town)))
			}
		}
		return end
	}
	candidates := v.towns.none()
	for i := range towns {
		candidates.addAll(towns[i])
	}
	found.rows = rowSet{cities: make([]bool, t.cityCount), towns: candidates}
	found.rows.exact = func(city, town int) bool { return endOf(city, town) > found.end }
	for row := t.next(found.rows, 0); row < t.rows; row = t.next(found.rows, row) {
		found.end = endOf(t.city(row), t.town(row))
	}
	longest := found.end
	found.rows.exact = func(city, town int) bool { return longest > 0 && endOf(city, town) == longest }
	return found
}

// maxOffsets bounds how many places after a city's name are tried; a query has two or three.
const maxOffsets = 64

// afterCities gives the offsets in q at which a town can begin: 0 for a town alone, the end of
// the prefecture, and the ends of the names of cities that q begins with. Bit i of from[city]: offsets[i] is for it.
func (t *table) afterCities(v view, q string) (offsets []int, from []uint64, found address) {
	offsets, from = []int{0}, make([]uint64, t.cityCount)
	for city := range t.cityCount {
		from[city] = 1
		name := v.cities.of(city)
		base := 0
		if pref := v.prefectures.of(int(t.prefOf[city])); strings.HasPrefix(q, pref) {
			base = len(pref)
			found.prefEnd = base
			from[city] |= 1 << indexOf(&offsets, base)
		}
		for _, start := range [...]int{0, t.afterCounty(v, city), t.afterCity(v, city)} {
			if !strings.HasPrefix(q[base:], name[start:]) {
				continue
			}
			end := base + len(name) - start
			if end > found.cityEnd {
				found.city, found.cityEnd = city, end
			}
			for _, offset := range [...]int{end, end + streets(q[end:])} {
				i := indexOf(&offsets, offset)
				if i < maxOffsets {
					from[city] |= 1 << i
				}
			}
		}
	}
	return offsets, from, found
}

// indexOf gives the index of n in a list, adding it if it is new.
func indexOf(list *[]int, n int) int {
	for i, other := range *list {
		if other == n {
			return i
		}
	}
	*list = append(*list, n)
	return len(*list) - 1
}

// streets is the length of the streets by which addresses of Kyoto lead to a town:
// 寺町通御池上る is north on Teramachi from Oike.
func streets(q string) int {
	length := 0
	for _, turn := range []string{"上ル", "下ル", "上ガル", "下ガル", "東入", "西入", "東入ル", "西入ル"} {
		if at := strings.LastIndex(q, turn); at >= 0 {
			length = max(length, at+len(turn))
		}
	}
	return length
}

// townsAt gives for each offset the towns that q has there. Those up to prefEnd are not after
// the name of a city.
func (t *table) townsAt(v view, q string, offsets []int, prefEnd int) []bitset {
	at := make([]bitset, len(offsets))
	for i := range at {
		at[i] = v.towns.none()
	}
	for town := range v.towns.len() {
		name := v.towns.of(town)
		for i, offset := range offsets {
			if strings.HasPrefix(q[offset:], name) && follows(q[offset+len(name):], name, offset > prefEnd) {
				at[i].add(town)
			}
		}
	}
	return at
}

// follows says whether rest can be what follows a town in an address. After a name that
// could be the beginning of another one, only a number can.
func follows(rest, town string, afterCity bool) bool {
	switch {
	case town == "":
		return afterCity && isNumber(rest)
	case rest == "":
		return true
	case isDigit(rest[0]) && isDigit(town[len(town)-1]):
		return false // in the middle of a number
	}
	return isNumber(rest) || afterCity && (utf8.RuneCountInString(town) > 1 || isBuilding(rest))
}

// isNumber says whether text begins as what follows a town does: with a number, a hyphen,
// or the word for one (番地, 号, 丁目).
func isNumber(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r >= '0' && r <= '9' || strings.ContainsRune("-番号丁無", r)
}

// isBuilding says whether text begins in letters or katakana that are not a particle in the
// name of a town (ガ, ノ, ツ).
func isBuilding(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r >= 'A' && r <= 'Z' || r >= 'ア' && r <= 'ン' && !strings.ContainsRune("ガノツ", r)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
