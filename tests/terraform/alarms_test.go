package terraform_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// alarm is what decides when one goes off.
type alarm struct {
	metric, dimensions, statistic string
	above                         float64
	periods                       float64 // of five minutes each
}

// checkAlarms: each alarm watches what its name says. Those on dollars are TestMoney's.
func checkAlarms(p planned) (problems []string) {
	gateway := fmt.Sprintf("ApiName=%s Stage=live", p.name())
	want := map[string]alarm{
		"refusals": {"AWS/ApiGateway 4XXError", gateway, "Sum", 500, 1},
		"failures": {"AWS/ApiGateway 5XXError", gateway, "Sum", 20, 1},
		"latency":  {"AWS/ApiGateway Latency", gateway, "p95", 10000, 3},
	}
	for role := range p.functions() {
		own, errors, throttles := "FunctionName="+p.name()+"-"+role, 5.0, 10.0
		if role == "brake" {
			errors, throttles = 0, 0
		}
		want[role+"-errors"] = alarm{"AWS/Lambda Errors", own, "Sum", errors, 1}
		want[role+"-throttles"] = alarm{"AWS/Lambda Throttles", own, "Sum", throttles, 1}
		if asynchronous[role] {
			want[role+"-undelivered"] = alarm{"AWS/SQS ApproximateNumberOfMessagesVisible", "QueueName=" + p.name() + "-" + role + "-undelivered", "Maximum", 0, 1}
		}
	}
	// Every wrong key is an error that the authorizer returns, and Lambda counts it as one.
	want["authorizer-errors"] = alarm{"Sekisho sekisho-dev-authorizer-errors", "", "Sum", 5, 1}

	have := map[string]alarm{}
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type != "aws_cloudwatch_metric_alarm" || strings.Contains(address, ".module.spend_alarm.") {
			continue
		}
		values := resource.AttributeValues
		name := strings.TrimPrefix(values["alarm_name"].(string), p.name()+"-")
		statistic, _ := values["statistic"].(string)
		if extended, _ := values["extended_statistic"].(string); extended != "" {
			statistic += extended
		}
		have[name] = alarm{
			fmt.Sprintf("%v %v", values["namespace"], values["metric_name"]), dimensions(values["dimensions"]), statistic,
			values["threshold"].(float64), values["evaluation_periods"].(float64),
		}
		for attribute, value := range map[string]any{"comparison_operator": "GreaterThanThreshold", "period": 300.0, "treat_missing_data": "notBreaching"} {
			if !reflect.DeepEqual(values[attribute], value) {
				problems = append(problems, fmt.Sprintf("alarm %s: %s is %v, want %v", name, attribute, values[attribute], value))
			}
		}
		if values["datapoints_to_alarm"] != nil || values["actions_enabled"] != true {
			problems = append(problems, fmt.Sprintf("alarm %s: %v datapoints, actions %v", name, values["datapoints_to_alarm"], values["actions_enabled"]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			problems = append(problems, fmt.Sprintf("alarm %s: %+v, want %+v", name, have[name], want[name]))
		}
	}
	if len(have) > len(want) {
		problems = append(problems, fmt.Sprintf("alarms: %v, want %v", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want))))
	}
	return append(problems, checkPlaybooks(p)...)
}

// checkPlaybooks: each alarm says what to do and links to a playbook that is there, and no
// playbook is without an alarm.
func checkPlaybooks(p planned) (problems []string) {
	linked := map[string]bool{}
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type != "aws_cloudwatch_metric_alarm" {
			continue
		}
		text, _ := resource.AttributeValues["alarm_description"].(string)
		_, path, ok := strings.Cut(text, " Playbook: ")
		if !ok || len(text) > 1024 || !strings.Contains(text, "Look at") {
			problems = append(problems, fmt.Sprintf("%s: %d characters, without what to look at or a playbook: %s", address, len(text), text))
		}
		linked[filepath.Base(path)] = true
	}
	files, err := filepath.Glob(filepath.Join(root, playbooks, "*.md"))
	if err != nil {
		return append(problems, err.Error())
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	if have := slices.Sorted(maps.Keys(linked)); !slices.Equal(have, names) {
		problems = append(problems, fmt.Sprintf("alarms link to %v, and there are the playbooks %v", have, names))
	}
	return problems
}

func dimensions(value any) string {
	given, _ := value.(map[string]any)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list = append(list, fmt.Sprintf("%s=%v", name, given[name]))
	}
	return strings.Join(list, " ")
}

// checkMoney: when Budgets and Anomaly Detection speak up.
func checkMoney(p planned) (problems []string) {
	const at = "module.sekisho.module.alerts."
	for attribute, want := range map[string]any{"budget_type": "COST", "time_unit": "MONTHLY", "limit_unit": "USD", "limit_amount": "10"} {
		if have := p.value(at+"aws_budgets_budget.this", attribute); have != want {
			problems = append(problems, fmt.Sprintf("the budget's %s is %v, want %v", attribute, have, want))
		}
	}
	notifications, _ := p.value(at+"aws_budgets_budget.this", "notification").([]any)
	if len(notifications) == 0 {
		problems = append(problems, "the budget tells nobody")
	}
	for _, n := range notifications {
		notification := n.(map[string]any)
		if notification["comparison_operator"] != "GREATER_THAN" || notification["threshold_type"] != "PERCENTAGE" {
			problems = append(problems, fmt.Sprintf("the budget tells at %v %v %v", notification["comparison_operator"], notification["threshold"], notification["threshold_type"]))
		}
	}
	subscription := at + "aws_ce_anomaly_subscription.this[0]"
	want := map[string]any{"key": "ANOMALY_TOTAL_IMPACT_ABSOLUTE", "match_options": []any{"GREATER_THAN_OR_EQUAL"}, "values": []any{"5"}}
	dimension, _ := p.block(subscription, "threshold_expression")["dimension"].([]any)
	if len(dimension) != 1 || !reflect.DeepEqual(dimension[0], want) || p.value(subscription, "frequency") != "IMMEDIATE" {
		problems = append(problems, fmt.Sprintf("anomalies are told %v from %v, want at once from %v", p.value(subscription, "frequency"), dimension, want))
	}
	return problems
}
