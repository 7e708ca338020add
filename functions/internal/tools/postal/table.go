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
//	header   magic "SKPOST2\n", then 5 uint32: rows, prefectures, cities, towns,
//	         CRC-32 (IEEE) of all that follows
//	codes    rows × 3 bytes, ascending
//	cityOf   rows × 2 bytes, index into cities
//	townOf   rows × 3 bytes, index into towns
//	prefOf   cities × 1 byte, index into prefectures
//	then the tables of prefectures, cities and towns, each:
//	         the keys (see spelling.Key), the readings (see spelling.DecodeReading),
//	         3 bytes m, m × 3 bytes of ascending indexes, and m texts: the names that
//	         are not written like their key
//
// A column of n strings is (n+1) × 3 bytes of offsets, then the strings.
//
//go:embed postal.bin
var embedded string

const (
	magic      = "SKPOST2\n"
	headerSize = len(magic) + 5*4
)

// column is a list of strings.
type column struct {
	at  string // offsets into all, 3 bytes each, one more than there are strings
	all string
}

func (c column) of(i int) string { return c.all[u24(c.at, i):u24(c.at, i+1)] }
func (c column) len() int        { return len(c.at)/3 - 1 }

// names is a table of names. Search compares keys and readings; most names are written
// like their key, so that only the others are kept besides.
type names struct {
	key, reading column
	unlike       string // indexes of the names that are not like their key
	text         column // those names
}

// textOf gives a name as it is written.
func (n names) textOf(i int) string {
	at := sort.Search(n.text.len(), func(j int) bool { return u24(n.unlike, j) >= i })
	if at < n.text.len() && u24(n.unlike, at) == i {
		return n.text.of(at)
	}
	return n.key.of(i)
}

// table is a view of the embedded data; it holds slices of it and owns nothing.
type table struct {
	rows, cityCount               int
	codes, cityOf, townOf, prefOf string
	prefectures, cities, towns    names
}

// data is the embedded table, cut into its parts when first asked for.
var data = sync.OnceValue(func() *table { return open(embedded) })

// open cuts raw into its parts. The test suite checks the embedded data against
// its checksum and walks every row, so reading needs no checks of its own.
func open(raw string) *table {
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
	cutColumn := func(n int) column {
		at := cut(3 * (n + 1))
		return column{at: at, all: cut(u24(at, n))}
	}
	cutNames := func(n int) names {
		t := names{key: cutColumn(n), reading: cutColumn(n)}
		unlike := u24(cut(3), 0)
		t.unlike, t.text = cut(3*unlike), cutColumn(unlike)
		return t
	}
	t := &table{rows: count(0), cityCount: count(2)}
	t.codes, t.cityOf, t.townOf = cut(3*t.rows), cut(2*t.rows), cut(3*t.rows)
	t.prefOf = cut(t.cityCount)
	t.prefectures, t.cities, t.towns = cutNames(count(1)), cutNames(t.cityCount), cutNames(count(3))
	return t
}

func (t *table) code(row int) int { return u24(t.codes, row) }
func (t *table) city(row int) int { return u16(t.cityOf, row) }
func (t *table) town(row int) int { return u24(t.townOf, row) }

// firstFrom is the first row whose code is at least code.
func (t *table) firstFrom(code int) int {
	return sort.Search(t.rows, func(row int) bool { return t.code(row) >= code })
}

func u16(s string, i int) int { return int(s[2*i]) | int(s[2*i+1])<<8 }
func u24(s string, i int) int { return int(s[3*i]) | int(s[3*i+1])<<8 | int(s[3*i+2])<<16 }
