package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/tools/postal"
)

// embeddedRows reads every row back through the package that serves them.
func embeddedRows(t *testing.T) []row {
	t.Helper()
	var rows []row
	for p := range postal.All() {
		rows = append(rows, row{p.PostalCode, p.Prefecture, p.City, p.Town, p.PrefectureKana, p.CityKana, p.TownKana})
	}
	return rows
}

func TestTheSameRowsGiveTheSameBytes(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "postal.bin"))
	if err != nil {
		t.Fatal(err)
	}
	rows := embeddedRows(t)
	rows = append(rows, rows[:1000]...) // doubles change nothing
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	got, err := encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("encoding what postal.bin holds gives %d other bytes, want the same %d", len(got), len(want))
	}
}

func TestEncodeRefusesWhatTheLayoutCannotHold(t *testing.T) {
	good := row{"1000001", "東京都", "千代田区", "千代田", "トウキョウト", "チヨダク", "チヨダ"}
	for name, spoil := range map[string]func(*row){
		"short code":    func(r *row) { r.code = "100001" },
		"letter":        func(r *row) { r.code = "100000a" },
		"kanji reading": func(r *row) { r.townKana = "千代田" },
	} {
		bad := good
		spoil(&bad)
		if _, err := encode([]row{good, bad}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadJpostal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "json"), 0o755); err != nil {
		t.Fatal(err)
	}
	const file = `jQuery_jpostal_callback(
[["_1000001","東京都","千代田区","千代田","","","ﾄｳｷｮｳﾄ","ﾁﾖﾀﾞｸ","ﾁﾖﾀﾞ"],
["_1008111","東京都","千代田区","千代田","１－１","宮内庁","ﾄｳｷｮｳﾄ","ﾁﾖﾀﾞｸ","ﾁﾖﾀﾞ"],
["_000info","","ver 1","","","","","ver 1",""],
["_100","東京都","千代田区","","","","ﾄｳｷｮｳﾄ","ﾁﾖﾀﾞｸ",""]]
);`
	if err := os.WriteFile(filepath.Join(dir, "json", "100.json"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, version, err := readJpostal(dir)
	want := row{"1000001", "東京都", "千代田区", "千代田", "トウキョウト", "チヨダク", "チヨダ"}
	if err != nil || version != "ver 1" || len(rows) != 1 || rows[0] != want {
		t.Errorf("got %+v, %q, %v", rows, version, err)
	}
}

func TestRemarksAreTakenOff(t *testing.T) {
	for in, want := range map[string]string{
		"東京都千代田区一ツ橋（１丁目）":     "東京都千代田区一ツ橋",
		"東京都千代田区霞が関霞が関ビル（１階）": "東京都千代田区霞が関霞が関ビル１階",
		"東京都利島村利島村一円":         "東京都利島村",
		"滋賀県犬上郡多賀町一円":         "滋賀県犬上郡多賀町一円",
	} {
		if got := withoutRemarks(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestDifferencesAreNamed(t *testing.T) {
	for want, lists := range map[string][2][]string{
		"wards of Hamamatsu, redrawn on 2024-01-01":             {{"静岡県浜松市中央区神立町"}, {"静岡県浜松市東区神立町"}},
		"town or land numbers (地割, 次に…) cut off by one of them": {{"岩手県九戸郡洋野町"}, {"岩手県九戸郡洋野町種市"}},
		"another number of towns":                               {{"千葉県匝瑳市長丘", "千葉県匝瑳市長岡"}, {"千葉県匝瑳市長岡"}},
		"another spelling or name":                              {{"福島県白河市北登り町"}, {"福島県白河市北登リ町"}},
	} {
		if got := withinGroup(lists[0], lists[1]); got != want {
			t.Errorf("%v: got %q, want %q", lists, got, want)
		}
	}
}

func TestReportCounts(t *testing.T) {
	a := byCode([]row{{code: "1", city: "x"}, {code: "1", city: "x"}, {code: "2", city: "y"}, {code: "3", city: "z"}}, asIs)
	b := byCode([]row{{code: "1", city: "x"}, {code: "3", city: "w"}, {code: "4", city: "v"}}, asIs)
	var out bytes.Buffer
	report(&out, "A", "B", a, b, withinGroup)
	const want = "A: 3 codes, 3 addresses\nB: 3 codes, 3 addresses\nonly in A: 1 (2)\nonly in B: 1 (4)\n" +
		"same addresses: 1\ndiffer, another spelling or name: 1 (3)\n    3 (z) | (w)\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// The lines are as the second source has them.
func TestLostTownsAreRestored(t *testing.T) {
	for _, c := range []struct{ city, line, towns string }{
		{"九戸郡洋野町", "九戸郡洋野町種市第５０地割〜第７０地割（大沢）", "種市"},
		{"小豆郡土庄町", "小豆郡土庄町甲、乙（大木戸）", "甲 乙"},
		{"新城市", "新城市井道、奥井道、内井道", "井道 奥井道 内井道"},
		{"西海市", "西海市大島町", "大島町"},
		{"利島村", "利島村利島村一円", ""},
		{"北都留郡小菅村", "北都留郡小菅村小菅村の次に１〜６６３番地がくる場合", ""},
		{"岡谷市", "岡谷市岡谷市", ""},
		{"札幌市北区", "札幌市北区", ""},
		{"札幌市北区", "札幌市東区北１条", ""},
	} {
		line := row{code: "1", prefecture: "県", city: c.line}
		got := lostTowns(row{code: "1", prefecture: "県", city: c.city}, []row{line, line})
		want := strings.Fields(c.towns)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", c.line, got, want)
		}
	}
	kept := row{code: "1", prefecture: "県", city: "新城市", town: "川路"}
	if got := lostTowns(kept, []row{{code: "1", prefecture: "県", city: "新城市井道"}}); got != nil {
		t.Errorf("a row that has its town got %v", got)
	}
}
