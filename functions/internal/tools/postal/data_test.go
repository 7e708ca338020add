package postal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sekisho/functions/internal/tools/postal/spelling"
)

// What scripts/data/regenerate.sh printed when the data file was last made; an
// update of the data changes these with it.
const (
	wantSHA256      = "784fef7d1297fd82cb5143fe398564413bde7cd701af543a7eeb34883bf40937"
	wantRows        = 124143
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
	// 656-0461 has no reading in the source, nor have the three towns of 441-1324.
	if noReading != 4 {
		t.Errorf("%d towns without a reading, want 4", noReading)
	}
}

// TestACodeWithoutATownHasNone: these are the rows without a town whose code is not one of
// those that Japan Post gives to the rest of a municipality, which end with 00: villages that
// are one whole, and house numbers straight after the city. A new one may have lost its town.
func TestACodeWithoutATownHasNone(t *testing.T) {
	var got []string
	for p := range All() {
		if p.Town == "" && !strings.HasSuffix(p.PostalCode, "00") {
			got = append(got, p.PostalCode)
		}
	}
	want := strings.Fields("1000301 1000601 1001301 1001701 3060433 3841201 3841211 3901301 3940091 3950601 " +
		"3950701 3970201 3991601 3991801 3994301 3994511 3997201 3998501 4010320 4090142 4090211 4150001 5013701 5032121 " +
		"6492211 6691536 7170201 7314301 7613110 7660001 7660002 7690210 7812110 7816410 7960088 8113213 8550038 8710099 " +
		"8721501 8791506 9013601 9580061")
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestTownsThatTheFirstSourceLost(t *testing.T) {
	for code, towns := range map[string]string{
		"028-7917": "種市", "761-4103": "乙 甲", "441-1324": "井道 内井道 奥井道", "857-2427": "大島町",
	} {
		got, err := Lookup(LookupRequest{PostalCode: code})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, p := range got.Addresses {
			found = append(found, p.Town)
		}
		if strings.Join(found, " ") != towns {
			t.Errorf("%s: got %v, want %s", code, found, towns)
		}
	}
}
