package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestDirectDispatch: mcp gets what the authorizer has, the right to give back, and to invoke what
// serves tools, by the alias; settle gets mcp's log; the brake leaves mcp alone. Nothing else changes.
func TestDirectDispatch(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, nil)
	direct := variables(dist)
	direct["mcp"] = map[string]any{"dispatch": "direct"}
	s := prepare(t, dir, "envs/dev", direct)
	plan, err := s.Plan(t, t.Context())
	must(t, err)
	p, err := read(plan, dir)
	must(t, err)

	// What proxy has is checked by TestPlan; here only what differs.
	for _, name := range []string{"authorizer", "gateway responses", "routes", "integrations", "open routes", "stage", "roles", "key", "alarms", "tags", "functions", "tables"} {
		for _, problem := range checks[name](p) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	functions := map[string]string{}
	mcp := append(slices.Clone(grants["authorizer"]), "dynamodb:PutItem table/sekisho-dev-usage", "ssm:GetParameter parameter/sekisho/sekisho-dev/brake")
	for _, item := range p.contract.Paths {
		for _, op := range item {
			if name := op.Sekisho.Function; op.Sekisho.Tool && functions[name] == "" {
				functions[name] = "sekisho-dev-" + name + ":live"
				mcp = append(mcp, "lambda:InvokeFunction function:"+functions[name])
			}
		}
	}
	var brake []string
	for _, grant := range append(brakeGrants(p.contract), "sqs:SendMessage sekisho-dev-brake-undelivered") {
		if !strings.HasSuffix(grant, "function:sekisho-dev-mcp") {
			brake = append(brake, grant)
		}
	}
	for name, want := range map[string][]string{
		"mcp":   mcp,
		"brake": brake,
		"settle": append(slices.Clone(grants["settle"]), "logs:FilterLogEvents log-group:/aws/lambda/sekisho-dev-mcp:*",
			"sqs:SendMessage sekisho-dev-settle-undelivered"),
	} {
		policy, _ := p.value(functionModule(name)+"aws_iam_role_policy.this", "policy").(string)
		have, err := allowed(policy)
		must(t, err)
		log := "log-group:/aws/lambda/sekisho-dev-" + name + ":*"
		want = append(want, "logs:CreateLogStream "+log, "logs:PutLogEvents "+log)
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s may do %q, want %q", name, have, want)
		}
	}

	named, err := json.Marshal(functions)
	must(t, err)
	wantMCP := maps.Clone(environments["authorizer"])
	maps.Copy(wantMCP, environments["mcp"])
	maps.Copy(wantMCP, map[string]string{
		"SEKISHO_DISPATCH": "direct", "SEKISHO_FUNCTIONS": string(named), "SEKISHO_BRAKE_PARAMETER": "/sekisho/sekisho-dev/brake",
	})
	wantSettle := maps.Clone(environments["settle"])
	wantSettle["SEKISHO_DISPATCH_LOG_GROUP"] = "/aws/lambda/sekisho-dev-mcp"
	for name, want := range map[string]map[string]string{"mcp": wantMCP, "settle": wantSettle} {
		maps.Copy(want, process)
		blocks, _ := p.functions()[name]["environment"].([]any)
		if len(blocks) != 1 || fmt.Sprint(blocks[0].(map[string]any)["variables"]) != fmt.Sprint(want) {
			t.Errorf("%s: environment %v, want %v", name, blocks, want)
		}
	}

	const at = "module.sekisho.module.settled_log[0]."
	if filter := p.value(at+"aws_cloudwatch_log_subscription_filter.this", "filter_pattern"); filter != p.contract.DispatchFilter || filter == "" {
		t.Errorf("settle gets %v of mcp's log, want %s", filter, p.contract.DispatchFilter)
	}
	if source := p.value(at+"aws_lambda_permission.this", "source_arn"); source != "arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/sekisho-dev-mcp:*" {
		t.Errorf("settle is started by %v", source)
	}
}
