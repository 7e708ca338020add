package postal

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// composed makes half-width katakana full-width and full-width ASCII half-width,
// with every mark joined to its letter.
func composed(text string) string { return norm.NFKC.String(text) }

// matcher tells whether a row's address, or its reading, contains the query.
func (t table) matcher(query string) func(row int) bool {
	var finds []finder
	for _, q := range spellings(query) {
		finds = append(finds, t.finder(q, names.textOf))
	}
	if reading, ok := encodeKana(katakana(query)); ok {
		finds = append(finds, t.finder(reading, names.kanaOf))
	}
	return func(row int) bool {
		for i := range finds {
			if finds[i].match(t.city(row), t.town(row)) {
				return true
			}
		}
		return false
	}
}

// finder looks for one needle in prefecture+city+town without joining them: the
// joined prefecture and city are judged once per city, not once per row.
type finder struct {
	needle string
	town   func(i int) string
	whole  []bool     // by city: prefecture+city contains the needle already
	split  [][]string // by city: what the town must begin with, the rest being in the city's end
}

func (t table) finder(needle string, column func(names, int) string) finder {
	f := finder{
		needle: needle,
		town:   func(i int) string { return column(t.towns, i) },
		whole:  make([]bool, t.cityCount),
		split:  make([][]string, t.cityCount),
	}
	for city := range t.cityCount {
		name := column(t.prefectures, int(t.prefOf[city])) + column(t.cities, city)
		f.whole[city] = strings.Contains(name, needle)
		for cut := 1; cut < len(needle); cut++ {
			if strings.HasSuffix(name, needle[:cut]) {
				f.split[city] = append(f.split[city], needle[cut:])
			}
		}
	}
	return f
}

func (f *finder) match(city, town int) bool {
	if f.whole[city] {
		return true
	}
	name := f.town(town)
	if strings.Contains(name, f.needle) {
		return true
	}
	for _, rest := range f.split[city] {
		if strings.HasPrefix(name, rest) {
			return true
		}
	}
	return false
}

// spellings gives the query and its variants with ケ, ヶ and が, which place names
// are written with interchangeably (霞ヶ関 is 霞が関 in the data, 旭ヶ丘 is 旭ケ丘).
func spellings(query string) []string {
	all := []string{query}
	if !strings.ContainsAny(query, "ケヶが") {
		return all
	}
	for _, kana := range []string{"ケ", "ヶ", "が"} {
		variant := strings.NewReplacer("ケ", kana, "ヶ", kana, "が", kana).Replace(query)
		if variant != query {
			all = append(all, variant)
		}
	}
	return all
}

// katakana gives a query in the form of the readings: hiragana as katakana, digits
// and letters half-width.
func katakana(query string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'ぁ' && r <= 'ゖ':
			return r + 'ァ' - 'ぁ'
		case r >= '！' && r <= '～':
			return r - '！' + '!'
		case r == utf8.RuneError:
			return '?' // in no reading
		}
		return r
	}, query)
}
