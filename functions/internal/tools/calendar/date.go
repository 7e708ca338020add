package calendar

import (
	"strings"
	"time"
	"unicode/utf8"

	"sekisho/functions/internal/tools/toolerr"
)

// parseDate reads YYYY-MM-DD, strictly, from 1970-01-01 to 2050-12-31.
func parseDate(param, text string) (day, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || len(text) != len(time.DateOnly) {
		return 0, toolerr.Invalid(param, "%s is %s, which is no date. Give an existing day as YYYY-MM-DD, such as 2026-11-30.", param, quote(text))
	}
	if t.Year() < FirstYear || t.Year() > LastYear {
		return 0, toolerr.Outside(param, "%s is %s, outside of the data. Give a day from %s to %s.", param, text, firstDay, lastDay)
	}
	return dayOf(t), nil
}

// quote shows what was sent, made short and printable.
func quote(text string) string {
	const most = 40
	text = strings.ToValidUTF8(text, "�")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return `"` + text + `"`
}
