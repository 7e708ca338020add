package laptop_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/front"
)

// applied is an output as Terraform prints it, with the changes of a test.
func applied(t *testing.T, change func(map[string]any)) json.RawMessage {
	t.Helper()
	function := func(name string) map[string]any {
		return map[string]any{
			"name": "shop-" + name, "memory_mb": 256, "timeout_seconds": 5, "architecture": "arm64", "reserved_concurrency": -1,
			"environment": map[string]string{"SEKISHO_USAGE_TABLE": "shop-usage"},
		}
	}
	output := map[string]any{
		"api_id": "abc", "stage": "live", "stage_variables": map[string]string{"state": "open"},
		"body": fmt.Sprintf(`{"paths":{"/a":{"get":{"x-amazon-apigateway-integration":{"uri":"arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-west-1:1:function:%s/invocations"}}}}}`,
			"shop-postal"),
		"access_log_format": `{"status":"$context.status"}`,
		"throttle":          map[string]any{"rate_per_second": 10, "burst": 20},
		"functions":         map[string]any{"authorizer": function("authorizer"), "postal": function("postal"), "settle": function("settle")},
	}
	if change != nil {
		change(output)
	}
	raw, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestParseApplied: whatever way Terraform is asked, the same is found.
func TestParseApplied(t *testing.T) {
	output := string(applied(t, nil))
	for name, printed := range map[string]string{
		"output -json applied": output,
		"output -json stack":   `{"mcp_url":"x","applied":` + output + `}`,
		"output -json":         `{"api_url":{"value":"x"},"stack":{"sensitive":false,"type":["object",{"applied":["object",{"body":"string","functions":"map"}]}],"value":{"applied":` + output + `}}}`,
		"show -json":           `{"values":{"outputs":{"stack":{"value":{"applied":` + output + `}},"applied":{"value":` + output + `}},"root_module":{"resources":[]}}}`,
	} {
		a, err := laptop.ParseApplied([]byte(printed))
		if err != nil || a.Stage != "live" || a.Region() != "eu-west-1" || len(a.Functions) != 3 {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestParseAppliedRefuses: each message says what is missing, or what to do.
func TestParseAppliedRefuses(t *testing.T) {
	without := func(name string) string {
		return string(applied(t, func(output map[string]any) { delete(output, name) }))
	}
	other := string(applied(t, func(output map[string]any) { output["body"] = "{}" }))
	for name, c := range map[string]struct{ printed, says string }{
		"empty":            {"", "not JSON"},
		"text":             {"No outputs found", "not JSON"},
		"no outputs":       {"{}", "terraform -chdir=envs/dev output -json"},
		"another's state":  {`{"values":{"outputs":{"x":{"value":1}}}}`, `no output "applied"`},
		"a list":           {`[1]`, `no output "applied"`},
		"nested too deep":  {strings.Repeat(`{"a":`, 1000) + `1` + strings.Repeat(`}`, 1000), `no output "applied"`},
		"no body":          {without("body"), `no output "applied"`},
		"no stage":         {without("stage"), "has no stage"},
		"no variables":     {without("stage_variables"), "has no stage_variables"},
		"no access log":    {without("access_log_format"), "has no access_log_format"},
		"an older version": {without("throttle"), "has no throttle; apply this version"},
		"two stacks":       {`{"one":{"value":` + string(applied(t, nil)) + `},"two":{"value":` + other + `}}`, "2 stacks"},
		"an unknown door":  {string(applied(t, func(output map[string]any) { output["door"] = map[string]any{"kind": "window"} })), `door is "window"`},
		"a bare function": {string(applied(t, func(output map[string]any) {
			output["functions"].(map[string]any)["postal"] = map[string]any{}
		})), "function postal"},
	} {
		if _, err := laptop.ParseApplied([]byte(c.printed)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}

// TestAppliedConfig: everything that was applied is served so.
func TestAppliedConfig(t *testing.T) {
	a, err := laptop.ParseApplied(applied(t, func(output map[string]any) {
		functions := output["functions"].(map[string]any)
		postal := functions["postal"].(map[string]any)
		postal["memory_mb"], postal["timeout_seconds"], postal["reserved_concurrency"] = 512, 9, 0
		functions["guard"] = map[string]any{"name": "shop-guard", "memory_mb": 128, "timeout_seconds": 3}
	}))
	if err != nil {
		t.Fatal(err)
	}
	c, leftOut, err := a.Config(map[string]string{"AWS_REGION": "eu-west-1"}, table(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(leftOut, []string{"guard"}) || len(c.Functions) != 3 {
		t.Errorf("left out %v of %v", leftOut, slices.Sorted(maps.Keys(c.Functions)))
	}
	g := c.Gateway
	if g.Stage != "live" || !g.StageInPath || g.StageVariables["state"] != "open" || g.AccessLogFormat["status"] != "$context.status" || g.Throttle.Rate != 10 || g.Throttle.Burst != 20 {
		t.Errorf("gateway: %+v", g)
	}
	f := c.Functions["postal"]
	wantEnv := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_LAMBDA_FUNCTION_NAME": "shop-postal", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "SEKISHO_USAGE_TABLE": "shop-usage",
	}
	if f.DeployedName != "shop-postal" || f.MemoryMB != 512 || f.Timeout != 9*time.Second || f.Reserved != 0 || !maps.Equal(f.Env, wantEnv) {
		t.Errorf("postal: %+v", f)
	}
}

// TestAppliedDoor: what was applied before there were doors has the REST API, and -1 is no throttle.
func TestAppliedDoor(t *testing.T) {
	for _, c := range []struct {
		door     any
		kind     string
		throttle *apigateway.Throttle
	}{
		{nil, laptop.DoorREST, nil},
		{map[string]any{"kind": "http", "routes": []string{"ANY /mcp"}, "rate_per_second": 7, "burst": 9}, laptop.DoorHTTP, &apigateway.Throttle{Rate: 7, Burst: 9}},
		{map[string]any{"kind": "url", "rate_per_second": -1, "burst": -1}, laptop.DoorURL, nil},
	} {
		a, err := laptop.ParseApplied(applied(t, func(output map[string]any) {
			if c.door != nil {
				output["door"] = c.door
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if a.Door.Kind != c.kind || !reflect.DeepEqual(a.Door.Throttle(), c.throttle) {
			t.Errorf("%v: %+v, %+v", c.door, a.Door, a.Door.Throttle())
		}
	}
}

// TestAppliedOAuthDoor: routes keep their functions and limits; what was applied before there was such
// a door has none.
func TestAppliedOAuthDoor(t *testing.T) {
	parse := func(door any) laptop.Applied {
		t.Helper()
		a, err := laptop.ParseApplied(applied(t, func(output map[string]any) { output["oauth"] = door }))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := parse(nil); a.OAuth != nil {
		t.Errorf("%+v", a.OAuth)
	}
	route := func(function string, rate, burst any) map[string]any {
		return map[string]any{"function": function, "rate_per_second": rate, "burst": burst}
	}
	a := parse(map[string]any{"rate_per_second": 20, "burst": 40, "routes": map[string]any{
		"ANY /mcp": route("mcp", nil, nil), "ANY /token": route("oauth", 10, 20),
	}})
	want := laptop.OAuthDoor{Throttle: &front.Throttle{Rate: 20, Burst: 40}, Routes: []contract.OAuthRoute{
		{Route: "ANY /mcp", Function: "mcp"}, {Route: "ANY /token", Function: "oauth", RatePerSecond: 10, Burst: 20},
	}}
	if got := a.OAuth.Door(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAppliedConfigRefuses what this program can't serve.
func TestAppliedConfigRefuses(t *testing.T) {
	for says, change := range map[string]func(output, functions map[string]any){
		`function "postman" serves calls, and neither the contract nor this program has it`: func(output, functions map[string]any) {
			functions["postman"] = functions["postal"]
		},
		`function "signer" serves calls`: func(output, functions map[string]any) {
			signer := maps.Clone(functions["postal"].(map[string]any))
			signer["name"] = "shop-signer"
			functions["signer"] = signer
			output["oauth"] = map[string]any{"routes": map[string]any{"ANY /token": map[string]any{"function": "signer"}}}
		},
		"access_log_format": func(output, functions map[string]any) { output["access_log_format"] = "$context.status" },
	} {
		a, err := laptop.ParseApplied(applied(t, func(output map[string]any) { change(output, output["functions"].(map[string]any)) }))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Config(nil, table(t)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}
