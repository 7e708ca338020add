package convert

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sekisho/functions/internal/tools/toolerr"
)

func TestWidth(t *testing.T) {
	for _, c := range []struct{ to, scope, in, want string }{
		{"half", "all", "ＡＢＣ　１２３！～", "ABC 123!~"},
		{"half", "ascii", "ガギグ１２３", "ガギグ123"},
		{"half", "kana", "ガギグ１２３", "ｶﾞｷﾞｸﾞ１２３"},
		{"half", "", "パピプペポ・ヴァー「」、。", "ﾊﾟﾋﾟﾌﾟﾍﾟﾎﾟ･ｳﾞｧｰ｢｣､｡"},
		{"half", "all", "東京都ひらがなヱヰヵヶヮ", "東京都ひらがなヱヰヵヶヮ"},
		{"half", "all", "ヷヺ゛゜", "ﾜﾞｦﾞﾞﾟ"},
		{"half", "all", "￥１００￡", "¥100£"},
		{"half", "ascii", "￥１００", "￥100"},
		{"half", "all", "カ\u3099が", "ｶﾞが"},
		{"full", "all", "ABC 123!~", "ＡＢＣ　１２３！～"},
		{"full", "kana", "ｶﾞｷﾞ ABC", "ガギ ABC"},
		{"full", "ascii", "ｶﾞ ABC", "ｶﾞ　ＡＢＣ"},
		{"full", "all", "ﾊﾟﾋﾟﾌﾟﾍﾟﾎﾟ･ｳﾞｧｰ｢｣､｡", "パピプペポ・ヴァー「」、。"},
		{"full", "all", "ｱﾞﾞﾟﾊﾞﾞ", "ア゛゛゜バ゛"},
		{"full", "all", "ﾔﾏﾀﾞ ﾀﾛｳ", "ヤマダ　タロウ"},
		{"full", "all", "¥100", "￥１００"},
		{"full", "all", "a\nb\tc", "ａ\nｂ\tｃ"},
		{"full", "all", "東京ﾄ→○é", "東京ト→○é"},
		{"half", "all", "→○■é한", "→○■é한"},
		{"half", "all", "", ""},
	} {
		got, err := ConvertWidth(WidthRequest{Text: c.in, To: c.to, Scope: c.scope})
		if err != nil || got.Result != c.want || got.Text != c.in {
			t.Errorf("%q to %s (%s): got %q, %v; want %q", c.in, c.to, c.scope, got.Result, err, c.want)
		}
	}
}

func TestWidthRefuses(t *testing.T) {
	for _, c := range []struct {
		req   WidthRequest
		param string
	}{
		{WidthRequest{Text: "\xff", To: "half"}, "text"},
		{WidthRequest{Text: "ok\xe3\x81", To: "full"}, "text"},
		{WidthRequest{Text: strings.Repeat("あ", MaxWidthRunes+1), To: "half"}, "text"},
		{WidthRequest{Text: "a", To: ""}, "to"},
		{WidthRequest{Text: "a", To: "Half"}, "to"},
		{WidthRequest{Text: "a", To: "half", Scope: "digits"}, "scope"},
	} {
		_, err := ConvertWidth(c.req)
		wantError(t, err, toolerr.InvalidArgument, c.param)
	}
	if _, err := ConvertWidth(WidthRequest{Text: strings.Repeat("ガ", MaxWidthRunes), To: "half"}); err != nil {
		t.Errorf("a text of exactly the longest length: %v", err)
	}
}

func TestHalfWidthTextComesBack(t *testing.T) {
	letters := []rune("ｦｧｨｩｪｫｬｭｮｯｰｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝﾞﾟ｡｢｣､･ AZaz09!~\"\\¥漢かが\n")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom(letters)).Draw(t, "text")
		scope := rapid.SampledFrom([]string{"ascii", "kana", "all"}).Draw(t, "scope")
		full, err := ConvertWidth(WidthRequest{Text: text, To: "full", Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		half, err := ConvertWidth(WidthRequest{Text: full.Result, To: "half", Scope: scope})
		if err != nil || half.Result != text {
			t.Fatalf("%q → %q → %q, %v", text, full.Result, half.Result, err)
		}
	})
}

func TestWidthTwiceIsWidthOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := WidthRequest{
			Text:  rapid.String().Draw(t, "text"),
			To:    rapid.SampledFrom([]string{"half", "full"}).Draw(t, "to"),
			Scope: rapid.SampledFrom([]string{"ascii", "kana", "all"}).Draw(t, "scope"),
		}
		once, err := ConvertWidth(req)
		if err != nil {
			t.Fatal(err)
		}
		req.Text = once.Result
		twice, err := ConvertWidth(req)
		if err != nil || twice.Result != once.Result || !utf8.ValidString(once.Result) {
			t.Fatalf("%q → %q → %q, %v", once.Text, once.Result, twice.Result, err)
		}
	})
}

func FuzzWidth(f *testing.F) {
	f.Add("ｶﾞＡ", "half", "all")
	f.Add("\xff", "full", "")
	f.Fuzz(func(t *testing.T, text, to, scope string) {
		got, err := ConvertWidth(WidthRequest{Text: text, To: to, Scope: scope})
		if err == nil && !utf8.ValidString(got.Result) {
			t.Fatalf("%q → %q", text, got.Result)
		}
	})
}

func BenchmarkWidth(b *testing.B) {
	text := strings.Repeat("東京都ガＡ１", 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConvertWidth(WidthRequest{Text: text, To: "half"}); err != nil {
			b.Fatal(err)
		}
	}
}
