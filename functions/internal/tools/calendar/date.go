package calendar

import (
	"time"

	"sekisho/functions/internal/tools/toolerr"
)

// parseDate reads YYYY-MM-DD, strictly, from 1970-01-01 to 2050-12-31.
func parseDate(param, text string) (day, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || len(text) != len(time.DateOnly) {
		return 0, toolerr.Invalid(param, "%s is not a day of the calendar written as YYYY-MM-DD, such as 2026-11-30. Check it with the user if you can't tell which day is meant; a Japanese era date goes through convert.era first.", toolerr.Quote(text))
	}
	if t.Year() < FirstYear || t.Year() > LastYear {
		return 0, toolerr.Outside(param, "%s is outside the data, which covers %s to %s. Don't send another date in its place; tell the user.", text, firstDay, lastDay)
	}
	return dayOf(t), nil
}
