package account

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
	Plan       string         `json:"plan"`
	UpgradeURL string         `json:"upgrade_url"`
	Now        string         `json:"now"`
	Limits     []LimitState   `json:"limits"`
	Months     []UsageOfMonth `json:"months"`
	Month      string         `json:"month"`
	Days       []UsageOfDay   `json:"days"`
}

// LimitState is where a key stands with one limit of its plan.
type LimitState struct {
	LimitPeriod string `json:"limit_period"`
	Limit       int64  `json:"limit"`
	Used        int64  `json:"used"`
	Remaining   int64  `json:"remaining"`
	LengthMs    int64  `json:"length_ms"`
	ResetAt     string `json:"reset_at"`
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

// history reads all months in one request to the store: those before the current one don't
// change, and there are no more of them than the counters are kept for.
func (h *Handler) history(ctx context.Context, call rest.Call, query HistoryQuery) (History, error) {
	limits, err := h.Plans.Limits(call.Caller.Plan)
	if err != nil {
		return History{}, err
	}
	at := h.Now()
	periods := usage.History(at)
	asked := periods[0]
	if query.Month != "" {
		if asked, err = usage.ParsePeriod(query.Month); err != nil {
			return History{}, problem.New(problem.InvalidArgument, "month: "+err.Error())
		}
	}
	place := slices.Index(periods, asked)
	if place < 0 {
		return History{}, problem.Newf(problem.OutOfRange, "month: the months from %s to %s are kept; leave month out for the current one.", periods[len(periods)-1], periods[0])
	}
	counts, err := h.Usage.Counts(ctx, call.Caller.Meter, periods...)
	if err != nil {
		return History{}, fmt.Errorf("read usage: %w", err)
	}
	out := History{
		Plan: call.Caller.Plan, UpgradeURL: h.UpgradeURL, Now: usage.FormatReset(at), Limits: limitStates(limits, counts, at),
		Month: asked.String(), Days: days(asked, counts[place], at),
	}
	for i, p := range periods {
		out.Months = append(out.Months, h.month(p, counts[i]))
	}
	return out, nil
}

// limitStates takes the counts of the current month first, and those of the month before: the
// rate's bucket does not fill at the turn.
func limitStates(limits usage.Limits, counts []usage.Counts, at time.Time) []LimitState {
	state := usage.State{Used: counts[0].Used, Today: counts[0].Days[usage.DayOf(at)], TAT: max(counts[0].TAT, counts[1].TAT)}
	states := []LimitState{}
	for _, q := range limits.Quotas(state, at) {
		states = append(states, LimitState{
			LimitPeriod: string(q.Window), Limit: q.Limit, Used: q.Used(), Remaining: q.Remaining,
			LengthMs: q.Length.Milliseconds(), ResetAt: usage.FormatReset(at.Add(q.Reset)),
		})
	}
	return states
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
func days(p usage.Period, c usage.Counts, at time.Time) []UsageOfDay {
	today := usage.DayOf(at)
	var days []UsageOfDay
	for n := 1; ; n++ {
		day, ok := p.Day(n)
		if !ok || day.Reset().After(today.Reset()) {
			return days
		}
		days = append(days, UsageOfDay{Day: day.String(), Used: c.Days[day]})
	}
}
