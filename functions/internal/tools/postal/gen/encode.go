package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// row is one town of one postal code, with full-width katakana readings.
type row struct {
	code                               string // seven digits
	prefecture, city, town             string
	prefectureKana, cityKana, townKana string
}

func compareRows(a, b row) int {
	return cmp.Or(
		cmp.Compare(a.code, b.code),
		cmp.Compare(a.prefecture, b.prefecture), cmp.Compare(a.city, b.city), cmp.Compare(a.town, b.town),
		cmp.Compare(a.prefectureKana, b.prefectureKana), cmp.Compare(a.cityKana, b.cityKana), cmp.Compare(a.townKana, b.townKana),
	)
}

// name is one entry of a string table; parent is the prefecture of a city.
type name struct{ parent, text, kana string }

func (r row) prefName() name { return name{text: r.prefecture, kana: r.prefectureKana} }
func (r row) cityName() name { return name{parent: r.prefecture, text: r.city, kana: r.cityKana} }
func (r row) townName() name { return name{text: r.town, kana: r.townKana} }

// encode writes the layout that package postal reads (see its table.go). The same
// set of rows gives the same bytes, in whatever order and however often it holds
// them: rows and names are sorted, doubles dropped.
func encode(rows []row) ([]byte, error) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, compareRows)
	rows = slices.Compact(rows)
	prefs, _ := index(rows, row.prefName)
	cities, cityAt := index(rows, row.cityName)
	towns, townAt := index(rows, row.townName)
	if len(prefs) > 1<<8 || len(cities) > 1<<16 || len(towns) > 1<<24 {
		return nil, fmt.Errorf("%d prefectures, %d cities, %d towns do not fit the layout", len(prefs), len(cities), len(towns))
	}

	var codes, cityOf, townOf, prefOf []byte
	for _, r := range rows {
		code, err := codeNumber(r.code)
		if err != nil {
			return nil, err
		}
		codes = put24(codes, code)
		cityOf = binary.LittleEndian.AppendUint16(cityOf, uint16(cityAt[r.cityName()]))
		townOf = put24(townOf, townAt[r.townName()])
	}
	prefByText := map[string]int{}
	for i, p := range prefs {
		prefByText[p.text] = i
	}
	for _, c := range cities {
		prefOf = append(prefOf, byte(prefByText[c.parent]))
	}
	body := slices.Concat(codes, cityOf, townOf, prefOf)
	for _, table := range [][]name{prefs, cities, towns} {
		var err error
		if body, err = appendNames(body, table); err != nil {
			return nil, err
		}
	}
	out := []byte("SKPOST1\n")
	for _, n := range []int{len(rows), len(prefs), len(cities), len(towns)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	return append(out, body...), nil
}

// index collects the distinct names of a kind, sorted, and where each one stands.
func index(rows []row, kind func(row) name) ([]name, map[name]int) {
	at := map[name]int{}
	for _, r := range rows {
		at[kind(r)] = 0
	}
	sorted := make([]name, 0, len(at))
	for n := range at {
		sorted = append(sorted, n)
	}
	slices.SortFunc(sorted, func(a, b name) int {
		return cmp.Or(cmp.Compare(a.parent, b.parent), cmp.Compare(a.text, b.text), cmp.Compare(a.kana, b.kana))
	})
	for i, n := range sorted {
		at[n] = i
	}
	return sorted, at
}

// appendNames writes a string table: offsets of the text, of the kana, both blobs.
func appendNames(out []byte, table []name) ([]byte, error) {
	var text, kana []byte
	textAt, kanaAt := put24(nil, 0), put24(nil, 0)
	for _, n := range table {
		text = append(text, n.text...)
		reading, err := encodeKana(n.kana)
		if err != nil {
			return nil, fmt.Errorf("reading of %q: %w", n.text, err)
		}
		kana = append(kana, reading...)
		textAt, kanaAt = put24(textAt, len(text)), put24(kanaAt, len(kana))
	}
	if len(text) >= 1<<24 || len(kana) >= 1<<24 {
		return nil, fmt.Errorf("names of %d and %d bytes do not fit 3-byte offsets", len(text), len(kana))
	}
	return slices.Concat(out, textAt, kanaAt, text, kana), nil
}

// encodeKana writes one byte a character: katakana U+30A0 to U+311F less U+3020,
// ASCII as it is.
func encodeKana(text string) ([]byte, error) {
	var out []byte
	for _, r := range text {
		switch {
		case r > ' ' && r < 0x80:
			out = append(out, byte(r))
		case r > 0x30A0 && r <= 0x30FF:
			out = append(out, byte(r-0x3020))
		default:
			return nil, fmt.Errorf("%q is neither katakana nor ASCII", r)
		}
	}
	return out, nil
}

func codeNumber(code string) (int, error) {
	n := 0
	for _, c := range []byte(code) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is not a postal code", code)
		}
		n = n*10 + int(c-'0')
	}
	if len(code) != 7 {
		return 0, fmt.Errorf("%q is not a postal code", code)
	}
	return n, nil
}

func put24(out []byte, n int) []byte { return append(out, byte(n), byte(n>>8), byte(n>>16)) }
