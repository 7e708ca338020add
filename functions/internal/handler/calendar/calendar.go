// Package calendar serves the operations of the function "calendar".
package calendar

import (
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/tools/calendar"
)

// Operations lists what the function serves.
func Operations() map[string]rest.Operation {
	return map[string]rest.Operation{
		"calendar.holidays":              rest.Simple(calendar.Holidays),
		"calendar.is_business_day":       rest.Simple(calendar.IsBusinessDay),
		"calendar.business_days":         rest.Simple(calendar.AddBusinessDays),
		"calendar.business_days_between": rest.Simple(calendar.BusinessDaysBetween),
	}
}
