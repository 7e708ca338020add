package main

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/functions/internal/tools/calendar"
)

func TestTheSameDaysGiveTheSameText(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "holidays.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var days []day
	for year := calendar.FirstYear; year <= calendar.LastYear; year++ {
		got, err := calendar.Holidays(calendar.HolidaysRequest{Year: year})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.Holidays {
			days = append(days, day{h.Date, h.Name, h.NameEn})
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(days), func(i, j int) { days[i], days[j] = days[j], days[i] })
	got, err := encode(days)
	if err != nil || got != string(want) {
		t.Errorf("encoding what holidays.txt holds gives another text (%d bytes, want %d), %v", len(got), len(want), err)
	}
}

func TestParse(t *testing.T) {
	const source = `const holidays = {
    "1970-01-01": {
        date: "1970-01-01",
        week: "木",
        week_en: "Thursday",
        name: "元日",
        name_en: "New Year's Day"
    },
};`
	days, err := parse(source)
	if err != nil || len(days) != 1 || days[0] != (day{"1970-01-01", "元日", "New Year's Day"}) {
		t.Errorf("got %+v, %v", days, err)
	}
	if _, err := parse(strings.Replace(source, "name_en", "english", 1)); err == nil {
		t.Error("another form of the source went unnoticed")
	}
	// 2026-05-03 is a Sunday, and the two days after it are holidays themselves.
	golden := []day{
		{"2026-05-03", "憲法記念日", "Constitution Memorial Day"}, {"2026-05-04", "みどりの日", "Greenery Day"},
		{"2026-05-05", "こどもの日", "Children's Day"}, {"2026-05-06", "こどもの日 振替休日", "Holiday in lieu"},
	}
	if got := correct(io.Discard, golden)[3]; got.name != "憲法記念日 振替休日" {
		t.Errorf("the substitute holiday is %+v", got)
	}
	if _, err := encode([]day{days[0], days[0]}); err == nil {
		t.Error("a date given twice went unnoticed")
	}
}
