package brake

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update writes it):\n%s", name, got)
	}
}

var rules = Rules{Alarms: []string{"demo-spend-rate"}, Budget: "demo-monthly", BudgetPercent: 100}

func message(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestWhatBrakes(t *testing.T) {
	alarm, budget := message(t, "alarm.json"), message(t, "budget.txt")
	for name, c := range map[string]struct{ message, says string }{
		"alarm":               {alarm, "Alarm demo-spend-rate. demo spends more than 1 USD an hour, estimated from AWS's own metrics in 3 of the last 5 minutes. Threshold Crossed: 3 out of the last 5 datapoints [2.31 (30/11/26 07:38:00), 2.2 (30/11/26 07:37:00), 1.9 (30/11/26 07:36:00)] were greater than the threshold (1.0) (minimum 3 datapoints for OK -> ALARM transition)."},
		"budget":              {budget, "Budget demo-monthly: 10.42 USD spent this month, above the threshold of 10.00 USD (100 % of 10.00 USD)."},
		"budget, CRLF":        {strings.ReplaceAll(budget, "\n", "\r\n"), "10.42 USD"},
		"budget, higher":      {strings.ReplaceAll(budget, "> $10.00", "> $12.00"), "12.00 USD (120 %"},
		"budget, to the cent": {strings.ReplaceAll(budget, "> $10.00", "> $9.996"), "threshold of 10.00 USD"},
		"budget, nothing yet": {strings.ReplaceAll(budget, "$10.42", "$0.00"), "0.00 USD spent"},
		"budget, small":       {strings.NewReplacer("$10.00", "$0.50", "$10.42", "$0.51").Replace(budget), "0.51 USD spent"},
		"no description":      {strings.Replace(alarm, `"AlarmDescription": "`, `"AlarmDescription": "", "Other": "`, 1), "Alarm demo-spend-rate. Threshold Crossed"},
		"budget, large":       {strings.NewReplacer("$10.00", "$1,000.00", "$10.42", "$1,234.50").Replace(budget), "1234.50 USD"},
	} {
		cause, brakes, why := rules.Read(c.message)
		if !brakes || !strings.Contains(cause.Text, c.says) {
			t.Errorf("%s: %t %q %q, want %q", name, brakes, cause.Text, why, c.says)
		}
	}
}

func TestWhatDoesNotBrake(t *testing.T) {
	alarm, budget := message(t, "alarm.json"), message(t, "budget.txt")
	for name, c := range map[string]struct{ message, why string }{
		"an OK":               {strings.ReplaceAll(alarm, `"NewStateValue": "ALARM"`, `"NewStateValue": "OK"`), "releases nothing"},
		"no data":             {strings.ReplaceAll(alarm, `"NewStateValue": "ALARM"`, `"NewStateValue": "INSUFFICIENT_DATA"`), "releases nothing"},
		"another alarm":       {strings.ReplaceAll(alarm, "demo-spend-rate", "demo-refusals"), "demo-refusals does not trip the brake"},
		"half an alarm":       {alarm[:len(alarm)/2], "can't be read"},
		"an alarm, no name":   {`{"NewStateValue":"ALARM"}`, "not an alarm"},
		"wrong types":         {`{"AlarmName":["demo-spend-rate"],"NewStateValue":"ALARM"}`, "can't be read"},
		"an anomaly":          {message(t, "anomaly.json"), "anomaly"},
		"a forecast":          {strings.ReplaceAll(budget, "Alert Type: ACTUAL", "Alert Type: FORECASTED"), "not actual spending"},
		"a lower threshold":   {strings.ReplaceAll(budget, "> $10.00", "> $8.00"), "below 100 %"},
		"another budget":      {strings.ReplaceAll(budget, "Budget Name: demo-monthly", "Budget Name: demo-monthly-2"), "does not trip the brake"},
		"no threshold":        {strings.ReplaceAll(budget, "Alert Threshold: > $10.00\n", ""), "can't be read"},
		"no spending":         {strings.ReplaceAll(budget, "ACTUAL Amount: $10.42\n", ""), "can't be read"},
		"no dollars":          {strings.ReplaceAll(budget, "ACTUAL Amount: $10.42", "ACTUAL Amount: 10.42"), "can't be read"},
		"a budget of nothing": {strings.ReplaceAll(budget, "Budgeted Amount: $10.00", "Budgeted Amount: $0.00"), "can't be read"},
		"a cent too low":      {strings.ReplaceAll(budget, "> $10.00", "> $9.99"), "below 100 %"},
		"no amount":           {strings.ReplaceAll(budget, "$10.00", "much"), "can't be read"},
		"an infinite amount":  {strings.ReplaceAll(budget, "> $10.00", "> $Inf"), "can't be read"},
		"no number":           {strings.ReplaceAll(budget, "> $10.00", "> $NaN"), "can't be read"},
		"two thresholds":      {budget + "\nAlert Threshold: > $99.00\n", "neither"},
		"no type":             {strings.ReplaceAll(budget, "Alert Type: ACTUAL\n", ""), "neither"},
		"empty":               {"", "neither"},
		"an array":            {"[1]", "neither"},
		"words":               {"please brake", "neither"},
		"a test":              {"You have subscribed to budget notifications.", "neither"},
	} {
		cause, brakes, why := rules.Read(c.message)
		if brakes || !strings.Contains(why, c.why) {
			t.Errorf("%s: brakes %t (%+v), because %q; want %q", name, brakes, cause, why, c.why)
		}
	}
	if _, brakes, _ := (Rules{}).Read(strings.ReplaceAll(budget, "demo-monthly", "")); brakes {
		t.Error("without a budget's name, a budget without one brakes")
	}
}

func TestDollars(t *testing.T) {
	for text, want := range map[string]float64{"$0": 0, "$0.50": 0.5, " $1,234.50 ": 1234.5, "1": -1, "$-1": -1, "$Inf": -1, "$NaN": -1, "$": -1, "": -1} {
		n, ok := dollars(text)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %v, %t; want %v", text, n, ok, want)
		}
	}
}

func TestTidy(t *testing.T) {
	long := strings.Repeat("京", 600)
	for text, want := range map[string]string{
		" a\n\tb \x7fc~": "a b c~", "": "", "\x00": "", long: long, long + "x": long + "…", "\u0080": "\u0080",
	} {
		if got := tidy(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, name := range []string{"alarm.json", "budget.txt", "anomaly.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, text string) {
		cause, brakes, why := rules.Read(text)
		if brakes != (why == "") || brakes && cause.Name != "demo-spend-rate" && cause.Name != "demo-monthly" {
			t.Errorf("brakes %t, cause %+v, why %q", brakes, cause, why)
		}
		if strings.ContainsAny(cause.Text, "\r\n") {
			t.Errorf("the cause is more than a line: %q", cause.Text)
		}
		if _, err := json.Marshal(cause); err != nil {
			t.Error(err)
		}
	})
}
