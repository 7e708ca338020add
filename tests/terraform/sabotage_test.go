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
		before: "  /v1/postal:\n    get:\n", after: "  /v1/postal:\n    x-removed:\n",
		check: "routes", notice: "gone or changed: GET /v1/postal postal key",
	},
	{
		name: "a function renamed", file: stack.Contract,
		before: "        function: calendar\n", after: "        function: calendars\n",
		check: "routes", notice: "gone or changed: GET /v1/calendar/holidays calendar key",
	},
	{
		name: "the status of a gateway response changed", file: stack.Contract,
		before: "  ACCESS_DENIED:\n    statusCode: \"429\"", after: "  ACCESS_DENIED:\n    statusCode: \"403\"",
		check: "gateway responses", notice: `ACCESS_DENIED: status "403"`,
	},
	{
		name: "a static header without its quotes", file: stack.Contract,
		before: "  THROTTLED:\n    statusCode: \"429\"\n    responseParameters:\n      gatewayresponse.header.Access-Control-Allow-Origin: '''*'''",
		after:  "  THROTTLED:\n    statusCode: \"429\"\n    responseParameters:\n      gatewayresponse.header.Access-Control-Allow-Origin: \"*\"",
		check:  "gateway responses", notice: "THROTTLED: gatewayresponse.header.Access-Control-Allow-Origin: a fixed value stands in single quotes",
	},
	{
		name: "the authorizer's answers cached", file: stack.Contract,
		before: "authorizerResultTtlInSeconds: 0", after: "authorizerResultTtlInSeconds: 300",
		check: "authorizer", notice: "authorizerResultTtlInSeconds:300",
	},
	{
		name: "an IAM action added", file: "functions.tf",
		before: `{ actions = ["dynamodb:UpdateItem"], resources = [local.table_arns.usage] },`, after: `{ actions = ["dynamodb:UpdateItem", "dynamodb:DeleteItem"], resources = [local.table_arns.usage] },`,
		check: "iam", notice: "authorizer may do [\"dynamodb:DeleteItem",
	},
	{
		name: "the brake may stop whatever it wants", file: "modules/brake/main.tf",
		before: `resources = [for function in var.functions : "${local.lambda}:${function}"]`, after: `resources = ["${local.lambda}:${var.name}-*"]`,
		check: "iam", notice: "brake may do [\"lambda:DeleteFunctionConcurrency function:sekisho-dev-*",
	},
	{
		name: "the brake may write keys", file: "modules/brake/main.tf",
		before: `["brake#*"]`, after: `["*"]`,
		check: "iam", notice: "the brake's memory: ",
	},
	{
		name: "an alarm for each function left out", file: "modules/function/main.tf",
		before: "    Errors    = var.alarms.errors_above\n", after: "",
		check: "idle cost", notice: "the plan {KMSKeys:1 AlarmMetrics:",
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
