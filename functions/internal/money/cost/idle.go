package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/big"

	"sekisho/functions/internal/money/price"
)

//go:embed idle.json
var idle []byte

// Idle is what an applied stack pays for even without calls. A test compares it with
// Terraform's plan of envs/dev.
type Idle struct {
	KMSKeys int64 `json:"kms_keys"`
	// AlarmMetrics is how many metrics the alarms watch, which is how alarms are billed.
	AlarmMetrics int64 `json:"alarm_metrics"`
	// OAuthAlarmMetrics are those that the OAuth door adds.
	OAuthAlarmMetrics int64 `json:"oauth_alarm_metrics"`
}

// IdleStack returns the embedded figures.
func IdleStack() (Idle, error) {
	var i Idle
	if err := json.Unmarshal(idle, &i); err != nil {
		return Idle{}, fmt.Errorf("idle.json: %w", err)
	}
	return i, nil
}

// With is what a stack pays for that calls come in by this way to.
func (i Idle) With(via Via) Idle {
	if via == OAuth {
		i.AlarmMetrics += i.OAuthAlarmMetrics
	}
	return i
}

// Idle prices a month of what is paid for even without calls.
func (m Model) Idle(i Idle) []Line {
	lines := []Line{
		m.line("encryption key", item{big.NewRat(i.KMSKeys, 1), "KMS keys", price.KeyMonth}),
		m.line("alarms", item{big.NewRat(i.AlarmMetrics, 1), "metrics watched", price.AlarmMetricMonth}),
	}
	if m.Setup.WAF {
		lines = append(lines, m.line(lineWAF, item{big.NewRat(1, 1), "rules", price.WAFRuleMonth}))
	}
	return lines
}
