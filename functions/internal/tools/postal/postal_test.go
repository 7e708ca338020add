package postal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sekisho/functions/internal/tools/toolerr"
)

func wantError(t *testing.T, err error, code toolerr.Code, param string) {
	t.Helper()
	var e *toolerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *toolerr.Error", err)
	}
	if e.Code != code || e.Param != param || e.Message == "" {
		t.Fatalf("got %+v, want code %s for %s", *e, code, param)
	}
}

func TestLookupReadsCodesAsPeopleWriteThem(t *testing.T) {
	want := Place{"1000001", "東京都", "千代田区", "千代田", "トウキョウト", "チヨダク", "チヨダ"}
	for _, code := range []string{
		"1000001", "100-0001", "１０００００１", "１００－０００１", "100−0001", "100ー0001", "100ｰ0001",
		"〒100-0001", "〒 100-0001", "〶100-0001", " 100-0001 ", "100━0001", "100⁻0001", "100ㅡ0001", "100 0001", "\u200b100\u2060-\ufeff0001\u200e", "一〇〇ー〇〇〇一", "　〒１００‐０００１　", "100–0001", "100—0001", "\t1000001\n",
	} {
		got, err := Lookup(LookupRequest{PostalCode: code})
		if err != nil {
			t.Errorf("%q: %v", code, err)
			continue
		}
		if got.PostalCode != "1000001" || got.Formatted != "100-0001" || len(got.Addresses) != 1 || got.Addresses[0] != want {
			t.Errorf("%q: got %+v", code, got)
		}
	}
}

func TestLookupKnowsPlaces(t *testing.T) {
	for _, c := range []struct{ code, joined, kana string }{
		{"0600042", "北海道札幌市中央区大通西", "ホッカイドウサッポロシチュウオウクオオドオリニシ"},
		{"9071801", "沖縄県八重山郡与那国町与那国", "オキナワケンヤエヤマグンヨナグニチョウヨナグニ"},
		{"1000000", "東京都千代田区", "トウキョウトチヨダク"},
		{"1006001", "東京都千代田区霞が関霞が関ビル１階", "トウキョウトチヨダクカスミガセキカスミガセキビル1カイ"},
		{"4300801", "静岡県浜松市中央区神立町", "シズオカケンハママツシチュウオウクコウダチチョウ"},
	} {
		got, err := Lookup(LookupRequest{PostalCode: c.code})
		if err != nil {
			t.Fatal(err)
		}
		a := got.Addresses[0]
		if a.Prefecture+a.City+a.Town != c.joined || a.PrefectureKana+a.CityKana+a.TownKana != c.kana {
			t.Errorf("%s: got %+v", c.code, a)
		}
	}
}

func TestOneCodeCanHaveSeveralTownsCitiesAndPrefectures(t *testing.T) {
	many, err := Lookup(LookupRequest{PostalCode: "452-0961"})
	if err != nil || len(many.Addresses) != 66 {
		t.Fatalf("452-0961: %d towns, %v; want 66", len(many.Addresses), err)
	}
	two, err := Lookup(LookupRequest{PostalCode: "498-0000"})
	if err != nil {
		t.Fatal(err)
	}
	prefectures := map[string]bool{}
	for _, a := range two.Addresses {
		prefectures[a.Prefecture] = true
	}
	if !prefectures["愛知県"] || !prefectures["三重県"] {
		t.Errorf("498-0000: got %+v, want places in 愛知県 and 三重県", two.Addresses)
	}
}

func TestLookupRefusesWhatIsNoCode(t *testing.T) {
	for _, code := range []string{
		"", " ", "〒", "-", "100", "100-", "100000", "10000011", "1000-001", "100--0001", "100-00-01", "-1000001",
		"10 00001", "abc-defg", "〒〒1000001", "1000001-", "+1000001", "١٠٠٠٠٠١", "\xff00-0001", "100\xff0001", strings.Repeat("1", 1<<16),
	} {
		_, err := Lookup(LookupRequest{PostalCode: code})
		wantError(t, err, toolerr.InvalidArgument, "postal_code")
		if len(err.Error()) > 500 || !strings.Contains(err.Error(), "100-0001") {
			t.Errorf("%.20q: message should be short and show the form: %s", code, err)
		}
	}
}

func TestLookupTellsUnknownFromMalformed(t *testing.T) {
	for _, code := range []string{"0000000", "9999999", "100-9999"} {
		_, err := Lookup(LookupRequest{PostalCode: code})
		wantError(t, err, toolerr.NotFound, "postal_code")
	}
}

func TestSearchFinds(t *testing.T) {
	for _, c := range []struct {
		req   SearchRequest
		first string // code of the first result
		all   string // what each result's address contains
	}{
		{SearchRequest{Prefix: "1000001"}, "1000001", "東京都千代田区千代田"},
		{SearchRequest{Prefix: "１００－０"}, "1000000", "東京都"},
		{SearchRequest{Prefix: "〒100"}, "1000000", "東京都"},
		{SearchRequest{Prefix: "00"}, "0010000", "北海道札幌市"},
		{SearchRequest{Address: "千代田区丸の内"}, "1000005", "東京都千代田区丸の内"},
		{SearchRequest{Address: "東京都 千代田区　千代田"}, "1000001", "東京都千代田区千代田"},
		{SearchRequest{Address: "田区千代"}, "1000001", "田区千代"},
		{SearchRequest{Address: "霞ヶ関"}, "1000013", "霞が関"},
		{SearchRequest{Address: "札幌市北区北10条西"}, "0010010", "北区北十条西"},
		{SearchRequest{Address: "札幌市西区２４軒"}, "0630801", "二十四軒"},
		{SearchRequest{Address: "東池袋サンシャイン60 21階"}, "1706021", "サンシャイン６０２１階"},
		{SearchRequest{Address: "廿日市市"}, "7380000", "廿日市市"},
		{SearchRequest{Address: "塩釜市"}, "9850000", "塩竈市"},
		{SearchRequest{Address: "岩手県洋野町"}, "0287900", "九戸郡洋野町"},
		{SearchRequest{Address: "霞が関ビル1階"}, "1006001", "霞が関ビル１階"},
		{SearchRequest{Address: "八重山郡与那国町与那国"}, "9071801", "与那国町与那国"},
		{SearchRequest{Address: "チヨダクマルノウチ"}, "1000005", "千代田区丸の内"},
		{SearchRequest{Address: "ちよだくまるのうち"}, "1000005", "千代田区丸の内"},
		{SearchRequest{Address: "ﾁﾖﾀﾞｸﾏﾙﾉｳﾁ"}, "1000005", "千代田区丸の内"},
	} {
		got, err := Search(c.req)
		if err != nil || len(got.Results) == 0 {
			t.Errorf("%+v: %v, %d results", c.req, err, len(got.Results))
			continue
		}
		if got.Results[0].PostalCode != c.first {
			t.Errorf("%+v: first is %+v, want code %s", c.req, got.Results[0], c.first)
		}
		for _, p := range got.Results {
			if !strings.Contains(p.Prefecture+p.City+p.Town, c.all) {
				t.Errorf("%+v: %+v has no %s", c.req, p, c.all)
			}
		}
	}
}

func TestSearchReadsOnPastTheTown(t *testing.T) {
	for _, c := range []struct{ address, first, leftOut string }{
		{"札幌市北区北10条西3丁目1-5 北ビル", "0010010", "3丁目1-5 北ビル"},
		{"東京都千代田区丸の内1-9-1", "1000005", "1-9-1"},
		{"〒100-0005 東京都千代田区丸の内一丁目", "1000005", "一丁目"},
		{"千代田区丸の内港ビル", "1000005", "港ビル"},
		{"ちよだくまるのうち1-9-1", "1000005", "1-9-1"},
		{"岩手県洋野町種市23-27", "0287901", "23-27"},
		{"長野県上伊那郡宮田村7021番地", "3994301", "7021番地"},
		{"京都市中京区寺町通御池上る上本能寺前町488", "6040925", "488"},
		{"二十四軒四条1-2", "0630804", "1-2"},
		{"京都市上京区下立売通新町西入薮ノ内町1", "6028041", "1"},
		{"東京都霞が関1-1", "1000013", "1-1"},
		{"東京都新宿区市ヶ谷本村町5-1", "1620845", "5-1"},
	} {
		got, err := Search(SearchRequest{Address: c.address})
		if err != nil || len(got.Results) == 0 {
			t.Errorf("%s: %v, %d results", c.address, err, len(got.Results))
			continue
		}
		if got.Results[0].PostalCode != c.first || got.Note == nil || !strings.Contains(*got.Note, `"`+c.leftOut+`"`) {
			t.Errorf("%s: got %+v with note %v", c.address, got.Results[0], note(got))
		}
	}
}

func note(page SearchResponse) string {
	if page.Note == nil {
		return ""
	}
	return *page.Note
}

// TestNothingFoundSaysWhatToDo: the page is empty, and the note names what was tried and the
// next step.
func TestNothingFoundSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		req  SearchRequest
		note string
	}{
		{SearchRequest{Prefix: "0000"}, "No postal code in the data begins with 0000"},
		{SearchRequest{Prefix: "9999999"}, "search by address"},
		{SearchRequest{Address: "アトランティス"}, "Check the spelling"},
		{SearchRequest{Address: "�"}, "Check the spelling"},
		{SearchRequest{Address: "東京都千代田区丸の外"}, "千代田区 exists"},
		{SearchRequest{Address: "札幌市北区存在町1-2"}, "search for 札幌市北区 to list its towns"},
		{SearchRequest{Address: "京都市中京区上る上る"}, "京都市中京区 exists"},
		{SearchRequest{Address: "内藤ビル"}, "names of buildings"}, // not the towns that are called 内
	} {
		got, err := Search(c.req)
		if err != nil || got.Results == nil || len(got.Results) != 0 || got.NextCursor != nil || !strings.Contains(note(got), c.note) {
			t.Errorf("%+v: got %+v, note %q, %v", c.req, got.Results, note(got), err)
		}
	}
}

func TestWhatIsFoundAsItStandsHasNoNote(t *testing.T) {
	for _, req := range []SearchRequest{{Prefix: "100"}, {Address: "千代田区丸の内"}, {Address: "札幌市北区北10条西"}} {
		if got, err := Search(req); err != nil || got.Note != nil {
			t.Errorf("%+v: note %q, %v", req, note(got), err)
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	zero, many := 0, 101
	for _, c := range []struct {
		req   SearchRequest
		param string
	}{
		{SearchRequest{}, "prefix"},
		{SearchRequest{Prefix: "100", Address: "千代田"}, "address"},
		{SearchRequest{Prefix: "12345678"}, "prefix"},
		{SearchRequest{Prefix: "-"}, "prefix"},
		{SearchRequest{Prefix: "10a"}, "prefix"},
		{SearchRequest{Address: " 　"}, "address"},
		{SearchRequest{Address: "、-"}, "address"},
		{SearchRequest{Address: "大字"}, "address"},
		{SearchRequest{Address: "〒100-0001"}, "address"},
		{SearchRequest{Address: "\xff"}, "address"},
		{SearchRequest{Address: strings.Repeat("町", 101)}, "address"},
		{SearchRequest{Prefix: "1", Limit: &zero}, "limit"},
		{SearchRequest{Prefix: "1", Limit: &many}, "limit"},
		{SearchRequest{Prefix: "1", Cursor: "?"}, "cursor"},
		{SearchRequest{Prefix: "1", Cursor: "AAAAAAAAAAA"}, "cursor"},
	} {
		_, err := Search(c.req)
		wantError(t, err, toolerr.InvalidArgument, c.param)
	}
}

func TestCursorBelongsToItsSearch(t *testing.T) {
	page, err := Search(SearchRequest{Prefix: "100"})
	if err != nil || page.NextCursor == nil {
		t.Fatal(page, err)
	}
	_, err = Search(SearchRequest{Prefix: "1000", Cursor: *page.NextCursor})
	wantError(t, err, toolerr.InvalidArgument, "cursor")
	_, err = Search(SearchRequest{Address: "東京都", Cursor: *page.NextCursor})
	wantError(t, err, toolerr.InvalidArgument, "cursor")
	// Another spelling of the same search is the same search.
	if _, err := Search(SearchRequest{Prefix: "〒１００", Cursor: *page.NextCursor}); err != nil {
		t.Error(err)
	}
}

// collect walks all pages; at most 1,000 of them.
func collect(t interface{ Fatalf(string, ...any) }, req SearchRequest) []Place {
	var all []Place
	for range 1000 {
		page, err := Search(req)
		if err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		all = append(all, page.Results...)
		if page.NextCursor == nil {
			return all
		}
		req.Cursor = *page.NextCursor
	}
	t.Fatalf("%+v: no end of pages", req)
	return nil
}

func TestPagesJoinToTheWholeInOrder(t *testing.T) {
	codes := make([]string, data().rows)
	for row := range codes {
		codes[row] = codeText(data().code(row))
	}
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.IntRange(0, data().rows-1).Draw(t, "row")
		digits := rapid.IntRange(3, 7).Draw(t, "digits")
		limit := rapid.IntRange(7, 100).Draw(t, "limit")
		prefix := codes[row][:digits]
		var want []Place
		for r, code := range codes {
			if strings.HasPrefix(code, prefix) {
				want = append(want, data().place(r))
			}
		}
		got := collect(t, SearchRequest{Prefix: prefix, Limit: &limit})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("prefix %s by %d: %d places, want %d", prefix, limit, len(got), len(want))
		}
	})
}

func TestEveryFormOfACodeIsTheSameCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.StringMatching(`[0-9]{7}`).Draw(t, "code")
		form := code
		if rapid.Bool().Draw(t, "hyphen") {
			hyphen := rapid.SampledFrom([]rune("-‐‑‒–—―−ー－ｰ─━﹣⁻₋ㅡ ")).Draw(t, "which")
			form = code[:3] + string(hyphen) + code[3:]
		}
		if rapid.Bool().Draw(t, "wide") {
			form = strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return r - '0' + '０'
				}
				return r
			}, form)
		}
		form = rapid.SampledFrom([]string{"", " ", "〒", "　〒 "}).Draw(t, "before") + form
		got, err := ParseCode(form)
		if err != nil || got != code {
			t.Fatalf("%q: got %q, %v", form, got, err)
		}
	})
}

func FuzzParseCode(f *testing.F) {
	for _, seed := range []string{"100-0001", "〒１００－０００１", "", "100", "\xff", "100ー0001 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, err := ParseCode(text)
		if err != nil {
			wantError(t, err, toolerr.InvalidArgument, "postal_code")
			return
		}
		if again, err := ParseCode(code); err != nil || again != code || len(code) != codeDigits {
			t.Fatalf("%q → %q → %q, %v", text, code, again, err)
		}
	})
}

func FuzzSearch(f *testing.F) {
	f.Add("100", "", "")
	f.Add("", "千代田", "AAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, prefix, address, cursor string) {
		page, err := Search(SearchRequest{Prefix: prefix, Address: address, Cursor: cursor})
		if err != nil {
			var e *toolerr.Error
			if !errors.As(err, &e) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if len(page.Results) > defaultLimit {
			t.Fatalf("%d results", len(page.Results))
		}
	})
}

func BenchmarkFirstLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t := open(embedded) // what the first call does more than the others
		if row := t.firstFrom(1000001); t.code(row) != 1000001 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Lookup(LookupRequest{PostalCode: "100-0001"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	for name, req := range map[string]SearchRequest{
		"prefix":         {Prefix: "100"},
		"address":        {Address: "千代田区丸の内"},
		"address-number": {Address: "札幌市北区北10条西"},
		"address-kana":   {Address: "ちよだくまるのうち"},
		"address-long":   {Address: "東京都千代田区丸の内1丁目9-1 グラントウキョウ"},
		"address-never":  {Address: "アトランティス"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Search(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
