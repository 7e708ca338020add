package postal

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"sekisho/functions/internal/tools/postal/spelling"
)

// What scripts/data/regenerate.sh printed when the data file was last made; an
// update of the data changes these with it.
const (
	wantSHA256      = "53fa57ac5c619f22a1c78a792f743a4eee7946afb8fa56d32908100911aff3cc"
	wantRows        = 124130
	wantCodes       = 120663
	wantCities      = 1892
	wantPrefectures = 47
)

func TestEmbeddedDataIsTheOneThatWasReviewed(t *testing.T) {
	sum := sha256.Sum256([]byte(embedded))
	if got := hex.EncodeToString(sum[:]); got != wantSHA256 {
		t.Errorf("sha256 of postal.bin is %s, want %s", got, wantSHA256)
	}
	all, codes, prefectures := data(), map[int]bool{}, map[string]bool{}
	for row := range all.rows {
		codes[all.code(row)] = true
		prefectures[all.place(row).Prefecture] = true
	}
	if all.rows != wantRows || len(codes) != wantCodes || all.cityCount != wantCities || len(prefectures) != wantPrefectures {
		t.Errorf("%d rows, %d codes, %d cities, %d prefectures", all.rows, len(codes), all.cityCount, len(prefectures))
	}
}

func TestEveryRowIsSound(t *testing.T) {
	all, noReading := data(), 0
	for row := range all.rows {
		if row > 0 && all.code(row-1) > all.code(row) {
			t.Fatalf("row %d is out of order", row)
		}
		p := all.place(row)
		text := p.Prefecture + p.City + p.Town
		if p.Prefecture == "" || p.City == "" || p.PrefectureKana == "" || p.CityKana == "" || !utf8.ValidString(text) {
			t.Fatalf("row %d: %+v", row, p)
		}
		if strings.ContainsAny(text, " 　") {
			t.Fatalf("row %d has a space, which a search folds away: %+v", row, p)
		}
		if (p.Town == "") != (p.TownKana == "") {
			noReading++
		}
		for _, reading := range []string{p.PrefectureKana, p.CityKana, p.TownKana} {
			if stored, ok := spelling.EncodeReading(reading); !ok || spelling.DecodeReading(stored) != reading {
				t.Fatalf("row %d: reading %q does not survive", row, reading)
			}
		}
	}
	// 656-0461 has no reading in the source.
	if noReading != 1 {
		t.Errorf("%d towns without a reading, want 1", noReading)
	}
}
