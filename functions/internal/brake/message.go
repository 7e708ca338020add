package brake

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Mark is the message attribute by which the brake recognises and ignores its own
// announcements. A filter policy on the subscription can't do that: {"exists": false}
// doesn't match messages that have no attributes at all, such as those of CloudWatch and
// Budgets (docs.aws.amazon.com/sns/latest/dg/attribute-key-matching.html).
const Mark = "sekisho_brake"

// Rules say which messages trip the brake.
type Rules struct {
	// Alarms are the names of the CloudWatch alarms that do so when they go to ALARM.
	Alarms []string
	// Budget is the name of the budget that does so when actual spending crosses a
	// threshold of at least BudgetPercent.
	Budget        string
	BudgetPercent float64
}

// Read decides whether a message trips the brake; if not, why is the reason, for the log.
//
// Alarms and anomalies are JSON; the envelope is described at
// docs.aws.amazon.com/AmazonSNS/latest/dg/sns-message-and-json-formats.html. Budgets send
// plain text. testdata has an example of each.
func (r Rules) Read(message string) (cause Cause, brakes bool, why string) {
	text := strings.TrimSpace(message)
	if strings.HasPrefix(text, "{") {
		return r.readJSON(text)
	}
	if fields, ok := budgetFields(text); ok {
		return r.readBudget(fields)
	}
	return Cause{}, false, "neither an alarm nor a budget message"
}

func (r Rules) readJSON(text string) (Cause, bool, string) {
	var m struct {
		AlarmName, AlarmDescription, NewStateValue, NewStateReason string
		AnomalyID                                                  string `json:"anomalyId"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Cause{}, false, "the JSON can't be read: " + err.Error()
	}
	switch {
	case m.AnomalyID != "":
		return Cause{}, false, "an anomaly is for people to judge"
	case m.AlarmName == "":
		return Cause{}, false, "JSON, but not an alarm"
	case !slices.Contains(r.Alarms, m.AlarmName):
		return Cause{}, false, "alarm " + tidy(m.AlarmName) + " does not trip the brake"
	case m.NewStateValue != "ALARM":
		return Cause{}, false, "alarm " + m.AlarmName + " went to " + tidy(m.NewStateValue) + ", which releases nothing"
	}
	said := "Alarm " + m.AlarmName + "."
	for _, part := range []string{m.AlarmDescription, m.NewStateReason} {
		if part = tidy(part); part != "" {
			said += " " + strings.TrimSuffix(part, ".") + "."
		}
	}
	return Cause{Name: m.AlarmName, Text: said}, true, ""
}

// budgetFields picks the lines that readBudget needs. The text isn't a budget's message
// without a name and a type of alert, or if a line is repeated.
func budgetFields(text string) (map[string]string, bool) {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !slices.Contains([]string{"Budget Name", "Budgeted Amount", "Alert Type", "Alert Threshold", "ACTUAL Amount"}, name) {
			continue
		}
		if _, twice := fields[name]; twice {
			return nil, false
		}
		fields[name] = strings.TrimSpace(value)
	}
	return fields, fields["Budget Name"] != "" && fields["Alert Type"] != ""
}

func (r Rules) readBudget(f map[string]string) (Cause, bool, string) {
	name := f["Budget Name"]
	switch {
	case r.Budget == "" || name != r.Budget:
		return Cause{}, false, "budget " + tidy(name) + " does not trip the brake"
	case f["Alert Type"] != "ACTUAL":
		return Cause{}, false, "budget " + name + ": " + tidy(f["Alert Type"]) + " is not actual spending"
	}
	limit, okLimit := dollars(f["Budgeted Amount"])
	threshold, okThreshold := dollars(strings.TrimPrefix(f["Alert Threshold"], ">"))
	spent, okSpent := dollars(f["ACTUAL Amount"])
	if !okLimit || !okThreshold || !okSpent || limit <= 0 {
		return Cause{}, false, "budget " + name + ": its amounts can't be read"
	}
	// Amounts in the message are rounded to cents.
	if threshold < limit*r.BudgetPercent/100-0.005 {
		return Cause{}, false, fmt.Sprintf("budget %s: the threshold of %.2f USD is below %g %% of %.2f USD", name, threshold, r.BudgetPercent, limit)
	}
	return Cause{Name: name, Text: fmt.Sprintf(
		"Budget %s: %.2f USD spent this month, above the threshold of %.2f USD (%.0f %% of %.2f USD).",
		name, spent, threshold, 100*threshold/limit, limit,
	)}, true, ""
}

// dollars reads an amount such as $1,234.50.
func dollars(text string) (float64, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "$")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}

// tidy turns untrusted text into one line of at most 600 characters.
func tidy(text string) string {
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if runes := []rune(line); len(runes) > 600 {
		return string(runes[:600]) + "…"
	}
	return line
}
