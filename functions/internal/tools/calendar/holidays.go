package calendar

import (
	"sort"
	"time"

	"sekisho/functions/internal/tools/toolerr"
)

// HolidaysRequest is the input of calendar.holidays.
type HolidaysRequest struct {
	Year int `json:"year"` // 1970 to 2050
}

// HolidaysResponse is the output of calendar.holidays, in order of date.
type HolidaysResponse struct {
	Year     int       `json:"year"`
	Holidays []Holiday `json:"holidays"`
}

// Holiday is one national holiday. The name of a substitute holiday (振替休日) begins with
// that of the holiday that fell on a Sunday.
type Holiday struct {
	Date    string `json:"date"` // YYYY-MM-DD
	Name    string `json:"name"`
	NameEn  string `json:"name_en"`
	Weekday string `json:"weekday"` // in English
}

// Holidays lists the national holidays of a year. The error is toolerr.OutOfRange
// for a year without data.
func Holidays(req HolidaysRequest) (HolidaysResponse, error) {
	if req.Year < FirstYear || req.Year > LastYear {
		return HolidaysResponse{}, toolerr.Outside("year", "%d is outside the data, which covers %d to %d. Don't send another year in its place; tell the user.", req.Year, FirstYear, LastYear)
	}
	list := holidays().list
	newYear := func(year int) int {
		d := dayOf(time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC))
		return sort.Search(len(list), func(i int) bool { return list[i].day >= d })
	}
	out := HolidaysResponse{Year: req.Year, Holidays: []Holiday{}}
	for _, h := range list[newYear(req.Year):newYear(req.Year+1)] {
		out.Holidays = append(out.Holidays, Holiday{
			Date: h.day.String(), Name: h.name, NameEn: h.english, Weekday: h.day.weekday().String(),
		})
	}
	return out, nil
}
