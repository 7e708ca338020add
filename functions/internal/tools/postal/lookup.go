// Package postal answers from the whole table of Japan Post's postal codes
// (郵便番号データ), about 120,000 of them, embedded. Codes of single big receivers
// (大口事業所個別番号) are another file of Japan Post's and not included.
// Source, licence and date of the data: scripts/data/README.md.
package postal

import (
	"iter"
	"strconv"

	"sekisho/functions/internal/tools/postal/spelling"
	"sekisho/functions/internal/tools/toolerr"
)

// Place is one town of a postal code. Readings are in full-width katakana; that of a few
// towns is not known and empty. Town is empty where addresses have none (a village that is
// one whole, house numbers straight after the city's name) and where the code is for all
// that has no code of its own in the city.
type Place struct {
	PostalCode     string `json:"postal_code"`
	Prefecture     string `json:"prefecture"`
	City           string `json:"city"`
	Town           string `json:"town"`
	PrefectureKana string `json:"prefecture_kana"`
	CityKana       string `json:"city_kana"`
	TownKana       string `json:"town_kana"`
}

// LookupRequest is the input of postal.lookup.
type LookupRequest struct {
	PostalCode string `json:"postal_code"`
}

// LookupResponse is the output of postal.lookup. Addresses is never empty.
type LookupResponse struct {
	PostalCode string  `json:"postal_code"`
	Formatted  string  `json:"formatted"`
	Addresses  []Place `json:"addresses"`
}

// Lookup finds the places of a postal code, in the forms that ParseCode accepts. A
// code may have several towns, in several cities and even two prefectures. The
// error is toolerr.InvalidArgument for what is no code, toolerr.NotFound for a code
// that is not in use.
func Lookup(req LookupRequest) (LookupResponse, error) {
	digits, err := ParseCode(req.PostalCode)
	if err != nil {
		return LookupResponse{}, err
	}
	code, _ := strconv.Atoi(digits) // seven digits, always a number
	t := data()
	first := t.firstFrom(code)
	end := first
	for end < t.rows && t.code(end) == code {
		end++
	}
	formatted := digits[:3] + "-" + digits[3:]
	if first == end {
		return LookupResponse{}, toolerr.Missing("postal_code",
			"There is no postal code %s in the data (codes of single companies and offices are not included). Check the digits with the user, or find the code from the address with postal.search.", formatted)
	}
	places := make([]Place, 0, end-first)
	for row := first; row < end; row++ {
		places = append(places, t.place(row))
	}
	return LookupResponse{PostalCode: digits, Formatted: formatted, Addresses: places}, nil
}

// place spells out one row.
func (t *table) place(row int) Place {
	city, town := t.city(row), t.town(row)
	pref := int(t.prefOf[city])
	return Place{
		PostalCode:     codeText(t.code(row)),
		Prefecture:     t.prefectures.textOf(pref),
		City:           t.cities.textOf(city),
		Town:           t.towns.textOf(town),
		PrefectureKana: spelling.DecodeReading(t.prefectures.reading.of(pref)),
		CityKana:       spelling.DecodeReading(t.cities.reading.of(city)),
		TownKana:       spelling.DecodeReading(t.towns.reading.of(town)),
	}
}

// codeText writes a code with its leading zeros.
func codeText(code int) string {
	var b [codeDigits]byte
	for i := codeDigits - 1; i >= 0; i-- {
		b[i] = '0' + byte(code%10)
		code /= 10
	}
	return string(b[:])
}

// All gives every place in order of code, for checks of the data.
func All() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		t := data()
		for row := range t.rows {
			if !yield(t.place(row)) {
				return
			}
		}
	}
}
