package brake

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Mark is the message attribute that the brake's own messages carry, and that it leaves
// alone. A filter policy of the subscription could not keep them away: {"exists": false}
// matches no message without any attribute, and neither CloudWatch nor Budgets sends one
// (docs.aws.amazon.com/sns/latest/dg/attribute-key-matching.html).
const Mark = "sekisho_brake"

// Rules say which messages put the brake on.
type Rules struct {
	// Alarms are the names of the CloudWatch alarms that do, when they go to ALARM.
	Alarms []string
	// Budget is the name of the budget that does, when what was spent crosses a threshold
	// of BudgetPercent of it, or a higher one.
	Budget        string
	BudgetPercent float64
}

// Read decides about the text of one message. why says it for the log where brakes is false.
//
// Alarms come as JSON (docs.aws.amazon.com/AmazonSNS/latest/dg/sns-message-and-json-formats.html
// shows the envelope; the fields are those of every alarm), anomalies too, budgets as text
// for people, as in testdata.
func (r Rules) Read(message string) (cause Cause, brakes bool, why string) {
	text := strings.TrimSpace(message)
	if strings.HasPrefix(text, "{") {
		return r.readJSON(text)
	}
	if fields, ok := budgetFields(text); ok {
		return r.readBudget(fields)
	}
	return Cause{}, false, "neither an alarm nor a budget's message"
}

func (r Rules) readJSON(text string) (Cause, bool, string) {
	var m struct {
		AlarmName, AlarmDescription, NewStateValue, NewStateReason string
		AnomalyID                                                  string `json:"anomalyId"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Cause{}, false, "JSON that can't be read: " + err.Error()
	}
	switch {
	case m.AnomalyID != "":
		return Cause{}, false, "an anomaly is for people to judge"
	case m.AlarmName == "":
		return Cause{}, false, "JSON that is no alarm"
	case !slices.Contains(r.Alarms, m.AlarmName):
		return Cause{}, false, "alarm " + tidy(m.AlarmName) + " does not brake"
	case m.NewStateValue != "ALARM":
		return Cause{}, false, "alarm " + m.AlarmName + " went to " + tidy(m.NewStateValue) + ": that releases nothing"
	}
	said := "Alarm " + m.AlarmName + "."
	for _, part := range []string{m.AlarmDescription, m.NewStateReason} {
		if part = tidy(part); part != "" {
			said += " " + strings.TrimSuffix(part, ".") + "."
		}
	}
	return Cause{Name: m.AlarmName, Text: said}, true, ""
}

// budgetFields are the lines of a budget's message that it is read by, each once.
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
		return Cause{}, false, "budget " + tidy(name) + " does not brake"
	case f["Alert Type"] != "ACTUAL":
		return Cause{}, false, "budget " + name + ": " + tidy(f["Alert Type"]) + " is not money spent"
	}
	limit, okLimit := dollars(f["Budgeted Amount"])
	threshold, okThreshold := dollars(strings.TrimPrefix(f["Alert Threshold"], ">"))
	spent, okSpent := dollars(f["ACTUAL Amount"])
	if !okLimit || !okThreshold || !okSpent || limit <= 0 {
		return Cause{}, false, "budget " + name + ": amounts that can't be read"
	}
	// The message has whole cents.
	if threshold < limit*r.BudgetPercent/100-0.005 {
		return Cause{}, false, fmt.Sprintf("budget %s: the threshold of %.2f USD is below %g %% of %.2f USD", name, threshold, r.BudgetPercent, limit)
	}
	return Cause{Name: name, Text: fmt.Sprintf(
		"Budget %s: %.2f USD were spent this month, more than the threshold of %.2f USD (%.0f %% of %.2f USD).",
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

// tidy makes one line of at most 600 characters of what others wrote.
func tidy(text string) string {
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if runes := []rune(line); len(runes) > 600 {
		return string(runes[:600]) + "…"
	}
	return line
}
