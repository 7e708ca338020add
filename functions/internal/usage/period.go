package usage

import (
	"fmt"
	"time"
)

// Period is a UTC calendar month, written as 2026-11. The zero Period is January of year 1.
type Period struct{ first time.Time }

// PeriodOf returns the UTC month of t.
func PeriodOf(t time.Time) Period {
	y, m, _ := t.UTC().Date()
	return Period{time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)}
}

// ParsePeriod reads the form that String writes.
func ParsePeriod(text string) (Period, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return Period{}, fmt.Errorf("month %q: write it as YYYY-MM, such as 2026-11", text)
	}
	return PeriodOf(t), nil
}

func (p Period) String() string { return p.first.Format("2006-01") }

// Start is the first instant of the month.
func (p Period) Start() time.Time { return p.first }

// Reset is the first instant of the next month, when the count starts again at zero.
func (p Period) Reset() time.Time { return p.first.AddDate(0, 1, 0) }

// Before is the month n months earlier.
func (p Period) Before(n int) Period { return PeriodOf(p.first.AddDate(0, -n, 0)) }

// Day is a UTC calendar day, written as 2026-11-30.
type Day struct{ first time.Time }

// DayOf returns the day that an instant lies in, by UTC.
func DayOf(t time.Time) Day {
	y, m, d := t.UTC().Date()
	return Day{time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

func (d Day) String() string { return d.first.Format(time.DateOnly) }

// Period is the month that the day lies in.
func (d Day) Period() Period { return PeriodOf(d.first) }

// Number of the day in its month, from 1.
func (d Day) Number() int { return d.first.Day() }

// Reset is the first instant of the next day.
func (d Day) Reset() time.Time { return d.first.AddDate(0, 0, 1) }

// Day returns a day of the month by its number, from 1; ok is false for one that the month
// does not have.
func (p Period) Day(number int) (d Day, ok bool) {
	d = Day{p.first.AddDate(0, 0, number-1)}
	return d, number >= 1 && d.Period() == p
}

// FormatReset writes a reset instant the way every answer of the API does, with
// milliseconds: 2026-12-01T00:00:00.000Z.
func FormatReset(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
