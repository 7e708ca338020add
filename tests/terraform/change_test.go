package terraform_test

import (
	"os"
	"slices"
	"testing"

	"sekisho/tests/awsfake"
)

// TestChanges changes one setting after the other on an applied stack, each by an apply. None may
// replace a table or a key, and after each one the API and its stage are there. Tags are
// not among them: moto's API Gateway and the stand-ins know neither TagResource nor UntagResource.
// It takes too long for every run: scripts/prove.
func TestChanges(t *testing.T) {
	if os.Getenv("SEKISHO_CHANGES") == "" {
		t.Skip("takes minutes: make prove, or SEKISHO_CHANGES=yes")
	}
	kept := []string{"aws_dynamodb_table", "aws_kms_key", "aws_api_gateway_rest_api"}
	dir, dist := checkout(t, nil)
	s := prepare(t, dir, "envs/dev", map[string]any{
		"dist":   dist,
		"cost":   map[string]any{"monitor_arn": awsfake.ServiceMonitor},
		"tables": map[string]any{"deletion_protection": false},
	})
	timed(t, "apply", func() error { return s.PlanAndApply(t, t.Context()) })
	for _, c := range []struct {
		name     string
		variable map[string]any
	}{
		{"plans", map[string]any{"plans": map[string]any{"free": map[string]any{"monthly": 500, "daily": 50}, "pro": map[string]any{}}}},
		{"settings", map[string]any{"settings": map[string]any{"log_level": "debug", "tool_names": "canonical", "listing": "search", "listing_budget": 5000}}},
		{"alerts", map[string]any{"alerts": map[string]any{"usage_percent": []int{50}, "subscriptions": []map[string]any{{"protocol": "email", "endpoint": "support@example.com"}}}}},
		{"functions", map[string]any{"functions": map[string]any{"postal": map[string]any{"memory_mb": 512, "reserved_concurrency": 5}, "mcp": map[string]any{"timeout_seconds": 20}}}},
		{"api.throttle", map[string]any{"api": map[string]any{"throttle": map[string]any{"rate_per_second": 50, "burst": 100, "methods": map[string]any{"GET /v1/health": map[string]any{"rate_per_second": 1, "burst": 2}}}}}},
		{"api.stage", map[string]any{"api": map[string]any{"stage": "v2"}}},
		{"tables", map[string]any{"tables": map[string]any{"deletion_protection": false, "point_in_time_recovery": false, "max_units_per_second": map[string]any{"read": 500, "write": 200}}}},
		{"observability", map[string]any{"observability": map[string]any{"emails": []string{"operations@example.com"}, "log_retention_days": 7, "alarms": map[string]any{"refusals_above": 100}}}},
		{"cost", map[string]any{"cost": map[string]any{"monitor_arn": awsfake.ServiceMonitor, "monthly_usd": 50, "emails": []string{"finance@example.com"}, "live": map[string]any{"usd_per_hour": 3}}}},
		{"cost.brake.functions", map[string]any{"cost": map[string]any{"monitor_arn": awsfake.ServiceMonitor, "brake": map[string]any{"functions": []string{"external"}, "percent": 120}}}},
		{"concurrency_quota", map[string]any{"concurrency_quota": 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := s.With(c.variable)
			plan, err := changed.Plan(t, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for address := range differences(plan) {
				change := plan.ResourceChangesMap[address]
				if slices.Contains(kept, change.Type) && (change.Change.Actions.Delete() || change.Change.Actions.Replace()) {
					t.Errorf("would lose %s", address)
				}
			}
			timed(t, c.name, func() error { return changed.Apply(t, t.Context()) })
			outputs, err := changed.Outputs(t, t.Context())
			must(t, err)
			if len(stageVariables(t, outputs)) == 0 {
				t.Error("the stage has lost its variables")
			}
		})
	}
	timed(t, "destroy", func() error { return s.Destroy(t, t.Context()) })
	verifyGone(t)
}
