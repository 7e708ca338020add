package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// checkNoOAuth: switched off, which is the default, OAuth leaves nothing in a plan: no resource, no
// variable of a function and no right.
func checkNoOAuth(p planned) (problems []string) {
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if address == restAPI {
			continue // its body has the register route of old, which says that there is no OAuth here
		}
		values, err := json.Marshal(resource.AttributeValues)
		if err != nil {
			return []string{err.Error()}
		}
		for _, word := range []string{"oauth", "grant#", "LeadingKeys"} {
			own := word == "LeadingKeys" && address == brakeModule+"aws_iam_role_policy.memory"
			if !own && strings.Contains(strings.ToLower(address+string(values)), strings.ToLower(word)) {
				problems = append(problems, fmt.Sprintf("%s has to do with %s", address, word))
			}
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
	t.Run("rights", func(t *testing.T) { verifyOAuthRights(t, p) })
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
	t.Run("brake", func(t *testing.T) {
		policy, _ := p.value(functionModule("brake")+"aws_iam_role_policy.this", "policy").(string)
		list, err := allowed(policy)
		must(t, err)
		for _, want := range []string{"lambda:PutFunctionConcurrency function:sekisho-dev-oauth", "cloudwatch:SetAlarmState alarm:sekisho-dev-spend-rate-oauth"} {
			if !slices.Contains(list, want) {
				t.Errorf("the brake may do %q, want %s among it", list, want)
			}
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

// verifyOAuthRights: beside what direct dispatch takes, each function may touch the items that it has to
// do with, and no others of the table that holds users and keys.
func verifyOAuthRights(t *testing.T, p planned) {
	const accounts = "table/sekisho-dev-accounts"
	for name, want := range map[string][]string{
		"oauth": {
			"dynamodb:BatchGetItem dynamodb:GetItem " + accounts + " of grant#* grants#* key#* user#*",
			"dynamodb:PutItem dynamodb:UpdateItem " + accounts + " of grant#* grants#*",
		},
		"mcp": nil, // it reads all items, as without the door
	} {
		policy, _ := p.value(functionModule(name)+"aws_iam_role_policy.this", "policy").(string)
		var document struct {
			Statement []struct {
				Action, Resource []string
				Condition        map[string]map[string][]string
			}
		}
		must(t, json.Unmarshal([]byte(policy), &document))
		var have []string
		for _, s := range document.Statement {
			for operator, keys := range s.Condition {
				for key, values := range keys {
					if operator != "ForAllValues:StringLike" || key != "dynamodb:LeadingKeys" {
						t.Errorf("%s: a condition %s on %s", name, operator, key)
					}
					have = append(have, fmt.Sprintf("%s %s of %s", strings.Join(s.Action, " "), account.ReplaceAllString(strings.Join(s.Resource, " "), ""), strings.Join(values, " ")))
				}
			}
			if name == "oauth" && len(s.Condition) == 0 && !strings.HasPrefix(s.Action[0], "logs:") {
				t.Errorf("oauth may do %v on %v, whatever the item", s.Action, s.Resource)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s may do %q, want %q", name, have, want)
		}
	}
}
