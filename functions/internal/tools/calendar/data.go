// Package calendar knows the Japanese national holidays from 1970 to 2050 and does
// arithmetic on business days. A business day is neither a Saturday or Sunday nor a
// national holiday; with bank holidays, nor one of 31 December to 3 January, when
// Japanese banks are closed by order (銀行法施行令 第5条).
//
// The holidays are those of holiday_jp, with some names corrected (see
// scripts/data/README.md). Equinoxes are declared each February for the following year;
// those further ahead are astronomers' forecasts, and laws change.
package calendar

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The years that the data covers.
const (
	FirstYear = 1970
	LastYear  = 2050
)

// holidays.txt: lines "letter TAB Japanese name TAB English name", an empty line,
// then one line a year: "2026 0101a 0112b …", month, day and letter of the name.
//
//go:embed holidays.txt
var embedded string

// A day is a number: days since 1970-01-01, the first of the data.
type day int

const secondsPerDay = 24 * 60 * 60

var (
	firstDay = dayOf(time.Date(FirstYear, time.January, 1, 0, 0, 0, 0, time.UTC))
	lastDay  = dayOf(time.Date(LastYear, time.December, 31, 0, 0, 0, 0, time.UTC))
)

func dayOf(t time.Time) day { return day(t.Unix() / secondsPerDay) }

func (d day) time() time.Time       { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }
func (d day) weekday() time.Weekday { return time.Weekday((int(d) + int(time.Thursday)) % 7) } // 1970-01-01 was a Thursday
func (d day) String() string        { return d.time().Format(time.DateOnly) }

// holiday is one holiday and what it is called.
type holiday struct {
	day           day
	name, english string
}

// almanac is the parsed data: the holidays in order and by day.
type almanac struct {
	list []holiday
	at   map[day]int // index into list
}

var holidays = sync.OnceValue(func() almanac { return parse(embedded) })

// parse reads the embedded text, whose checksum the tests hold.
func parse(text string) almanac {
	head, years, _ := strings.Cut(text, "\n\n")
	names := map[byte][2]string{}
	for line := range strings.Lines(head) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		names[f[0][0]] = [2]string{f[1], f[2]}
	}
	a := almanac{at: map[day]int{}}
	for line := range strings.Lines(years) {
		f := strings.Fields(line)
		year, _ := strconv.Atoi(f[0])
		for _, entry := range f[1:] {
			date, _ := strconv.Atoi(entry[:4])
			name := names[entry[4]]
			d := dayOf(time.Date(year, time.Month(date/100), date%100, 0, 0, 0, 0, time.UTC))
			a.at[d] = len(a.list)
			a.list = append(a.list, holiday{day: d, name: name[0], english: name[1]})
		}
	}
	return a
}
