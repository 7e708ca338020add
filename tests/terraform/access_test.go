package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// checkRoles: only Lambda takes on the functions' roles.
func checkRoles(p planned) (problems []string) {
	want := map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"Service": "lambda.amazonaws.com"},
	}}}
	roles := 0
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type != "aws_iam_role" {
			continue
		}
		roles++
		var have map[string]any
		trust, _ := resource.AttributeValues["assume_role_policy"].(string)
		if err := json.Unmarshal([]byte(trust), &have); err != nil || !reflect.DeepEqual(have, want) {
			problems = append(problems, fmt.Sprintf("%s may be assumed by %s", address, trust))
		}
	}
	if functions := len(p.functions()); roles != functions {
		problems = append(problems, fmt.Sprintf("%d roles for %d functions", roles, functions))
	}
	return problems
}

// checkKey: who may use the key of the topics, each for this account and through SNS only.
func checkKey(p planned) (problems []string) {
	const ours = "123456789012"
	type condition = map[string]map[string]string
	same := condition{"StringEquals": {"aws:SourceAccount": ours}}
	want := map[string]condition{
		"AWS arn:aws:iam::" + ours + ":root kms:*":                          nil, // who looks after it
		"Service budgets.amazonaws.com kms:Decrypt kms:GenerateDataKey*":    same,
		"Service cloudwatch.amazonaws.com kms:Decrypt kms:GenerateDataKey*": same,
		"Service costalerts.amazonaws.com kms:Decrypt kms:GenerateDataKey*": same,
	}
	for _, publisher := range []string{"brake", "settle"} {
		role := "arn:aws:iam::" + ours + ":role/sekisho-dev-" + publisher
		want["AWS * kms:Decrypt kms:GenerateDataKey* "+role] = condition{
			"StringEquals": {"kms:CallerAccount": ours, "kms:ViaService": "sns.us-east-1.amazonaws.com"},
			"ArnEquals":    {"aws:PrincipalArn": role},
		}
	}
	policy, _ := p.value("module.sekisho.module.alerts.aws_kms_key.this", "policy").(string)
	var document struct {
		Statement []struct {
			Effect    string
			Principal map[string]string
			Action    []string
			Condition condition
		}
	}
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return []string{fmt.Sprintf("the key's policy: %v: %q", err, policy)}
	}
	have := map[string]condition{}
	for _, s := range document.Statement {
		if s.Effect != "Allow" || len(s.Principal) != 1 {
			problems = append(problems, fmt.Sprintf("the key's policy: effect %s, principals %v", s.Effect, s.Principal))
		}
		for kind, who := range s.Principal {
			statement := fmt.Sprintf("%s %s %s %s", kind, who, strings.Join(s.Action, " "), s.Condition["ArnEquals"]["aws:PrincipalArn"])
			have[strings.TrimSpace(statement)] = s.Condition
		}
	}
	if !reflect.DeepEqual(have, want) {
		problems = append(problems, fmt.Sprintf("the key may be used by %v, want %v", have, want))
	}
	return problems
}

// checkTopics: who may publish to which topic. Without a condition, anybody's budget could be pointed
// at ours.
func checkTopics(p planned) (problems []string) {
	const ours = "123456789012"
	type statement struct {
		Effect    string
		Principal map[string]string
		Action    string
		Resource  string
		Condition map[string]map[string]string
	}
	publish := func(topic string, principal map[string]string, condition map[string]map[string]string) statement {
		return statement{"Allow", principal, "sns:Publish", "arn:aws:sns:us-east-1:" + ours + ":sekisho-dev-" + topic, condition}
	}
	service := func(topic, name string) statement {
		return publish(topic, map[string]string{"Service": name + ".amazonaws.com"}, map[string]map[string]string{"StringEquals": {"aws:SourceAccount": ours}})
	}
	want := map[string][]statement{
		"this":       {service("money", "budgets"), service("money", "cloudwatch"), service("money", "costalerts")},
		"operations": {service("operations", "cloudwatch")},
		"usage": {publish("usage", map[string]string{"AWS": "*"},
			map[string]map[string]string{"ArnEquals": {"aws:PrincipalArn": "arn:aws:iam::" + ours + ":role/sekisho-dev-settle"}})},
	}
	topics := 0
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type == "aws_sns_topic" {
			topics++
			if resource.AttributeValues["kms_master_key_id"] == nil && !p.unknown(address, "kms_master_key_id") {
				problems = append(problems, address+" is not encrypted")
			}
		}
	}
	if topics != len(want) {
		problems = append(problems, fmt.Sprintf("there are %d topics, want %d", topics, len(want)))
	}
	for name, statements := range want {
		policy, _ := p.value("module.sekisho.module.alerts.aws_sns_topic_policy."+name, "policy").(string)
		var document struct{ Statement []statement }
		if err := json.Unmarshal([]byte(policy), &document); err != nil {
			problems = append(problems, fmt.Sprintf("topic %s: %v: %q", name, err, policy))
		}
		slices.SortFunc(document.Statement, func(a, b statement) int {
			return strings.Compare(a.Principal["Service"], b.Principal["Service"])
		})
		if !reflect.DeepEqual(document.Statement, statements) {
			problems = append(problems, fmt.Sprintf("topic %s may be published to by %+v, want %+v", name, document.Statement, statements))
		}
	}
	return problems
}

// untaggable are the resources that AWS can't tag, or that provider version 5 can't.
var untaggable = []string{
	"aws_api_gateway_base_path_mapping", "aws_api_gateway_deployment", "aws_api_gateway_method_settings", "aws_cloudwatch_dashboard",
	"aws_cloudwatch_log_metric_filter", "aws_cloudwatch_log_subscription_filter", "aws_iam_role_policy", "aws_lambda_alias",
	"aws_lambda_function_event_invoke_config", "aws_lambda_permission", "aws_sns_topic_policy", "aws_sns_topic_subscription", "terraform_data",
}

// checkTags: the budget counts what carries the stack's tag, so everything that is billed must.
func checkTags(p planned) (problems []string) {
	want := map[string]any{"sekisho-stack": "sekisho-dev", "managed-by": "terraform"}
	for _, address := range slices.Sorted(maps.Keys(p.plan.ResourcePlannedValuesMap)) {
		resource := p.plan.ResourcePlannedValuesMap[address]
		if slices.Contains(untaggable, resource.Type) {
			continue
		}
		if tags := resource.AttributeValues["tags"]; !reflect.DeepEqual(tags, want) {
			problems = append(problems, fmt.Sprintf("%s is tagged %v, want %v", address, tags, want))
		}
	}
	return problems
}
