// Package convert turns Japanese era dates into Gregorian ones and back, quantities
// from unit to unit, and characters between full and half width.
package convert

import (
	"fmt"
	"time"

	"sekisho/functions/internal/tools/toolerr"
)

// EraRequest is the input of convert.era: exactly one of Date and EraDate.
type EraRequest struct {
	Date    string `json:"date,omitempty"`     // Gregorian, YYYY-MM-DD
	EraDate string `json:"era_date,omitempty"` // Japanese, such as 令和8年11月30日 or R8.11.30
}

// EraResponse is the output of convert.era: one day in both calendars.
type EraResponse struct {
	Date    string `json:"date"`
	EraDate string `json:"era_date"` // the first year of an era is written 元年
	Era     Era    `json:"era"`
	Weekday string `json:"weekday"` // in English
}

// Era is an era and a year of it.
type Era struct {
	Name   string `json:"name"`   // 令和
	Romaji string `json:"romaji"` // Reiwa
	Letter string `json:"letter"` // R
	Year   int    `json:"year"`   // 1 is 元年
}

// The days that are converted. Japan took up the Gregorian calendar on 1 January of
// Meiji 6 (太政官布告第337号); before, the same names of months meant other days. The
// future counts on in the present era, but not without end: nobody knows how long an
// era will last, and 令和800年 is a slip of the pen.
var (
	firstEraDay = date(1873, time.January, 1)
	lastEraDay  = date(2100, time.December, 31)
)

// era is one era; it lasts until the day before the next one begins. The day of
// change belongs to the new era.
type era struct {
	name, romaji, letter string
	start                time.Time
}

// Starts: 1868 明治改元の詔; 1912 and 1926 the days of the accessions; 1989 昭和64年政令第1号;
// 2019 平成31年政令第143号.
var eras = []era{
	{"明治", "Meiji", "M", date(1868, time.October, 23)},
	{"大正", "Taisho", "T", date(1912, time.July, 30)},
	{"昭和", "Showa", "S", date(1926, time.December, 25)},
	{"平成", "Heisei", "H", date(1989, time.January, 8)},
	{"令和", "Reiwa", "R", date(2019, time.May, 1)},
}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// eraOf gives the era of a day from 1868-10-23 on.
func eraOf(t time.Time) era {
	found := eras[0]
	for _, e := range eras {
		if !t.Before(e.start) {
			found = e
		}
	}
	return found
}

func (e era) yearOf(t time.Time) int { return t.Year() - e.start.Year() + 1 }

// ConvertEra gives a day in both calendars, from 1873-01-01 (明治6年) to 2100-12-31.
// It is strict about eras: there was no 昭和64年1月8日, and the error says what that
// day is called.
func ConvertEra(req EraRequest) (EraResponse, error) {
	var day time.Time
	var err error
	switch {
	case req.Date != "" && req.EraDate != "":
		return EraResponse{}, toolerr.Invalid("era_date", "date and era_date were both given. Send the one to convert and leave the other out.")
	case req.Date != "":
		day, err = parseGregorian(req.Date)
	case req.EraDate != "":
		day, err = parseEraDate(req.EraDate)
	default:
		err = toolerr.Invalid("date", "Neither date nor era_date was given. Give one: date (Gregorian, such as 2026-11-30) or era_date (Japanese, such as 令和8年11月30日).")
	}
	if err != nil {
		return EraResponse{}, err
	}
	e := eraOf(day)
	return EraResponse{
		Date:    day.Format(time.DateOnly),
		EraDate: spellEraDate(day),
		Era:     Era{Name: e.name, Romaji: e.romaji, Letter: e.letter, Year: e.yearOf(day)},
		Weekday: day.Weekday().String(),
	}, nil
}

func spellEraDate(day time.Time) string {
	e := eraOf(day)
	year := fmt.Sprint(e.yearOf(day))
	if year == "1" {
		year = "元"
	}
	return fmt.Sprintf("%s%s年%d月%d日", e.name, year, day.Month(), day.Day())
}

func parseGregorian(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || len(text) != len(time.DateOnly) {
		return time.Time{}, toolerr.Invalid("date", "%s is not a day of the calendar written as YYYY-MM-DD, such as 2026-11-30. Check it with the user if you can't tell which day is meant; a Japanese date goes into era_date.", toolerr.Quote(text))
	}
	return day, inEraRange("date", text, day)
}

func inEraRange(param, text string, day time.Time) error {
	if day.Before(firstEraDay) || day.After(lastEraDay) {
		return toolerr.Outside(param, "%s can't be converted: only days from %s (明治6年1月1日, when Japan took up the Gregorian calendar) to %s can. Don't send another day in its place; check the year with the user.",
			text, firstEraDay.Format(time.DateOnly), lastEraDay.Format(time.DateOnly))
	}
	return nil
}
