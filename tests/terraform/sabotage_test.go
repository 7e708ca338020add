package terraform_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/tests/terraform/stack"
)

// sabotages are changes that a check of TestPlan must notice.
var sabotages = []struct {
	name, file, before, after string
	check, notice             string // which check, and what its text must hold
}{
	{
		name: "an operation of the contract removed", file: stack.Contract,
		before: `"/v1/postal":{"get":`, after: `"/v1/postal":{"x-removed":`,
		check: "routes", notice: "gone or changed: GET /v1/postal postal key",
	},
	{
		name: "a function renamed", file: stack.Contract,
		before: `"function":"calendar"`, after: `"function":"calendars"`,
		check: "routes", notice: "gone or changed: GET /v1/calendar/business-day calendar key",
	},
	{
		name: "the status of a gateway response changed", file: stack.Contract,
		before: `"statusCode":"429"},"AUTHORIZER_CONFIGURATION_ERROR"`, after: `"statusCode":"403"},"AUTHORIZER_CONFIGURATION_ERROR"`,
		check: "gateway responses", notice: `ACCESS_DENIED: status "403"`,
	},
	{
		name: "a static header without its quotes", file: stack.Contract,
		before: `"THROTTLED":{"responseParameters":{"gatewayresponse.header.Access-Control-Allow-Origin":"'*'"`,
		after:  `"THROTTLED":{"responseParameters":{"gatewayresponse.header.Access-Control-Allow-Origin":"*"`,
		check:  "gateway responses", notice: "THROTTLED: gatewayresponse.header.Access-Control-Allow-Origin: a fixed value stands in single quotes",
	},
	{
		name: "the authorizer's answers cached", file: stack.Contract,
		before: `"authorizerResultTtlInSeconds":0`, after: `"authorizerResultTtlInSeconds":300`,
		check: "authorizer", notice: "authorizerResultTtlInSeconds:300",
	},
	{
		name: "an IAM action added", file: "functions.tf",
		before: `{ actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.usage], leading_keys = ["meter#*"] },
    ]`, after: `{ actions = ["dynamodb:UpdateItem", "dynamodb:DeleteItem"], resources = [local.table_arns.usage], leading_keys = ["meter#*"] },
    ]`,
		check: "iam", notice: "authorizer may do [\"dynamodb:DeleteItem",
	},
	{
		name: "something of OAuth without the door", file: "functions.tf",
		before: "SEKISHO_TOOL_NAMES      = var.settings.tool_names\n", after: "SEKISHO_TOOL_NAMES      = var.settings.tool_names\n        SEKISHO_OAUTH_SCOPE     = \"mcp\"\n",
		check: "no OAuth door", notice: `function["mcp"].aws_lambda_function.this has to do with OAuth`,
	},
	{
		name: "a right to every item of a table", file: "functions.tf",
		before: `resources = [local.table_arns.usage], leading_keys = ["once#*"] },`, after: `resources = [local.table_arns.usage] },`,
		check: "iam", notice: "settle may do [\"dynamodb:DeleteItem table/sekisho-dev-usage\"]",
	},
	{
		name: "a call without a right", file: "functions.tf",
		before: `leading_keys = ["once#*", "refund#*"] },`, after: `leading_keys = ["once#*"] },`,
		check: "iam", notice: "dynamodb:PutItem table/sekisho-dev-usage refund#\"], and may not",
	},
	{
		name: "the brake may stop whatever it wants", file: "modules/brake/main.tf",
		before: `resources = [for function in var.functions : "${local.lambda}:${function}"]`, after: `resources = ["${local.lambda}:${var.name}-*"]`,
		check: "iam", notice: "\"lambda:DeleteFunctionConcurrency function:sekisho-dev-*\"",
	},
	{
		name: "the brake may write keys", file: "modules/brake/main.tf",
		before: `["brake#*"]`, after: `["*"]`,
		check: "iam", notice: "table/sekisho-dev-accounts *\"",
	},
	{
		name: "an alarm for each function left out", file: "modules/function/alarms.tf",
		before: "      Throttles = merge(local.own, { metric = \"Throttles\", above = var.alarms.throttles_above })\n", after: "",
		check: "idle cost", notice: "the plan {KMSKeys:1 AlarmMetrics:",
	},
	{
		name: "another metric", file: "modules/function/alarms.tf",
		before: `{ metric = "Errors" }`, after: `{ metric = "Invocations" }`,
		check: "alarms", notice: "alarm postal-errors: {metric:AWS/Lambda Invocations",
	},
	{
		name: "whole requests in a log", file: "modules/api/main.tf",
		before: "data_trace_enabled     = false", after: "data_trace_enabled     = true",
		check: "stage", notice: "the stage writes more than the access log: trace true",
	},
	{
		name: "roles for everybody", file: "modules/function/main.tf",
		before: `Principal = { Service = "lambda.amazonaws.com" }`, after: `Principal = { AWS = "*" }`,
		check: "roles", notice: "may be assumed by ",
	},
	{
		name: "settle started by any account's log", file: "modules/api/access_log.tf",
		before: "  source_arn          = \"${aws_cloudwatch_log_group.this.arn}:*\"\n", after: "",
		check: "permissions", notice: "module.sekisho.module.api.aws_lambda_permission.settle has no source_arn",
	},
	{
		name: "the authorizer started by any account's API", file: "modules/api/main.tf",
		before: "  source_arn          = \"${aws_api_gateway_rest_api.this.execution_arn}/authorizers/*\"\n", after: "",
		check: "permissions", notice: "module.sekisho.module.api.aws_lambda_permission.authorizer has no source_arn",
	},
	{
		name: "the key for messages from anywhere", file: "modules/alerts/main.tf",
		before: `"kms:ViaService"    = "sns.${var.location.region}.amazonaws.com"`, after: `"kms:ViaService"    = "*"`,
		check: "key", notice: "the key may be used by ",
	},
	{
		name: "alarms that go off when all is well", file: "modules/function/alarms.tf",
		before: `comparison_operator = "GreaterThanThreshold"`, after: `comparison_operator = "LessThanThreshold"`,
		check: "alarms", notice: "alarm postal-errors: comparison_operator is LessThanThreshold",
	},
	{
		name: "another statistic", file: "modules/observability/main.tf",
		before: `statistic = "p95"`, after: `statistic = "p50"`,
		check: "alarms", notice: "alarm latency: {metric:AWS/ApiGateway Latency",
	},
	{
		name: "another period", file: "modules/observability/main.tf",
		before: "period             = 300", after: "period             = 3600",
		check: "alarms", notice: "alarm failures: period is 3600",
	},
	{
		name: "an alarm without a playbook", file: "modules/spend_alarm/main.tf",
		before: " Playbook: ${var.playbooks}/spend-rate.md", after: "",
		check: "alarms", notice: "without what to look at or a playbook",
	},
	{
		name: "a budget that tells while little is spent", file: "modules/alerts/main.tf",
		before: `comparison_operator        = "GREATER_THAN"`, after: `comparison_operator        = "LESS_THAN"`,
		check: "money", notice: "the budget tells at LESS_THAN 50 ",
	},
	{
		name: "anomalies of one exact size", file: "modules/alerts/main.tf",
		before: `["GREATER_THAN_OR_EQUAL"]`, after: `["EQUALS"]`,
		check: "money", notice: "anomalies are told IMMEDIATE from ",
	},
	{
		name: "a topic that anybody's budget may publish to", file: "modules/alerts/main.tf",
		before: "      Resource  = local.topic\n      Condition = local.same_account\n", after: "      Resource  = local.topic\n",
		check: "topics", notice: "topic this may be published to by ",
	},
	{
		name: "an integration that outlives the gateway's patience", file: "modules/api/contract.tf",
		before: ": local.timeout_s * 1000", after: ": local.timeout_s * 1000 - 1000",
		check: "integrations", notice: ", want POST and 29000 ms",
	},
	{
		name: "an operation without a key", file: stack.Contract,
		before: `"/v1/postal/{postal_code}":{"get":{`, after: `"/v1/postal/{postal_code}":{"get":{"security":[],`,
		check: "open routes", notice: `"GET /v1/postal/{postal_code}"`,
	},
	{
		name: "warnings that nobody reads", file: "modules/api/main.tf",
		before: "fail_on_warnings             = true", after: "fail_on_warnings             = false",
		check: "nothing else", notice: "fail_on_warnings is off",
	},
	{
		name: "a setting read from another variable", file: "functions.tf",
		before: "tostring(var.settings.denial_memory_seconds)", after: "tostring(var.settings.key_cache_seconds)",
		check: "environment", notice: "SEKISHO_DENIAL_MEMORY_SECONDS:30",
	},
	{
		name: "a handler that is not in the zip", file: "modules/function/main.tf",
		before: `handler                        = "bootstrap"`, after: `handler                        = "main"`,
		check: "functions", notice: "postal: handler is main",
	},
	{
		name: "tables that no setting reaches", file: "main.tf",
		before: "    deletion_protection    = var.tables.deletion_protection\n", after: "",
		check: "tables", notice: "tables: deletion protection of accounts is true",
	},
	{
		name: "tables without encryption", file: "modules/usage/main.tf",
		before: "    enabled     = true\n    kms_key_arn", after: "    enabled     = false\n    kms_key_arn",
		check: "tables", notice: "tables: server_side_encryption of usage is ",
	},
	{
		name: "a budget in dollars instead of percents", file: "modules/alerts/main.tf",
		before: `threshold_type             = "PERCENTAGE"`, after: `threshold_type             = "ABSOLUTE_VALUE"`,
		check: "money", notice: " ABSOLUTE_VALUE",
	},
	{
		name: "an alarm on all stages", file: "modules/observability/main.tf",
		before: "{ ApiName = var.api.name, Stage = var.api.stage }", after: "{ ApiName = var.api.name }",
		check: "alarms", notice: "alarm refusals: {metric:AWS/ApiGateway 4XXError dimensions:ApiName=sekisho-dev statistic",
	},
	{
		name: "the brake's memory denied", file: "modules/brake/main.tf",
		before: `Effect    = "Allow"`, after: `Effect    = "Deny"`,
		check: "iam", notice: "brake may do [\"Deny dynamodb:GetItem ",
	},
	{
		name: "a brake that any topic pulls", file: "modules/brake/main.tf",
		before: "source_arn    = local.topic", after: `source_arn    = "${local.topic}-other"`,
		check: "permissions", notice: "the brake is started by ",
	},
	{
		name: "a table that the budget does not count", file: "modules/usage/main.tf",
		before: "  tags                        = var.tags\n", after: "",
		check: "tags", notice: `module.sekisho.module.usage.aws_dynamodb_table.this["usage"] is tagged `,
	},
}

// TestSabotage breaks a copy of the stack and asks that the checks of TestPlan notice: a
// check that can't fail would be worth nothing. All of it goes into one plan, which costs
// ten seconds of computing; each must be noticed by its own words, and no other check may
// cry.
func TestSabotage(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, func(dir string) {
		for _, s := range sabotages {
			replace(t, filepath.Join(dir, s.file), s.before, s.after)
		}
	})
	environment := prepare(t, dir, "envs/dev", variables(dist))
	plan, err := environment.Plan(t, t.Context())
	must(t, err)
	p, err := read(plan, dir)
	must(t, err)

	noticed, expected := notice(p), map[string]bool{}
	for _, s := range sabotages {
		expected[s.check] = true
		t.Run(s.name, func(t *testing.T) {
			if !slices.ContainsFunc(noticed[s.check], func(problem string) bool { return strings.Contains(problem, s.notice) }) {
				t.Errorf("TestPlan/%s does not notice; it says %q", s.check, noticed[s.check])
			}
		})
	}
	for check := range checks {
		if !expected[check] {
			t.Errorf("nothing here breaks what TestPlan/%s checks", check)
		}
	}
	for _, check := range slices.Sorted(maps.Keys(noticed)) {
		if !expected[check] {
			t.Errorf("TestPlan/%s complains for no reason: %q", check, noticed[check])
		}
	}
}

// notice runs all checks and returns those that found something, and what.
func notice(p planned) map[string][]string {
	noticed := map[string][]string{}
	for name, check := range checks {
		if problems := check(p); len(problems) > 0 {
			noticed[name] = problems
		}
	}
	return noticed
}

func replace(t *testing.T, path, before, after string) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	changed := strings.Replace(string(content), before, after, 1)
	if changed == string(content) {
		t.Fatalf("%s has no %q: correct this test", path, before)
	}
	must(t, os.WriteFile(path, []byte(changed), 0o644))
}
