package convert

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sekisho/functions/internal/tools/toolerr"
)

func wantError(t interface {
	Helper()
	Fatalf(string, ...any)
}, err error, code toolerr.Code, param string) {
	t.Helper()
	var e *toolerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *toolerr.Error", err)
	}
	if e.Code != code || e.Param != param || e.Message == "" {
		t.Fatalf("got %+v, want code %s for %s", *e, code, param)
	}
}

func TestGregorianToEra(t *testing.T) {
	for _, c := range []struct {
		date, want string
		era        Era
		weekday    string
	}{
		{"2026-11-30", "令和8年11月30日", Era{"令和", "Reiwa", "R", 8}, "Monday"},
		{"2019-05-01", "令和元年5月1日", Era{"令和", "Reiwa", "R", 1}, "Wednesday"},
		{"2019-04-30", "平成31年4月30日", Era{"平成", "Heisei", "H", 31}, "Tuesday"},
		{"1989-01-08", "平成元年1月8日", Era{"平成", "Heisei", "H", 1}, "Sunday"},
		{"1989-01-07", "昭和64年1月7日", Era{"昭和", "Showa", "S", 64}, "Saturday"},
		{"1926-12-25", "昭和元年12月25日", Era{"昭和", "Showa", "S", 1}, "Saturday"},
		{"1926-12-24", "大正15年12月24日", Era{"大正", "Taisho", "T", 15}, "Friday"},
		{"1912-07-30", "大正元年7月30日", Era{"大正", "Taisho", "T", 1}, "Tuesday"},
		{"1912-07-29", "明治45年7月29日", Era{"明治", "Meiji", "M", 45}, "Monday"},
		{"1873-01-01", "明治6年1月1日", Era{"明治", "Meiji", "M", 6}, "Wednesday"},
		{"2024-02-29", "令和6年2月29日", Era{"令和", "Reiwa", "R", 6}, "Thursday"},
	} {
		got, err := ConvertEra(EraRequest{Date: c.date})
		if err != nil || got != (EraResponse{c.date, c.want, c.era, c.weekday}) {
			t.Errorf("%s: got %+v, %v", c.date, got, err)
		}
	}
}

func TestEraToGregorian(t *testing.T) {
	for in, want := range map[string]string{
		"令和8年11月30日": "2026-11-30",
		"平20.4.1":    "2008-04-01", "令元.5.1": "2019-05-01", "昭64/1/7": "1989-01-07", "大15-12-24": "1926-12-24", "明6.1.1": "1873-01-01",
		"令和八年十一月三十日": "2026-11-30", "平成二十年四月一日": "2008-04-01", "昭和六十四年一月七日": "1989-01-07", "昭和六四年一月七日": "1989-01-07",
		"令和元年五月一日": "2019-05-01", "令和二〇年〇一月零五日": "2038-01-05", "令和八年六月廿三日": "2026-06-23", "令和八年一月卅一日": "2026-01-31",
		"令和弐年壱月参拾日": "2020-01-30", "令和八年11月三十日": "2026-11-30",
		"平20・4・1": "2008-04-01", "平２０．４．１": "2008-04-01", "R8・11・30": "2026-11-30", "R8ｰ11ｰ30": "2026-11-30", "R8－11－30": "2026-11-30",
		"R8−11−30": "2026-11-30", "R8‐11‐30": "2026-11-30", "R8―11―30": "2026-11-30", "R8、11、30": "2026-11-30", "R8 11 30": "2026-11-30",
		"R.8.11.30": "2026-11-30", "R08.11.30": "2026-11-30", "R081130": "2026-11-30", "令和080401": "2026-04-01", "r8/11/30": "2026-11-30",
		"Reiwa 8.11.30": "2026-11-30", "HEISEI 20/4/1": "2008-04-01", "Shōwa 64-1-7": "1989-01-07",
		"\u200b令和8年\u200911月\ufeff30日": "2026-11-30", "㍻20年4月1日": "2008-04-01", "㍼64.1.7": "1989-01-07",
		"令和8年11月30日（月）": "2026-11-30", "令和8年11月30日月曜日": "2026-11-30", "令和8年11月30日(月曜)": "2026-11-30",
		"令和8年（2026年）11月30日": "2026-11-30", "2026年（令和8年）11月30日（月）": "2026-11-30",
		"令和元年5月1日":       "2019-05-01",
		"令和1年5月1日":       "2019-05-01",
		"令和８年１１月３０日":     "2026-11-30",
		"令和 8年 11月 30日":  "2026-11-30",
		" 令和8年11月30日　":   "2026-11-30",
		"㋿8年11月30日":      "2026-11-30",
		"㍻31年4月30日":      "2019-04-30",
		"R8年11月30日":      "2026-11-30",
		"令和8.11.30":      "2026-11-30",
		"R1.5.1":         "2019-05-01",
		"R1/5/1":         "2019-05-01",
		"r1-5-1":         "2019-05-01",
		"R元.5.1":         "2019-05-01",
		"H31-04-30":      "2019-04-30",
		"Ｈ３１－０４－３０":      "2019-04-30",
		"S64.1.7":        "1989-01-07",
		"昭和64年1月7日":      "1989-01-07",
		"T15/12/24":      "1926-12-24",
		"M6.1.1":         "1873-01-01",
		"明治45年7月29日":     "1912-07-29",
		"昭和20年8月15日":     "1945-08-15",
		"平成12年02月29日":    "2000-02-29",
		"平成31年4月30日\n":   "2019-04-30",
		"R82.12.31":      "2100-12-31",
		"昭和39年10月10日":    "1964-10-10",
		"大正12年9月1日":      "1923-09-01",
		"明治 6 年 1 月 1 日": "1873-01-01",
	} {
		got, err := ConvertEra(EraRequest{EraDate: in})
		if err != nil || got.Date != want {
			t.Errorf("%q: got %+v, %v; want %s", in, got, err, want)
		}
	}
}

func TestEraBoundariesAreStrict(t *testing.T) {
	for in, right := range map[string]string{
		"昭和64年1月8日":   "平成元年1月8日",
		"平成元年1月7日":    "昭和64年1月7日",
		"平成31年5月1日":   "令和元年5月1日",
		"令和元年4月30日":   "平成31年4月30日",
		"明治45年7月30日":  "大正元年7月30日",
		"大正15年12月25日": "昭和元年12月25日",
		"昭和元年12月24日":  "大正15年12月24日",
		"H32.1.1":     "令和2年1月1日",
		"昭和100年1月1日":  "令和7年1月1日",
	} {
		_, err := ConvertEra(EraRequest{EraDate: in})
		wantError(t, err, toolerr.InvalidArgument, "era_date")
		if !strings.Contains(err.Error(), right) {
			t.Errorf("%s: message should name %s: %s", in, right, err)
		}
	}
}

func TestEraRefuses(t *testing.T) {
	for _, in := range []string{
		"2026-11-30", "令和", "令和8年", "令和8年11月", "令和8年11月30", "令和0年1月1日", "令和8年13月1日", "令和8年2月29日", "令和8年4月31日",
		"令和8年0月1日", "令和8年1月0日", "X8.11.30", "R8.11/30", "R8年11.30", "R8-11-30日", "慶応3年1月1日", "R-8.11.30", "R8.11.30.", "R8.111.30",
		"R8. 11 .30-", "R8 11.30", "R8113", "令和8年11月30日日", "和8.11.30", "\xff", strings.Repeat("令", 5000), "平成17年2月29日",
	} {
		_, err := ConvertEra(EraRequest{EraDate: in})
		wantError(t, err, toolerr.InvalidArgument, "era_date")
		if len(err.Error()) > 600 {
			t.Errorf("%.20q: message of %d bytes", in, len(err.Error()))
		}
	}
	for _, in := range []string{"明治5年12月2日", "明治元年10月23日", "R83.1.1", "R999.1.1"} {
		_, err := ConvertEra(EraRequest{EraDate: in})
		wantError(t, err, toolerr.OutOfRange, "era_date")
	}
	for _, in := range []string{"2026-2-3", "2026-02-30", "20261130", "令和8年11月30日", "\xff", "2026-11-30 "} {
		_, err := ConvertEra(EraRequest{Date: in})
		wantError(t, err, toolerr.InvalidArgument, "date")
	}
	for _, in := range []string{"1872-12-31", "2101-01-01", "0001-01-01", "9999-12-31"} {
		_, err := ConvertEra(EraRequest{Date: in})
		wantError(t, err, toolerr.OutOfRange, "date")
	}
	_, err := ConvertEra(EraRequest{})
	wantError(t, err, toolerr.InvalidArgument, "date")
	_, err = ConvertEra(EraRequest{Date: "2026-11-30", EraDate: "R8.11.30"})
	wantError(t, err, toolerr.InvalidArgument, "era_date")
}

// TestWhatADateSaysTwiceMustAgree: the error names what contradicts, and asks the user.
func TestWhatADateSaysTwiceMustAgree(t *testing.T) {
	for in, says := range map[string]string{
		"令和8年11月30日（火）":     "a 月曜日",
		"令和8年（2025年）11月30日": "令和8年 is 2026, not 2025",
		"2025年（令和8年）11月30日": "令和8年 is 2026, not 2025",
		"昭和64年1月8日":         "平成元年1月8日",
	} {
		_, err := ConvertEra(EraRequest{EraDate: in})
		wantError(t, err, toolerr.InvalidArgument, "era_date")
		if !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "Ask the user") {
			t.Errorf("%s: the message should say %q: %s", in, says, err)
		}
	}
}

// TestEveryDayComesBack goes through all days that are converted, there and back.
func TestEveryDayComesBack(t *testing.T) {
	before := Era{}
	for day := firstEraDay; !day.After(lastEraDay); day = day.AddDate(0, 0, 1) {
		there, err := ConvertEra(EraRequest{Date: day.Format(time.DateOnly)})
		if err != nil {
			t.Fatal(err)
		}
		back, err := ConvertEra(EraRequest{EraDate: there.EraDate})
		if err != nil || back != there {
			t.Fatalf("%+v came back as %+v, %v", there, back, err)
		}
		if there.Era.Name == before.Name && there.Era.Year-before.Year > 1 {
			t.Fatalf("a year is missing between %+v and %+v", before, there.Era)
		}
		before = there.Era
	}
}

func TestShortFormsMeanTheSameDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(0, int(lastEraDay.Sub(firstEraDay).Hours()/24)).Draw(t, "days")
		day := firstEraDay.AddDate(0, 0, days)
		want, err := ConvertEra(EraRequest{Date: day.Format(time.DateOnly)})
		if err != nil {
			t.Fatal(err)
		}
		mark := rapid.SampledFrom([]string{".", "/", "-"}).Draw(t, "mark")
		layout := rapid.SampledFrom([]string{"1" + mark + "2", "01" + mark + "02"}).Draw(t, "layout")
		name := rapid.SampledFrom([]string{want.Era.Letter, strings.ToLower(want.Era.Letter), want.Era.Name}).Draw(t, "name")
		short := name + strconv.Itoa(want.Era.Year) + mark + day.Format(layout)
		got, err := ConvertEra(EraRequest{EraDate: short})
		if err != nil || got != want {
			t.Fatalf("%s: got %+v, %v; want %+v", short, got, err, want)
		}
	})
}

func FuzzEraDate(f *testing.F) {
	for _, seed := range []string{"令和8年11月30日", "R1.5.1", "昭和64年1月8日", "㋿元/1/1", "", "\xff", "H31-04-30"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return // means that the parameter is missing
		}
		got, err := ConvertEra(EraRequest{EraDate: text})
		if err != nil {
			var e *toolerr.Error
			if !errors.As(err, &e) || e.Param != "era_date" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := ConvertEra(EraRequest{Date: got.Date}); err != nil || again != got {
			t.Fatalf("%q: %+v, by its date %+v, %v", text, got, again, err)
		}
	})
}

func BenchmarkEra(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConvertEra(EraRequest{EraDate: "令和8年11月30日"}); err != nil {
			b.Fatal(err)
		}
	}
}
