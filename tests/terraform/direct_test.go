package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
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
	for _, item := range p.contract.Paths {
		for _, op := range item {
			if name := op.Sekisho.Function; op.Sekisho.Tool && functions[name] == "" {
				functions[name] = "sekisho-dev-" + name + ":live"
			}
		}
	}
	for _, problem := range checkRights(p, "direct", "backend") {
		t.Error(problem)
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
