package terraform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// idleFigures is where `sekisho cost` has what a stack costs without calls.
const idleFigures = "functions/internal/money/cost/idle.json"

// idleStack is what is billed by the month whether anybody calls or not.
type idleStack struct {
	KMSKeys      int `json:"kms_keys"`
	AlarmMetrics int `json:"alarm_metrics"`
	// OAuthAlarmMetrics are those of the OAuth door; see TestOAuthDoor.
	OAuthAlarmMetrics int `json:"oauth_alarm_metrics"`
}

func readIdle() (have idleStack, err error) {
	text, err := os.ReadFile(filepath.Join(root, idleFigures))
	if err == nil {
		err = json.Unmarshal(text, &have)
	}
	return have, err
}

// idle counts what the plan makes of that. An alarm is billed for each metric that it looks
// at; in metric math those are the queries that name one.
func (p planned) idle() idleStack {
	var i idleStack
	for _, resource := range p.plan.ResourcePlannedValuesMap {
		switch resource.Type {
		case "aws_kms_key":
			i.KMSKeys++
		case "aws_cloudwatch_metric_alarm":
			queries, _ := resource.AttributeValues["metric_query"].([]any)
			if len(queries) == 0 {
				i.AlarmMetrics++
			}
			for _, query := range queries {
				q, _ := query.(map[string]any)
				if metrics, _ := q["metric"].([]any); len(metrics) > 0 {
					i.AlarmMetrics++
				}
			}
		}
	}
	return i
}

// checkIdle: the figures that prices are multiplied with are the plan's.
func checkIdle(p planned) []string {
	have, err := readIdle()
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", idleFigures, err)}
	}
	if want := p.idle(); have.KMSKeys != want.KMSKeys || have.AlarmMetrics != want.AlarmMetrics {
		return []string{fmt.Sprintf("%s has %+v, the plan %+v; go test ./tests/terraform -run TestPlan -update, then make generate", idleFigures, have, want)}
	}
	return nil
}

func writeIdle(p planned) error {
	i, before := p.idle(), idleStack{}
	if have, err := readIdle(); err == nil {
		before = have
	}
	text := fmt.Sprintf("{ \"kms_keys\": %d, \"alarm_metrics\": %d, \"oauth_alarm_metrics\": %d }\n", i.KMSKeys, i.AlarmMetrics, before.OAuthAlarmMetrics)
	return os.WriteFile(filepath.Join(root, idleFigures), []byte(text), 0o644)
}
