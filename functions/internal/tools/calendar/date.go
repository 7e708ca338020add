package calendar

import (
	"time"

	"sekisho/functions/internal/tools/toolerr"
)

// parseDate reads YYYY-MM-DD, strictly, from 1970-01-01 to 2050-12-31.
func parseDate(param, text string) (day, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || len(text) != len(time.DateOnly) {
		return 0, toolerr.Invalid(param, "%s is %s, which is no date. Give an existing day as YYYY-MM-DD, such as 2026-11-30.", param, toolerr.Quote(text))
	}
	if t.Year() < FirstYear || t.Year() > LastYear {
		return 0, toolerr.Outside(param, "%s is %s, outside of the data. Give a day from %s to %s.", param, text, firstDay, lastDay)
	}
	return dayOf(t), nil
}
