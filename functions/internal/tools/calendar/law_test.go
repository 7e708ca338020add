package calendar

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// rule is one holiday of 国民の祝日に関する法律 for the years that it is in force: a date, or
// the week of a Monday in a month.
type rule struct {
	from, to      int
	month         time.Month
	dom, monday   int
	name, english string
}

var rules = []rule{
	{1970, 2050, 1, 1, 0, "元日", "New Year's Day"},
	{1970, 1999, 1, 15, 0, "成人の日", "Coming of Age Day"},
	{2000, 2050, 1, 0, 2, "成人の日", "Coming of Age Day"},
	{1970, 2050, 2, 11, 0, "建国記念の日", "National Foundation Day"},
	{1970, 1988, 4, 29, 0, "天皇誕生日", "Emperor's Birthday"},
	{1989, 2018, 12, 23, 0, "天皇誕生日", "Emperor's Birthday"},
	{2020, 2050, 2, 23, 0, "天皇誕生日", "Emperor's Birthday"},
	{1989, 2006, 4, 29, 0, "みどりの日", "Greenery Day"},
	{2007, 2050, 5, 4, 0, "みどりの日", "Greenery Day"},
	{2007, 2050, 4, 29, 0, "昭和の日", "Showa Day"},
	{1970, 2050, 5, 3, 0, "憲法記念日", "Constitution Memorial Day"},
	{1970, 2050, 5, 5, 0, "こどもの日", "Children's Day"},
	{1996, 2002, 7, 20, 0, "海の日", "Marine Day"},
	{2003, 2019, 7, 0, 3, "海の日", "Marine Day"},
	{2022, 2050, 7, 0, 3, "海の日", "Marine Day"},
	{2016, 2019, 8, 11, 0, "山の日", "Mountain Day"},
	{2022, 2050, 8, 11, 0, "山の日", "Mountain Day"},
	{1970, 2002, 9, 15, 0, "敬老の日", "Respect for the Aged Day"},
	{2003, 2050, 9, 0, 3, "敬老の日", "Respect for the Aged Day"},
	{1970, 1999, 10, 10, 0, "体育の日", "Health and Sports Day"},
	{2000, 2019, 10, 0, 2, "体育の日", "Health and Sports Day"},
	{2022, 2050, 10, 0, 2, "スポーツの日", "Sports Day"},
	{1970, 2050, 11, 3, 0, "文化の日", "National Culture Day"},
	{1970, 2050, 11, 23, 0, "勤労感謝の日", "Labor Thanksgiving Day"},
	// Moved for the Olympic Games.
	{2020, 2020, 7, 23, 0, "海の日", "Marine Day"},
	{2020, 2020, 7, 24, 0, "スポーツの日", "Sports Day"},
	{2020, 2020, 8, 10, 0, "山の日", "Mountain Day"},
	{2021, 2021, 7, 22, 0, "海の日", "Marine Day"},
	{2021, 2021, 7, 23, 0, "スポーツの日", "Sports Day"},
	{2021, 2021, 8, 8, 0, "山の日", "Mountain Day"},
	// Laws for one day.
	{1989, 1989, 2, 24, 0, "大喪の礼", "The Funeral Ceremony of Emperor Showa"},
	{1990, 1990, 11, 12, 0, "即位礼正殿の儀", "The Ceremony of the Enthronement of His Majesty the Emperor (at the Seiden)"},
	{1993, 1993, 6, 9, 0, "結婚の儀", "The Rite of Wedding of HIH Crown Prince Naruhito"},
	{2019, 2019, 5, 1, 0, "休日（祝日扱い）", "Holiday"},
	{2019, 2019, 10, 22, 0, "休日（祝日扱い）", "Holiday"},
}

func (r rule) in(year int) day {
	if r.monday == 0 {
		return dayOf(time.Date(year, r.month, r.dom, 0, 0, 0, 0, time.UTC))
	}
	first := dayOf(time.Date(year, r.month, 1, 0, 0, 0, 0, time.UTC))
	toMonday := (int(time.Monday) - int(first.weekday()) + 7) % 7
	return first + day(toMonday+7*(r.monday-1))
}

// byLaw computes the holidays of all years. Equinoxes are observed, not computed: their days
// are those of the data, their names are not.
func byLaw() map[day]holiday {
	all := map[day]holiday{}
	for year := FirstYear; year <= LastYear; year++ {
		for _, r := range rules {
			if r.from <= year && year <= r.to {
				all[r.in(year)] = holiday{r.in(year), r.name, r.english}
			}
		}
	}
	for _, h := range holidays().list {
		_, month, dom := h.day.time().Date()
		switch {
		case month == time.March && dom >= 19 && dom <= 21 && h.name == "春分の日":
			all[h.day] = holiday{h.day, h.name, "Vernal Equinox Day"}
		case month == time.September && dom >= 22 && dom <= 24 && h.name == "秋分の日":
			all[h.day] = holiday{h.day, h.name, "Autumnal Equinox Day"}
		}
	}
	national := slices.Sorted(maps.Keys(all))
	for _, d := range national {
		if d.weekday() == time.Sunday && d >= dayOf(time.Date(1973, 4, 12, 0, 0, 0, 0, time.UTC)) {
			for next := d + 1; ; next++ {
				if _, taken := all[next]; !taken {
					all[next] = holiday{next, all[d].name + " 振替休日", "Holiday in lieu"}
					break
				}
			}
		}
	}
	for i, d := range national[1:] {
		_, taken := all[d-1]
		if d-national[i] == 2 && !taken && d >= dayOf(time.Date(1985, 12, 27, 0, 0, 0, 0, time.UTC)) && (d-1).weekday() != time.Sunday {
			english := "Citizen's Holiday"
			if (d - 1).time().Year() == 2019 {
				english = "Holiday"
			}
			all[d-1] = holiday{d - 1, "休日", english}
		}
	}
	return all
}

// TestHolidaysAreThoseOfTheLaw computes each date and both names anew: no holiday is missing,
// and a substitute holiday is named after the holiday that fell on the Sunday.
func TestHolidaysAreThoseOfTheLaw(t *testing.T) {
	want, got := byLaw(), map[day]holiday{}
	for _, h := range holidays().list {
		got[h.day] = h
	}
	for d := firstDay; d <= lastDay; d++ {
		if got[d] != want[d] {
			t.Errorf("%s: got %s, want %s", d, title(got[d]), title(want[d]))
		}
	}
}

func title(h holiday) string { return fmt.Sprintf("%q (%s)", h.name, h.english) }
