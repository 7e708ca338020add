package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
)

// checkNoOAuth: switched off, which is the default, OAuth leaves nothing in a plan: no resource and no
// variable of a function. checkIAM finds its rights.
func checkNoOAuth(p planned) (problems []string) {
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if address == restAPI {
			continue // its body has the register route of old, which says that there is no OAuth here
		}
		values, err := json.Marshal(resource.AttributeValues)
		if err != nil {
			return []string{err.Error()}
		}
		if strings.Contains(strings.ToLower(address+string(values)), "oauth") {
			problems = append(problems, address+" has to do with OAuth")
		}
	}
	return problems
}

const oauthDoor = "module.sekisho.module.oauth_door[0]."

// TestOAuthDoor plans envs/dev with the OAuth door and domains, whose addresses a plan knows.
func TestOAuthDoor(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, nil)
	domain := func(name string) map[string]any {
		return map[string]any{"name": name, "certificate_arn": "arn:aws:acm:us-east-1:123456789012:certificate/1"}
	}
	given := variables(dist)
	given["mcp"] = map[string]any{"dispatch": "direct"}
	given["api"] = map[string]any{"throttle": map[string]any{"rate_per_second": 7, "burst": 30}, "domain": domain("api.example.com")}
	given["oauth"] = map[string]any{"enabled": true, "domain": domain("sign-in.example.com")}
	plan, err := prepare(t, dir, "envs/dev", given).Plan(t, t.Context())
	must(t, err)
	p, err := read(plan, dir)
	must(t, err)

	t.Run("routes", func(t *testing.T) { verifyOAuthRoutes(t, p) })
	t.Run("rights", func(t *testing.T) {
		for _, problem := range checkRights(p, "oauth", "backend") {
			t.Error(problem)
		}
	})
	t.Run("who may start them", func(t *testing.T) {
		for _, name := range []string{"mcp", "oauth"} {
			at := fmt.Sprintf("%saws_lambda_permission.http[%q]", oauthDoor, name)
			if f := p.value(at, "function_name"); f != "sekisho-dev-"+name || p.value(at, "qualifier") != "live" || !p.unknown(at, "source_arn") {
				t.Errorf("%s: %v, and only from this API: %v", at, f, p.unknown(at, "source_arn"))
			}
		}
	})
	t.Run("alarms", func(t *testing.T) {
		for _, name := range []string{
			`module.spend_alarm.aws_cloudwatch_metric_alarm.this["oauth_short"]`, `module.spend_alarm.aws_cloudwatch_metric_alarm.this["oauth_long"]`,
			`module.observability.aws_cloudwatch_metric_alarm.this["oauth-refusals"]`, `module.observability.aws_cloudwatch_metric_alarm.this["oauth-failures"]`,
			`module.function["oauth"].aws_cloudwatch_metric_alarm.this["Errors"]`,
		} {
			if p.plan.ResourcePlannedValuesMap["module.sekisho."+name] == nil {
				t.Errorf("there is no %s", name)
			}
		}
	})
	t.Run("idle cost", func(t *testing.T) {
		figures, err := readIdle()
		must(t, err)
		if more := p.idle().AlarmMetrics - figures.AlarmMetrics; more != figures.OAuthAlarmMetrics {
			t.Errorf("its alarms read %d metrics, and %s has %d", more, idleFigures, figures.OAuthAlarmMetrics)
		}
	})
	t.Run("address", func(t *testing.T) {
		var url string
		must(t, p.output("oauth_url", &url))
		if url != "https://sign-in.example.com/mcp" {
			t.Errorf("oauth_url is %s", url)
		}
		if p.value(oauthDoor+"aws_apigatewayv2_api.this[0]", "disable_execute_api_endpoint") != true {
			t.Error("the default address is open beside the domain")
		}
	})
}

// TestOAuthIssuer: where a company has its own issuer, mcp makes users, and what publishes metadata may do
// nothing.
func TestOAuthIssuer(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, nil)
	given := variables(dist)
	given["mcp"] = map[string]any{"dispatch": "direct"}
	given["oauth"] = map[string]any{"enabled": true, "issuer": "https://login.example.com/tenant", "audience": "sekisho", "new_user_plan": "free"}
	plan, err := prepare(t, dir, "envs/dev", given).Plan(t, t.Context())
	must(t, err)
	p, err := read(plan, dir)
	must(t, err)
	for _, problem := range checkRights(p, "issuer", "backend") {
		t.Error(problem)
	}
}

// verifyOAuthRoutes: the door has the contract's routes, none lets more through than the contract and the
// throttle of the API say, and the functions know both addresses.
func verifyOAuthRoutes(t *testing.T, p planned) {
	throttles := map[string]string{}
	stage := oauthDoor + "aws_apigatewayv2_stage.this[0]"
	settings, _ := p.value(stage, "route_settings").([]any)
	for _, s := range settings {
		s := s.(map[string]any)
		throttles[s["route_key"].(string)] = fmt.Sprint(s["throttling_rate_limit"], " ", s["throttling_burst_limit"])
	}
	want := map[string]string{}
	for key, route := range p.contract.OAuthRoutes {
		at := fmt.Sprintf("%saws_apigatewayv2_route.this[%q]", oauthDoor, key)
		if p.value(at, "route_key") != key {
			t.Errorf("there is no route %s", key)
		}
		if route.Rate > 0 {
			want[key] = fmt.Sprint(min(7, route.Rate), " ", min(30, route.Burst))
		}
	}
	if len(want) == 0 || len(want) == len(p.contract.OAuthRoutes) {
		t.Errorf("the contract throttles %d of %d routes: strangers' ones, and not /mcp", len(want), len(p.contract.OAuthRoutes))
	}
	if !maps.Equal(throttles, want) {
		t.Errorf("throttles %v, want %v", throttles, want)
	}
	if d := p.block(stage, "default_route_settings"); d["throttling_rate_limit"] != 7.0 || d["throttling_burst_limit"] != 30.0 {
		t.Errorf("/mcp has the throttle %v, want that of the API", d)
	}
	variables := map[string]any{"oauth_address": "https://sign-in.example.com", "rest_address": "https://api.example.com"}
	if have := p.value(stage, "stage_variables"); !reflect.DeepEqual(have, variables) {
		t.Errorf("stage variables %v, want %v", have, variables)
	}
}
