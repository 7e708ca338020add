package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"sekisho/functions/internal/tools/postal/spelling"
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
	out := []byte("SKPOST2\n")
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

// appendNames writes a table of names: their keys, their readings, and as they are written
// those that are not like their key.
func appendNames(out []byte, table []name) ([]byte, error) {
	var keys, readings, texts []string
	var unlike []byte
	for i, n := range table {
		key := spelling.Key(n.text)
		reading, ok := spelling.EncodeReading(n.kana)
		if !ok {
			return nil, fmt.Errorf("the reading of %q is neither katakana nor ASCII: %q", n.text, n.kana)
		}
		keys, readings = append(keys, key), append(readings, reading)
		if key != n.text {
			unlike, texts = put24(unlike, i), append(texts, n.text)
		}
	}
	for _, column := range [][]string{keys, readings} {
		var err error
		if out, err = appendColumn(out, column); err != nil {
			return nil, err
		}
	}
	return appendColumn(append(put24(out, len(texts)), unlike...), texts)
}

// appendColumn writes a list of strings: their offsets, then the strings.
func appendColumn(out []byte, column []string) ([]byte, error) {
	all := strings.Join(column, "")
	if len(all) >= 1<<24 {
		return nil, fmt.Errorf("names of %d bytes do not fit 3-byte offsets", len(all))
	}
	at := 0
	out = put24(out, at)
	for _, text := range column {
		at += len(text)
		out = put24(out, at)
	}
	return append(out, all...), nil
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
