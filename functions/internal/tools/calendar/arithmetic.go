package calendar

import (
	"sort"
	"sync"

	"sekisho/functions/internal/tools/toolerr"
)

// MaxDays is the most business days that can be added or taken off at once.
const MaxDays = 10000

// BusinessDaysRequest is the input of calendar.business_days.
type BusinessDaysRequest struct {
	Date         string `json:"date"` // YYYY-MM-DD, 1970 to 2050
	Days         int    `json:"days"` // −10,000 to 10,000
	BankHolidays bool   `json:"bank_holidays,omitempty"`
}

// BusinessDaysResponse is the output of calendar.business_days. Weekday is that of
// Result.
type BusinessDaysResponse struct {
	Date    string `json:"date"`
	Days    int    `json:"days"`
	Result  string `json:"result"`
	Weekday string `json:"weekday"`
}

// AddBusinessDays finds the n-th business day after a date, or the |n|-th before it
// if n is negative; the date itself is not counted. With n = 0 it gives the date if
// it is a business day, else the next business day. The error is
// toolerr.OutOfRange if the result would lie outside of 1970 to 2050.
func AddBusinessDays(req BusinessDaysRequest) (BusinessDaysResponse, error) {
	d, err := parseDate("date", req.Date)
	if err != nil {
		return BusinessDaysResponse{}, err
	}
	if req.Days < -MaxDays || req.Days > MaxDays {
		return BusinessDaysResponse{}, toolerr.Invalid("days", "%d is out of range. Give a whole number from -%d to %d; for more, go on from the result of a first call.", req.Days, MaxDays, MaxDays)
	}
	c := countOf(req.BankHolidays)
	nth := c.through(d) + req.Days // which business day it is, the first of the data being 1
	switch {
	case req.Days < 0:
		nth = c.before(d) + 1 + req.Days
	case req.Days == 0:
		nth = c.before(d) + 1
	}
	result, ok := c.nth(nth)
	if !ok {
		return BusinessDaysResponse{}, outsideData(c, d, req.Days)
	}
	return BusinessDaysResponse{Date: d.String(), Days: req.Days, Result: result.String(), Weekday: result.weekday().String()}, nil
}

// outsideData says on which side days lead out of the data, and which days do not.
func outsideData(c count, d day, days int) error {
	side, date := "after the end", "an earlier"
	if days < 0 {
		side, date = "before the beginning", "a later"
	}
	least, most := max(-c.before(d), -MaxDays), min(c.all()-c.through(d), MaxDays)
	if most == 0 && c.before(d) == c.all() {
		most = -1 // 0 would be the next business day
	}
	return toolerr.Outside("days",
		"%d business days from %s is %s of the data (%s to %s). For this date give days from %d to %d, or give %s date.",
		days, d, side, firstDay, lastDay, least, most, date)
}

// BusinessDaysBetweenRequest is the input of calendar.business_days_between.
type BusinessDaysBetweenRequest struct {
	From         string `json:"from"` // YYYY-MM-DD, 1970 to 2050
	To           string `json:"to"`   // likewise; may lie before From
	BankHolidays bool   `json:"bank_holidays,omitempty"`
}

// BusinessDaysBetweenResponse is the output of calendar.business_days_between.
type BusinessDaysBetweenResponse struct {
	From         string `json:"from"`
	To           string `json:"to"`
	BusinessDays int    `json:"business_days"`
	CalendarDays int    `json:"calendar_days"` // To − From
}

// BusinessDaysBetween counts the business days on the way from one date to another:
// the first date is not counted, the second is. Backwards the count is negative. So
// it undoes AddBusinessDays: d plus n business days is n business days from d.
func BusinessDaysBetween(req BusinessDaysBetweenRequest) (BusinessDaysBetweenResponse, error) {
	from, err := parseDate("from", req.From)
	if err != nil {
		return BusinessDaysBetweenResponse{}, err
	}
	to, err := parseDate("to", req.To)
	if err != nil {
		return BusinessDaysBetweenResponse{}, err
	}
	c := countOf(req.BankHolidays)
	n := c.through(to) - c.through(from)
	if to < from {
		n = c.before(to) - c.before(from)
	}
	return BusinessDaysBetweenResponse{From: from.String(), To: to.String(), BusinessDays: n, CalendarDays: int(to - from)}, nil
}

// count holds for each day how many business days there are before it, from the
// first day of the data on; one more entry gives the number of all. So every
// operation is a subtraction or a binary search, however far it goes.
type count []uint16

var (
	counts     = sync.OnceValue(func() count { return countAll(false) })
	bankCounts = sync.OnceValue(func() count { return countAll(true) })
)

func countOf(bank bool) count {
	if bank {
		return bankCounts()
	}
	return counts()
}

func countAll(bank bool) count {
	c := make(count, 1, int(lastDay-firstDay)+2)
	for d := firstDay; d <= lastDay; d++ {
		n := c[len(c)-1]
		if reasonOf(d, bank) == ReasonBusinessDay {
			n++
		}
		c = append(c, n)
	}
	return c
}

func (c count) all() int          { return int(c[len(c)-1]) }
func (c count) before(d day) int  { return int(c[d-firstDay]) }
func (c count) through(d day) int { return int(c[d-firstDay+1]) }

// nth finds the n-th business day of the data, from 1 on.
func (c count) nth(n int) (day, bool) {
	if n < 1 || n > c.all() {
		return 0, false
	}
	i := sort.Search(len(c), func(i int) bool { return int(c[i]) >= n })
	return firstDay + day(i-1), true
}
