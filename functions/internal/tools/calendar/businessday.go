package calendar

import "time"

// Reason says what a day is. A day that is several things is the first that fits:
// holiday, weekend, bank_holiday; a holiday on a Sunday is a holiday.
type Reason string

const (
	ReasonBusinessDay Reason = "business_day"
	ReasonWeekend     Reason = "weekend"
	ReasonHoliday     Reason = "holiday"
	ReasonBankHoliday Reason = "bank_holiday"
)

// BusinessDayRequest is the input of calendar.is_business_day.
type BusinessDayRequest struct {
	Date         string `json:"date"` // YYYY-MM-DD, 1970 to 2050
	BankHolidays bool   `json:"bank_holidays,omitempty"`
}

// BusinessDayResponse is the output of calendar.is_business_day. HolidayName is nil
// if the day is not a national holiday.
type BusinessDayResponse struct {
	Date          string  `json:"date"`
	IsBusinessDay bool    `json:"is_business_day"`
	Weekday       string  `json:"weekday"`
	Reason        Reason  `json:"reason"`
	HolidayName   *string `json:"holiday_name"`
}

// IsBusinessDay tells whether a date is a business day, and if not, why.
func IsBusinessDay(req BusinessDayRequest) (BusinessDayResponse, error) {
	d, err := parseDate("date", req.Date)
	if err != nil {
		return BusinessDayResponse{}, err
	}
	out := BusinessDayResponse{Date: d.String(), Weekday: d.weekday().String(), Reason: reasonOf(d, req.BankHolidays)}
	out.IsBusinessDay = out.Reason == ReasonBusinessDay
	if i, ok := holidays().at[d]; ok {
		out.HolidayName = &holidays().list[i].name
	}
	return out, nil
}

func reasonOf(d day, bank bool) Reason {
	if _, ok := holidays().at[d]; ok {
		return ReasonHoliday
	}
	switch d.weekday() {
	case time.Saturday, time.Sunday:
		return ReasonWeekend
	}
	if bank {
		_, month, dom := d.time().Date()
		if month == time.December && dom == 31 || month == time.January && dom <= 3 {
			return ReasonBankHoliday
		}
	}
	return ReasonBusinessDay
}
