package calendar

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
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

// What scripts/data/regenerate.sh printed when the data file was last made.
const (
	wantSHA256   = "e209ab9b861a40f298cf2d86e9ed1b24d61fcf3e937b399519f6c0a20f20fab2"
	wantHolidays = 1329
)

func TestEmbeddedDataIsTheOneThatWasReviewed(t *testing.T) {
	sum := sha256.Sum256([]byte(embedded))
	if got := hex.EncodeToString(sum[:]); got != wantSHA256 {
		t.Errorf("sha256 of holidays.txt is %s, want %s", got, wantSHA256)
	}
	list := holidays().list
	if len(list) != wantHolidays || len(holidays().at) != wantHolidays {
		t.Errorf("%d holidays on %d days, want %d", len(list), len(holidays().at), wantHolidays)
	}
	for i, h := range list {
		if h.day < firstDay || h.day > lastDay || i > 0 && list[i-1].day >= h.day || h.name == "" || h.english == "" {
			t.Errorf("holiday %d: %+v (%s)", i, h, h.day)
		}
	}
}

func TestHolidaysOfEachYear(t *testing.T) {
	for year := FirstYear; year <= LastYear; year++ {
		got, err := Holidays(HolidaysRequest{Year: year})
		if err != nil || got.Year != year || len(got.Holidays) < 12 || len(got.Holidays) > 22 {
			t.Fatalf("%d: %d holidays, %v", year, len(got.Holidays), err)
		}
		if first := got.Holidays[0]; first.Name != "元日" || !strings.HasSuffix(first.Date, "-01-01") {
			t.Errorf("%d begins with %+v", year, first)
		}
		for _, h := range got.Holidays {
			date, err := time.Parse(time.DateOnly, h.Date)
			if err != nil || date.Year() != year || date.Weekday().String() != h.Weekday {
				t.Errorf("%d: %+v, %v", year, h, err)
			}
		}
	}
	for _, year := range []int{1969, 2051, 0, -1} {
		_, err := Holidays(HolidaysRequest{Year: year})
		wantError(t, err, toolerr.OutOfRange, "year")
		if !strings.Contains(err.Error(), "1970") || !strings.Contains(err.Error(), "2050") {
			t.Errorf("message should name the range: %s", err)
		}
	}
}

func TestIsBusinessDay(t *testing.T) {
	for _, c := range []struct {
		date   string
		bank   bool
		reason Reason
		name   string
	}{
		{"2026-11-30", false, ReasonBusinessDay, ""},
		{"2026-11-28", false, ReasonWeekend, ""},
		{"2026-11-29", false, ReasonWeekend, ""},
		{"2026-11-23", false, ReasonHoliday, "勤労感謝の日"},
		{"1989-02-24", false, ReasonHoliday, "大喪の礼"},
		{"1990-11-12", false, ReasonHoliday, "即位礼正殿の儀"},
		// 2019: the accession, and the days between that became holidays.
		{"2019-04-30", false, ReasonHoliday, "休日"},
		{"2019-05-01", false, ReasonHoliday, "休日（祝日扱い）"},
		{"2019-05-02", false, ReasonHoliday, "休日"},
		{"2019-05-06", false, ReasonHoliday, "こどもの日 振替休日"},
		{"2019-05-07", false, ReasonBusinessDay, ""},
		{"2019-10-22", false, ReasonHoliday, "休日（祝日扱い）"},
		{"2019-12-23", false, ReasonBusinessDay, ""}, // no Emperor's Birthday in 2019
		// 2020 and 2021: moved for the Olympic Games.
		{"2020-07-20", false, ReasonBusinessDay, ""},
		{"2020-07-23", false, ReasonHoliday, "海の日"},
		{"2020-07-24", false, ReasonHoliday, "スポーツの日"},
		{"2020-08-10", false, ReasonHoliday, "山の日"},
		{"2020-08-11", false, ReasonBusinessDay, ""},
		{"2020-10-12", false, ReasonBusinessDay, ""},
		{"2021-07-19", false, ReasonBusinessDay, ""},
		{"2021-07-22", false, ReasonHoliday, "海の日"},
		{"2021-07-23", false, ReasonHoliday, "スポーツの日"},
		{"2021-08-08", false, ReasonHoliday, "山の日"},
		{"2021-08-09", false, ReasonHoliday, "山の日 振替休日"},
		// Between two holidays, and substitute holidays before and after the law of 1973.
		{"2026-09-22", false, ReasonHoliday, "休日"},
		{"1973-04-30", false, ReasonHoliday, "天皇誕生日 振替休日"},
		{"1973-02-12", false, ReasonBusinessDay, ""},
		// The turn of the year.
		{"2026-12-31", false, ReasonBusinessDay, ""},
		{"2026-12-31", true, ReasonBankHoliday, ""},
		{"2026-12-30", true, ReasonBusinessDay, ""},
		{"2027-01-01", true, ReasonHoliday, "元日"},
		{"2025-01-02", false, ReasonBusinessDay, ""},
		{"2025-01-02", true, ReasonBankHoliday, ""},
		{"2025-01-03", true, ReasonBankHoliday, ""},
		{"2027-01-02", true, ReasonWeekend, ""},
		{"2027-01-04", true, ReasonBusinessDay, ""},
		{"2024-02-29", false, ReasonBusinessDay, ""},
	} {
		got, err := IsBusinessDay(BusinessDayRequest{Date: c.date, BankHolidays: c.bank})
		if err != nil {
			t.Errorf("%s: %v", c.date, err)
			continue
		}
		name := ""
		if got.HolidayName != nil {
			name = *got.HolidayName
		}
		if got.Date != c.date || got.Reason != c.reason || name != c.name || got.IsBusinessDay != (c.reason == ReasonBusinessDay) {
			t.Errorf("%s (bank %v): got %+v %s, want %s %s", c.date, c.bank, got, name, c.reason, c.name)
		}
	}
}

func TestDatesAreStrict(t *testing.T) {
	for _, c := range []struct {
		date string
		code toolerr.Code
	}{
		{"", toolerr.InvalidArgument},
		{"2026-2-3", toolerr.InvalidArgument},
		{"2026-02-29", toolerr.InvalidArgument},
		{"2026-13-01", toolerr.InvalidArgument},
		{"2026/11/30", toolerr.InvalidArgument},
		{"20261130", toolerr.InvalidArgument},
		{"2026-11-30T00:00:00Z", toolerr.InvalidArgument},
		{" 2026-11-30", toolerr.InvalidArgument},
		{"２０２６-11-30", toolerr.InvalidArgument},
		{"\xff", toolerr.InvalidArgument},
		{"1969-12-31", toolerr.OutOfRange},
		{"2051-01-01", toolerr.OutOfRange},
		{"0000-01-01", toolerr.OutOfRange},
		{"9999-12-31", toolerr.OutOfRange},
	} {
		_, err := IsBusinessDay(BusinessDayRequest{Date: c.date})
		wantError(t, err, c.code, "date")
		_, err = AddBusinessDays(BusinessDaysRequest{Date: c.date, Days: 1})
		wantError(t, err, c.code, "date")
		_, err = BusinessDaysBetween(BusinessDaysBetweenRequest{From: c.date, To: "2026-11-30"})
		wantError(t, err, c.code, "from")
		_, err = BusinessDaysBetween(BusinessDaysBetweenRequest{From: "2026-11-30", To: c.date})
		wantError(t, err, c.code, "to")
	}
}

func TestAddBusinessDays(t *testing.T) {
	for _, c := range []struct {
		date string
		days int
		bank bool
		want string
	}{
		{"2026-11-30", 0, false, "2026-11-30"},
		{"2026-11-28", 0, false, "2026-11-30"},
		{"2026-11-21", 0, false, "2026-11-24"},
		{"2026-11-30", 1, false, "2026-12-01"},
		{"2026-11-28", 1, false, "2026-11-30"},
		{"2026-11-28", -1, false, "2026-11-27"},
		{"2026-11-30", -1, false, "2026-11-27"},
		{"2019-04-26", 1, false, "2019-05-07"},
		{"2019-05-07", -1, false, "2019-04-26"},
		{"2026-12-30", 1, false, "2026-12-31"},
		{"2026-12-30", 1, true, "2027-01-04"},
		{"1970-01-01", 1, false, "1970-01-02"},
		{"1970-01-02", 0, false, "1970-01-02"},
		{"1970-01-01", 0, true, "1970-01-05"},
		{"2050-12-29", 1, false, "2050-12-30"},
	} {
		got, err := AddBusinessDays(BusinessDaysRequest{Date: c.date, Days: c.days, BankHolidays: c.bank})
		if err != nil || got.Result != c.want || got.Date != c.date || got.Days != c.days {
			t.Errorf("%s %+d (bank %v): got %+v, %v; want %s", c.date, c.days, c.bank, got, err, c.want)
		}
	}
}

func TestResultsOutsideOfTheDataAreRefused(t *testing.T) {
	for _, c := range []struct {
		date string
		days int
		bank bool
	}{
		{"1970-01-02", -1, false},
		{"1970-01-01", -1, false},
		{"2050-12-30", 1, false},
		{"2050-12-31", 0, false}, // a Saturday
		{"2050-01-01", 10000, false},
		{"1971-01-01", -10000, true},
	} {
		_, err := AddBusinessDays(BusinessDaysRequest{Date: c.date, Days: c.days, BankHolidays: c.bank})
		wantError(t, err, toolerr.OutOfRange, "days")
	}
	for _, days := range []int{-10001, 10001, 1 << 40} {
		_, err := AddBusinessDays(BusinessDaysRequest{Date: "2026-11-30", Days: days})
		wantError(t, err, toolerr.InvalidArgument, "days")
	}
}

// TestErrorsLeadTheRightWay: what an error tells to give succeeds, to the last day named.
func TestErrorsLeadTheRightWay(t *testing.T) {
	advice := regexp.MustCompile(`(before the beginning|after the end) of the data .* give days from (-?\d+) to (-?\d+), or give an? (earlier|later) date`)
	for _, c := range []struct {
		date         string
		days         int
		bank         bool
		side, nearer string
	}{
		{"1970-01-02", -1, false, "before the beginning", "later"},
		{"1970-01-05", -3, true, "before the beginning", "later"},
		{"1971-01-01", -10000, true, "before the beginning", "later"},
		{"2050-12-30", 1, false, "after the end", "earlier"},
		{"2050-12-31", 0, false, "after the end", "earlier"},
		{"2050-12-30", 0, true, "", ""},
		{"2050-12-31", 0, true, "after the end", "earlier"},
		{"2050-01-01", 10000, false, "after the end", "earlier"},
	} {
		_, err := AddBusinessDays(BusinessDaysRequest{Date: c.date, Days: c.days, BankHolidays: c.bank})
		if c.side == "" {
			if err != nil {
				t.Errorf("%s %+d: %v", c.date, c.days, err)
			}
			continue
		}
		wantError(t, err, toolerr.OutOfRange, "days")
		m := advice.FindStringSubmatch(err.Error())
		if m == nil || m[1] != c.side || m[4] != c.nearer {
			t.Errorf("%s %+d: %v", c.date, c.days, err)
			continue
		}
		for _, text := range m[2:4] {
			days, _ := strconv.Atoi(text)
			if _, err := AddBusinessDays(BusinessDaysRequest{Date: c.date, Days: days, BankHolidays: c.bank}); err != nil {
				t.Errorf("%s %+d: the error says to give %d, and then: %v", c.date, c.days, days, err)
			}
		}
	}
}

func TestBusinessDaysBetween(t *testing.T) {
	for _, c := range []struct {
		from, to       string
		bank           bool
		business, days int
	}{
		{"2026-11-30", "2026-11-30", false, 0, 0},
		{"2026-11-28", "2026-11-28", false, 0, 0},
		{"2026-11-27", "2026-11-30", false, 1, 3},
		{"2026-11-30", "2026-11-27", false, -1, -3},
		{"2026-11-29", "2026-11-27", false, -1, -2},
		{"2026-11-27", "2026-11-29", false, 0, 2},
		{"2019-04-26", "2019-05-07", false, 1, 11},
		{"2025-12-30", "2026-01-05", false, 3, 6},
		{"2025-12-30", "2026-01-05", true, 1, 6},
		{"2026-01-01", "2026-12-31", false, 244, 364},
	} {
		got, err := BusinessDaysBetween(BusinessDaysBetweenRequest{From: c.from, To: c.to, BankHolidays: c.bank})
		if err != nil || got.BusinessDays != c.business || got.CalendarDays != c.days || got.From != c.from || got.To != c.to {
			t.Errorf("%s to %s (bank %v): got %+v, %v; want %d of %d", c.from, c.to, c.bank, got, err, c.business, c.days)
		}
	}
}

func anyDay(t *rapid.T, label string) day {
	return day(rapid.IntRange(int(firstDay), int(lastDay)).Draw(t, label))
}

// walk is the definition: step by step, the start not counted.
func walk(from day, days int, bank bool) (day, bool) {
	step := day(1)
	if days < 0 {
		step, days = -1, -days
	}
	d := from
	if days == 0 {
		d, days = d-1, 1
	}
	for days > 0 {
		d += step
		if d < firstDay || d > lastDay {
			return 0, false
		}
		if reasonOf(d, bank) == ReasonBusinessDay {
			days--
		}
	}
	return d, true
}

func TestAddingIsWalking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, bank := anyDay(t, "from"), rapid.Bool().Draw(t, "bank")
		days := rapid.OneOf(rapid.IntRange(-20, 20), rapid.IntRange(-MaxDays, MaxDays)).Draw(t, "days")
		want, ok := walk(from, days, bank)
		got, err := AddBusinessDays(BusinessDaysRequest{Date: from.String(), Days: days, BankHolidays: bank})
		if !ok {
			wantError(t, err, toolerr.OutOfRange, "days")
			return
		}
		if err != nil || got.Result != want.String() || got.Weekday != want.weekday().String() {
			t.Fatalf("%s %+d (bank %v): got %+v, %v; want %s", from, days, bank, got, err, want)
		}
		if days == 0 {
			return
		}
		back, err := BusinessDaysBetween(BusinessDaysBetweenRequest{From: from.String(), To: got.Result, BankHolidays: bank})
		if err != nil || back.BusinessDays != days {
			t.Fatalf("%s %+d is %s, but that is %d business days away (%v)", from, days, got.Result, back.BusinessDays, err)
		}
	})
}

func TestBetweenIsCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, bank := anyDay(t, "from"), rapid.Bool().Draw(t, "bank")
		to := min(max(from+day(rapid.IntRange(-800, 800).Draw(t, "away")), firstDay), lastDay)
		want := 0
		for d := from; d != to; {
			step := day(1)
			if to < from {
				step = -1
			}
			d += step
			if reasonOf(d, bank) == ReasonBusinessDay {
				want += int(step)
			}
		}
		got, err := BusinessDaysBetween(BusinessDaysBetweenRequest{From: from.String(), To: to.String(), BankHolidays: bank})
		if err != nil || got.BusinessDays != want || got.CalendarDays != int(to-from) {
			t.Fatalf("%s to %s: got %+v, %v; want %d", from, to, got, err, want)
		}
	})
}

func TestDayAgreesWithTime(t *testing.T) {
	for d := firstDay; d <= lastDay; d++ {
		if d.weekday() != d.time().Weekday() || dayOf(d.time()) != d {
			t.Fatalf("%s: %s", d, d.weekday())
		}
	}
}

func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{"2026-11-30", "1970-01-01", "2050-12-31", "2024-02-29", "", "2026-02-30", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDate("date", text)
		if err != nil {
			var e *toolerr.Error
			if !errors.As(err, &e) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if d.String() != text {
			t.Fatalf("%q was read as %s", text, d)
		}
	})
}

func BenchmarkFirstUse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parse(embedded)
		countAll(false)
	}
}

func BenchmarkHolidays(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Holidays(HolidaysRequest{Year: 2026}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddBusinessDays(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AddBusinessDays(BusinessDaysRequest{Date: "2000-01-04", Days: 10000}); err != nil {
			b.Fatal(err)
		}
	}
}
