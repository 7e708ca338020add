package postal

import (
	_ "embed"
	"sort"
	"strings"
	"sync"
)

// The data is embedded as it is used: fixed-width columns and string tables that
// are read in place. Nothing is unpacked, so there is no start-up work and no heap;
// the pages are read in when a lookup touches them. It is not compressed because
// unpacking it would cost more than every lookup of a short-lived instance, and the
// zip that Lambda gets compresses it anyway.
//
// Layout, all numbers little-endian (gen/encode.go writes it):
//
//	header   magic "SKPOST1\n", then 5 uint32: rows, prefectures, cities, towns,
//	         CRC-32 (IEEE) of all that follows
//	codes    rows × 3 bytes, ascending
//	cityOf   rows × 2 bytes, index into cities
//	townOf   rows × 3 bytes, index into towns
//	prefOf   cities × 1 byte, index into prefectures
//	then the tables of prefectures, cities and towns, each:
//	         (n+1) × 3 bytes of text offsets, (n+1) × 3 bytes of kana offsets,
//	         text (UTF-8), kana (see kana.go)
//
//go:embed postal.bin
var embedded string

const (
	magic      = "SKPOST1\n"
	headerSize = len(magic) + 5*4
)

// names is a table of names with their readings.
type names struct {
	textAt, kanaAt string // offsets, 3 bytes each, one more than there are names
	text, kana     string
}

func (n names) textOf(i int) string { return n.text[u24(n.textAt, i):u24(n.textAt, i+1)] }
func (n names) kanaOf(i int) string { return n.kana[u24(n.kanaAt, i):u24(n.kanaAt, i+1)] }

// table is a view of the embedded data; it holds slices of it and owns nothing.
type table struct {
	rows, cityCount               int
	codes, cityOf, townOf, prefOf string
	prefectures, cities, towns    names
}

// data is the embedded table, cut into its parts when first asked for.
var data = sync.OnceValue(func() table { return open(embedded) })

// open cuts raw into its parts. The test suite checks the embedded data against
// its checksum and walks every row, so reading needs no checks of its own.
func open(raw string) table {
	if !strings.HasPrefix(raw, magic) {
		panic("postal: the embedded data has another layout than this code; run scripts/data/regenerate.sh")
	}
	count := func(i int) int {
		at := raw[len(magic)+4*i:]
		return int(at[0]) | int(at[1])<<8 | int(at[2])<<16 | int(at[3])<<24
	}
	rest := raw[headerSize:]
	cut := func(n int) string {
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	cutNames := func(n int) names {
		t := names{textAt: cut(3 * (n + 1)), kanaAt: cut(3 * (n + 1))}
		t.text, t.kana = cut(u24(t.textAt, n)), cut(u24(t.kanaAt, n))
		return t
	}
	t := table{rows: count(0), cityCount: count(2)}
	t.codes, t.cityOf, t.townOf = cut(3*t.rows), cut(2*t.rows), cut(3*t.rows)
	t.prefOf = cut(t.cityCount)
	t.prefectures, t.cities, t.towns = cutNames(count(1)), cutNames(t.cityCount), cutNames(count(3))
	return t
}

func (t table) code(row int) int { return u24(t.codes, row) }
func (t table) city(row int) int { return u16(t.cityOf, row) }
func (t table) town(row int) int { return u24(t.townOf, row) }

// firstFrom is the first row whose code is at least code.
func (t table) firstFrom(code int) int {
	return sort.Search(t.rows, func(row int) bool { return t.code(row) >= code })
}

func u16(s string, i int) int { return int(s[2*i]) | int(s[2*i+1])<<8 }
func u24(s string, i int) int { return int(s[3*i]) | int(s[3*i+1])<<8 | int(s[3*i+2])<<16 }
