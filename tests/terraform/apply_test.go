package terraform_test

import (
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	tfterraform "github.com/gruntwork-io/terratest/modules/terraform"

	"sekisho/tests/awsfake"
	"sekisho/tests/e2e/suite"
	"sekisho/tests/terraform/stack"
)

// throttle of the applied stage: above what the suite sends at once.
var throttle = stack.Throttle{RatePerSecond: 500, Burst: 600}

// reserved is as many calls as the end-to-end suite has pass at once: with fewer, which of them find an
// instance free depends on the machine.
const reserved = suite.Limit

// TestApply applies envs/dev to the cloud of these tests, looks at the result with the AWS SDK, serves
// it to the end-to-end suite, applies it with the brake on and then with another way of calls, and
// destroys it. It is one test, because an apply takes a minute.
func TestApply(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, nil)
	s := prepare(t, dir, "envs/dev", map[string]any{
		"dist":  dist,
		"plans": map[string]any{suite.Plan: map[string]any{"monthly": suite.Limit}},
		"alerts": map[string]any{"subscriptions": []map[string]any{
			{"protocol": "email", "endpoint": "support@example.com"},
			{"protocol": "https", "endpoint": "https://hooks.example.com/usage"},
			{"protocol": "sqs", "endpoint": "arn:aws:sqs:us-east-1:123456789012:usage"},
		}},
		"api":  map[string]any{"throttle": map[string]any{"rate_per_second": throttle.RatePerSecond, "burst": throttle.Burst}},
		"cost": map[string]any{"emails": []string{"finance@example.com"}, "monthly_usd": 25, "monitor_arn": awsfake.ServiceMonitor},
		"functions": map[string]any{
			"postal": map[string]any{"reserved_concurrency": reserved},
			// A hundred calls at once queue in moto, which has one thread: on a slow machine the
			// last of them waits longer than the authorizer's 5 seconds.
			"authorizer": map[string]any{"timeout_seconds": 28},
		},
		"tables": map[string]any{"deletion_protection": false, "max_units_per_second": map[string]any{"write": 200}},
	})
	timed(t, "apply", func() error { return s.PlanAndApply(t, t.Context()) })

	outputs, err := s.Outputs(t, t.Context())
	must(t, err)
	t.Run("outputs", func(t *testing.T) { verifyOutputs(t, outputs) })
	verify(t, outputs)
	t.Run("another region", func(t *testing.T) { verifyStays(t, s.Unrefreshed()) })
	t.Run("served", func(t *testing.T) { verifyServed(t, s, outputs) })
	t.Run("brake", func(t *testing.T) { verifyBrake(t, s, outputs) })
	t.Run("direct", func(t *testing.T) { verifyDirect(t, s) })

	timed(t, "destroy", func() error { return s.Unrefreshed().Destroy(t, t.Context()) })
	t.Run("nothing left", func(t *testing.T) { verifyGone(t) })
}

// verifyDirect changes the way of calls under the applied stack, opens the OAuth door beside it, and
// serves that. It is the first apply since the brake was released.
func verifyDirect(t *testing.T, s *stack.Stack) {
	direct := s.With(map[string]any{"mcp": map[string]any{"dispatch": "direct"}, "oauth": map[string]any{"enabled": true}})
	timed(t, "apply", func() error { return direct.PlanAndApply(t, t.Context()) })
	outputs, err := direct.Outputs(t, t.Context())
	must(t, err)
	if got := outputs.Applied.Functions["mcp"].Environment["SEKISHO_DISPATCH"]; got != "direct" {
		t.Fatalf("mcp dispatches %q", got)
	}
	if !oauthAddress.MatchString(outputs.OAuthURL) {
		t.Errorf("people sign in at %q", outputs.OAuthURL)
	}
	t.Run("second plan", func(t *testing.T) { verifySecondPlan(t, direct, outputs) })
	verifyServed(t, direct, outputs)
}

var oauthAddress = regexp.MustCompile(`^https://[a-z0-9]+\.execute-api\.us-east-1\.amazonaws\.com/mcp$`)

// TestAccount applies and destroys what exists once per account.
func TestAccount(t *testing.T) {
	t.Parallel()
	dir, _ := checkout(t, func(dir string) { keepStateBeside(t, dir, "account") })
	s := prepare(t, dir, "envs/account", nil)
	timed(t, "apply", func() error { return s.PlanAndApply(t, t.Context()) })
	again, err := s.Plan(t, t.Context())
	must(t, err)
	if changed := differences(again); len(changed) > 0 {
		t.Errorf("the second plan wants to change %v", changed)
	}
	t.Run("another region", func(t *testing.T) { verifyStays(t, s) })
	timed(t, "destroy", func() error { return s.Unrefreshed().Destroy(t, t.Context()) })
}

// keepStateBeside keeps the state of an environment beside its files instead of in S3.
func keepStateBeside(t *testing.T, dir, env string) {
	t.Helper()
	replace(t, filepath.Join(dir, "envs", env, "versions.tf"), `backend "s3" {
    use_lockfile = true
    encrypt      = true
  }`, `backend "local" {}`)
}

// verifyStays: what was applied isn't made a second time elsewhere.
func verifyStays(t *testing.T, s *stack.Stack) {
	_, err := s.With(map[string]any{"region": "us-west-2"}).Plan(t, t.Context())
	if err == nil {
		t.Fatal("a plan for another region was accepted")
	}
	if want := "account " + awsfake.AccountID + ", us-east-1"; !strings.Contains(plain(err.Error()), plain(want)) || !strings.Contains(err.Error(), "of its own") {
		t.Errorf("the refusal says %v, want where the state's things are, and what to do", err)
	}
}

func verifyOutputs(t *testing.T, outputs stack.Outputs) {
	if want := outputs.APIURL + "/mcp"; outputs.MCPURL != want || !strings.HasSuffix(want, "/live/mcp") {
		t.Errorf("mcp_url is %s, api_url is %s", outputs.MCPURL, outputs.APIURL)
	}
	if c := outputs.Concurrency; c.Quota != 1000 || c.Reserved != reserved || c.Unreserved != 1000-reserved {
		t.Errorf("concurrency is %+v; the quota must come from Service Quotas", c)
	}
	if f := outputs.Applied.Functions["postal"]; f.ReservedConcurrency != reserved || f.Name != "sekisho-dev-postal" {
		t.Errorf("postal was applied as %+v", f)
	}
	if outputs.Applied.Body == "" || outputs.Applied.StageVariables["unavailable_error"] != "unavailable" {
		t.Errorf("the applied description or its stage variables are missing")
	}
}

// verifySecondPlan: after an apply there is nothing left to change.
func verifySecondPlan(t *testing.T, s *stack.Stack, outputs stack.Outputs) {
	var again *tfterraform.PlanStruct
	timed(t, "second plan", func() (err error) { again, err = s.Plan(t, t.Context()); return err })
	verifyDifferences(t, again, outputs, nil)
}

// verifyDifferences wants no difference except those that are the emulator's own. It forgets a
// function's logging_config and a table's on_demand_throughput, and reads the reserved concurrency of a
// stopped function, which is 0, back as -1. (It also drops dead_letter_config, which nothing here has.)
func verifyDifferences(t *testing.T, plan *tfterraform.PlanStruct, outputs stack.Outputs, stopped []string) {
	t.Helper()
	want := map[string][]string{
		`module.sekisho.module.usage.aws_dynamodb_table.this["accounts"]`: {"update", "on_demand_throughput"},
		`module.sekisho.module.usage.aws_dynamodb_table.this["usage"]`:    {"update", "on_demand_throughput"},
	}
	for name := range outputs.Applied.Functions {
		want[functionModule(name)+"aws_lambda_function.this"] = []string{"update", "logging_config"}
		// An update publishes a version, which the alias follows.
		switch name {
		case "brake": // has none
		case "mcp":
			want[`module.sekisho.module.api.aws_lambda_alias.lists["mcp"]`] = []string{"update"}
		default:
			want[functionModule(name)+"aws_lambda_alias.live[0]"] = []string{"update"}
		}
	}
	for _, name := range stopped {
		address := functionModule(name) + "aws_lambda_function.this"
		want[address] = append(want[address], "reserved_concurrent_executions")
	}
	changed := differences(plan)
	for _, address := range slices.Sorted(maps.Keys(changed)) {
		t.Logf("%s: %s", address, strings.Join(changed[address], " "))
		if !slices.Equal(changed[address], want[address]) {
			change := plan.ResourceChangesMap[address].Change
			t.Errorf("%s differs in %v, want %v\nbefore %v\nafter  %v", address, changed[address], want[address], change.Before, change.After)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(want)) {
		if changed[address] == nil {
			t.Errorf("%s does not differ any more: the emulator has learnt, so remove it here", address)
		}
	}
}

// differences are the resources that a plan would touch, each with how, and in which attributes.
func differences(plan *tfterraform.PlanStruct) map[string][]string {
	changed := map[string][]string{}
	for address, resource := range plan.ResourceChangesMap {
		change := resource.Change
		if change.Actions.NoOp() || change.Actions.Read() {
			continue
		}
		var what []string
		for _, action := range change.Actions {
			what = append(what, string(action))
		}
		before, _ := change.Before.(map[string]any)
		after, _ := change.After.(map[string]any)
		unknown, _ := change.AfterUnknown.(map[string]any)
		for _, attribute := range slices.Sorted(maps.Keys(before)) {
			if unknown[attribute] == true {
				continue // last_modified and its like: computed by the update itself
			}
			if !reflect.DeepEqual(before[attribute], after[attribute]) {
				what = append(what, attribute)
			}
		}
		changed[address] = what
	}
	return changed
}
