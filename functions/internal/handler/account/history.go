package account

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// HistoryQuery names the month whose days are shown; "" for the current one.
type HistoryQuery struct {
	Month string `json:"month,omitempty"`
}

// History is what a key used in the months that counters are kept.
type History struct {
	Plan   string         `json:"plan"`
	Months []UsageOfMonth `json:"months"`
	Month  string         `json:"month"`
	Days   []UsageOfDay   `json:"days"`
}

// UsageOfMonth in units, denied calls in calls.
type UsageOfMonth struct {
	Month    string        `json:"month"`
	Used     int64         `json:"used"`
	Admitted int64         `json:"admitted"`
	Refunded int64         `json:"refunded"`
	Denied   int64         `json:"denied"`
	Tools    []UsageOfTool `json:"tools"`
}

// UsageOfTool in a month, in units.
type UsageOfTool struct {
	Tool     string `json:"tool"`
	Admitted int64  `json:"admitted"`
	Refunded int64  `json:"refunded"`
}

// UsageOfDay in units.
type UsageOfDay struct {
	Day  string `json:"day"`
	Used int64  `json:"used"`
}

// months of the history, the current one included.
const months = 13

// history reads all months in one request to the store: those before the current one don't
// change, and there are no more of them than the counters are kept for.
func (h *Handler) history(ctx context.Context, call rest.Call, query HistoryQuery) (History, error) {
	now := usage.PeriodOf(h.Now())
	asked := now
	if query.Month != "" {
		var err error
		if asked, err = usage.ParsePeriod(query.Month); err != nil {
			return History{}, problem.New(problem.InvalidArgument, "month: "+err.Error())
		}
	}
	periods := make([]usage.Period, months)
	for i := range periods {
		periods[i] = now.Before(i)
	}
	at := slices.Index(periods, asked)
	if at < 0 {
		return History{}, problem.Newf(problem.OutOfRange, "month: the months from %s to %s are kept; leave month out for the current one.", periods[months-1], now)
	}
	counts, err := h.Usage.Counts(ctx, call.Caller.Meter, periods...)
	if err != nil {
		return History{}, fmt.Errorf("read usage: %w", err)
	}
	out := History{Plan: call.Caller.Plan, Month: asked.String(), Days: h.days(asked, counts[at])}
	for i, p := range periods {
		out.Months = append(out.Months, h.month(p, counts[i]))
	}
	return out, nil
}

func (h *Handler) month(p usage.Period, c usage.Counts) UsageOfMonth {
	m := UsageOfMonth{
		Month: p.String(), Used: c.Used, Admitted: c.Used + c.Refunded, Refunded: c.Refunded, Denied: c.Denied, Tools: []UsageOfTool{},
	}
	byTool := contract.Named(h.API, c.Operations)
	for _, tool := range slices.Sorted(maps.Keys(byTool)) {
		m.Tools = append(m.Tools, UsageOfTool{Tool: tool, Admitted: byTool[tool].Charged, Refunded: byTool[tool].Refunded})
	}
	return m
}

// days are those of a month that have begun, so that a chart has no gaps.
func (h *Handler) days(p usage.Period, c usage.Counts) []UsageOfDay {
	today := usage.DayOf(h.Now())
	var days []UsageOfDay
	for n := 1; ; n++ {
		day, ok := p.Day(n)
		if !ok || day.Reset().After(today.Reset()) {
			return days
		}
		days = append(days, UsageOfDay{Day: day.String(), Used: c.Days[day]})
	}
}
