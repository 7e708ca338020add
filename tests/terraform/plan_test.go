package terraform_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/tests/awsfake"
	dynamo "sekisho/tests/awsfake/tables"
)

// A check finds what is wrong with a plan. They are named, so that TestSabotage can tell
// which of them notices what.
var checks = map[string]func(p planned) []string{
	"authorizer":        checkAuthorizer,
	"gateway responses": checkGatewayResponses,
	"routes":            checkRoutes,
	"integrations":      checkIntegrations,
	"open routes":       checkOpenRoutes,
	"nothing else":      checkNothingElse,
	"stage":             checkStage,
	"permissions":       checkPermissions,
	"roles":             checkRoles,
	"key":               checkKey,
	"topics":            checkTopics,
	"alarms":            checkAlarms,
	"money":             checkMoney,
	"tags":              checkTags,
	"iam":               checkIAM,
	"environment":       checkEnvironment,
	"functions":         checkFunctions,
	"tables":            checkTables,
	"idle cost":         checkIdle,
	"no OAuth door":     checkNoOAuth,
}

// variables of the plan that is checked: those of envs/dev, and a backend and a monitor of
// anomalies, as it has none.
func variables(dist string) map[string]any {
	return map[string]any{
		"dist": dist,
		"backends": map[string]any{"external": map[string]any{
			"url": "https://api.example.com/v1", "auth": map[string]any{"type": "bearer", "parameter": "/sekisho-dev/upstream-token"},
		}},
		"cost": map[string]any{"monthly_usd": 10, "monitor_arn": awsfake.ServiceMonitor},
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, nil)
	s := prepare(t, dir, "envs/dev", variables(dist))
	plan, err := s.Plan(t, t.Context())
	must(t, err)
	p, err := read(plan, dir)
	must(t, err)
	if *update {
		must(t, writeRoutes(p))
		must(t, writeIdle(p))
	}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		t.Run(name, func(t *testing.T) {
			for _, problem := range checks[name](p) {
				t.Error(problem)
			}
		})
	}
}

// The authorizer sees every request and its answers are never reused: an answer from a
// cache would skip the count.
func checkAuthorizer(p planned) (problems []string) {
	schemes := p.body.Components.SecuritySchemes
	scheme, ok := schemes["key"]
	if !ok || len(schemes) != 1 {
		return []string{fmt.Sprintf("want the one security scheme key, have %d", len(schemes))}
	}
	if scheme.Type != "apiKey" || scheme.AuthType != "custom" {
		problems = append(problems, fmt.Sprintf("scheme: type %q, authtype %q; want apiKey, custom", scheme.Type, scheme.AuthType))
	}
	want := map[string]any{
		"type":                         "request",
		"authorizerResultTtlInSeconds": 0.0, // left out, it would be 300
		"authorizerUri":                "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:sekisho-dev-authorizer:live/invocations",
	}
	if !reflect.DeepEqual(scheme.Authorizer, want) {
		problems = append(problems, fmt.Sprintf("authorizer: %v, want %v", scheme.Authorizer, want))
	}
	return problems
}

// refusal is the status and the headers of a gateway response.
type refusal struct {
	status  string
	headers map[string]string
}

func checkGatewayResponses(p planned) (problems []string) {
	// Every page may read a refusal, or a browser hides it.
	with := func(more map[string]string) map[string]string {
		headers := map[string]string{
			"gatewayresponse.header.Access-Control-Allow-Origin":   "'*'",
			"gatewayresponse.header.Access-Control-Expose-Headers": "'Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate'",
		}
		maps.Copy(headers, more)
		return headers
	}
	retryAfter := func(source string) map[string]string {
		return with(map[string]string{"gatewayresponse.header.Retry-After": source})
	}
	want := map[string]refusal{
		"UNAUTHORIZED": {"401", with(nil)},
		"ACCESS_DENIED": {"429", with(map[string]string{
			"gatewayresponse.header.Retry-After":      "context.authorizer.retry_after",
			"gatewayresponse.header.RateLimit":        "context.authorizer.ratelimit",
			"gatewayresponse.header.RateLimit-Policy": "context.authorizer.ratelimit_policy",
		})},
		"AUTHORIZER_FAILURE":             {"503", retryAfter("'5'")},
		"AUTHORIZER_CONFIGURATION_ERROR": {"503", retryAfter("'5'")},
		"THROTTLED":                      {"429", with(nil)},
		"INTEGRATION_FAILURE":            {"503", with(nil)},
		"INTEGRATION_TIMEOUT":            {"504", retryAfter("'2'")},
		"MISSING_AUTHENTICATION_TOKEN":   {"404", with(nil)},
		"RESOURCE_NOT_FOUND":             {"404", with(nil)},
		"REQUEST_TOO_LARGE":              {"413", with(nil)},
		"DEFAULT_4XX":                    {"", with(nil)},
		"DEFAULT_5XX":                    {"", retryAfter("'1'")},
	}
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		got := p.body.GatewayResponses[kind]
		if (got.StatusCode != want[kind].status) || !maps.Equal(got.Parameters, want[kind].headers) {
			problems = append(problems, fmt.Sprintf("%s: status %q, headers %v; want %v", kind, got.StatusCode, got.Parameters, want[kind]))
		}
	}
	for kind, got := range p.body.GatewayResponses {
		if _, ok := want[kind]; !ok {
			problems = append(problems, kind+" is not expected")
		}
		for header, source := range got.Parameters {
			if !headerSource.MatchString(source) {
				problems = append(problems, fmt.Sprintf("%s: %s: a fixed value stands in single quotes, unlike %s", kind, header, source))
			}
		}
		if _, ok := got.Templates["application/problem+json"]; !ok {
			problems = append(problems, kind+" has no body of type application/problem+json")
		}
	}
	return problems
}

var headerSource = regexp.MustCompile(`^('[^']*'|context\..+|stageVariables\..+|method\.request\..+)$`)

// golden lists the routes that clients may rely on. One more breaks nobody; one less, or one
// that another function serves, is.
var golden = filepath.Join("testdata", "routes.txt")

func checkRoutes(p planned) (problems []string) {
	raw, err := os.ReadFile(golden)
	if err != nil {
		return []string{err.Error()}
	}
	have := p.routes()
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if !slices.Contains(have, line) {
			problems = append(problems, fmt.Sprintf("gone or changed: %s (meant so? go test ./tests/terraform -run TestPlan -update)", line))
		}
	}
	return problems
}

func writeRoutes(p planned) error {
	lines := p.routes()
	sort.Strings(lines)
	return os.WriteFile(golden, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// checkIntegrations compares with the contract: each operation, and nothing beside them,
// is served by the function that it names, and that function is planned.
func checkIntegrations(p planned) (problems []string) {
	functions := p.functions()
	for path, item := range p.contract.Paths {
		for method, want := range item {
			got, ok := p.body.Paths[path][method]
			if !ok {
				problems = append(problems, fmt.Sprintf("%s %s of the contract is missing", method, path))
				continue
			}
			function := want.Sekisho.Function
			if function == "" {
				function = "gateway"
			} else if functions[function] == nil {
				problems = append(problems, fmt.Sprintf("%s %s: the function %s is not planned", method, path, function))
			}
			if served(got) != function {
				problems = append(problems, fmt.Sprintf("%s %s is served by %s, want %s", method, path, served(got), function))
			}
			if got.Integration != nil && got.Integration.Type == "aws_proxy" && (got.Integration.Method != "POST" || got.Integration.Timeout != 29000) {
				problems = append(problems, fmt.Sprintf("%s %s: integration %+v, want POST and 29000 ms", method, path, *got.Integration))
			}
		}
		if len(p.body.Paths[path]) > len(item) {
			problems = append(problems, path+" has methods that the contract has not")
		}
	}
	if len(p.body.Paths) > len(p.contract.Paths) {
		problems = append(problems, "there are paths that the contract has not")
	}
	return problems
}

func checkOpenRoutes(p planned) (problems []string) {
	want := []string{"ANY /mcp", "GET /", "GET /page/{version}/{file}", "GET /v1/health", "POST /register"}
	var open []string
	for path, item := range p.body.Paths {
		for method, op := range item {
			switch access(op) {
			case "open":
				open = append(open, verb(method)+" "+path)
			case "key":
			default:
				problems = append(problems, fmt.Sprintf("%s %s: security is %s", verb(method), path, access(op)))
			}
		}
	}
	sort.Strings(open)
	if !slices.Equal(open, want) {
		problems = append(problems, fmt.Sprintf("open to everybody: %q, want %q", open, want))
	}
	return problems
}

// checkNothingElse looks for what must stay home, and for path parameters that miss.
func checkNothingElse(p planned) (problems []string) {
	for _, word := range []string{"$ref", "x-sekisho", `"schemas"`, `"requestBody"`, `"in":"query"`} {
		if strings.Contains(p.rawBody, word) {
			problems = append(problems, fmt.Sprintf("the description holds %s, which API Gateway warns about", word))
		}
	}
	for path, item := range p.body.Paths {
		for method, op := range item {
			if in := strings.Count(path, "{"); in != len(op.Parameters) {
				problems = append(problems, fmt.Sprintf("%s %s declares %d of %d path parameters", method, path, len(op.Parameters), in))
			}
		}
	}
	if p.value(restAPI, "fail_on_warnings") != true {
		problems = append(problems, "fail_on_warnings is off")
	}
	return problems
}

func checkStage(p planned) (problems []string) {
	const at = "module.sekisho.module.api."
	settings := p.block(at+"aws_api_gateway_method_settings.this", "settings")
	if settings["throttling_rate_limit"] != 10.0 || settings["throttling_burst_limit"] != 20.0 {
		problems = append(problems, fmt.Sprintf("throttles: %v per second, %v at once; want 10 and 20, as terraform.tfvars says", settings["throttling_rate_limit"], settings["throttling_burst_limit"]))
	}
	// Traced data and logs at level INFO are whole requests, keys among them.
	if settings["data_trace_enabled"] != false || settings["logging_level"] != "OFF" || settings["metrics_enabled"] != false {
		problems = append(problems, fmt.Sprintf("the stage writes more than the access log: trace %v, logs %v, metrics %v", settings["data_trace_enabled"], settings["logging_level"], settings["metrics_enabled"]))
	}
	if path := p.value(at+"aws_api_gateway_method_settings.this", "method_path"); path != "*/*" {
		problems = append(problems, fmt.Sprintf("throttles hold for %v, want */*", path))
	}

	format, _ := p.block(at+"aws_api_gateway_stage.this", "access_log_settings")["format"].(string)
	var fields map[string]string
	if err := json.Unmarshal([]byte(format), &fields); err != nil {
		problems = append(problems, fmt.Sprintf("the access log's format is not a JSON object of strings: %v: %s", err, format))
	}
	if !maps.Equal(fields, p.contract.AccessLog) {
		problems = append(problems, fmt.Sprintf("access log: %v, want the contract's %v", fields, p.contract.AccessLog))
	}
	for name, source := range map[string]string{
		"gate": "$context.authorizer.gate", "status": "$context.status", "response_type": "$context.error.responseType",
		"request_id": "$context.extendedRequestId", // a client can choose the other one
	} {
		if fields[name] != source {
			problems = append(problems, fmt.Sprintf("access log: %s is %q, and settle reads %s", name, fields[name], source))
		}
	}

	variables, _ := p.value(at+"aws_api_gateway_stage.this", "variables").(map[string]any)
	for name, value := range p.contract.StageVariables["open"] {
		if variables[name] != value {
			problems = append(problems, fmt.Sprintf("stage variable %s is %v, want %s", name, variables[name], value))
		}
	}

	triggers, _ := p.value(at+"aws_api_gateway_deployment.this", "triggers").(map[string]any)
	sum := sha1.Sum([]byte(p.rawBody))
	if triggers["description"] != hex.EncodeToString(sum[:]) {
		problems = append(problems, "the deployment does not follow the whole description")
	}
	if pattern, _ := p.value(at+"aws_cloudwatch_log_subscription_filter.this", "filter_pattern").(string); pattern == "" || pattern != p.contract.SettleFilter {
		problems = append(problems, fmt.Sprintf("settle is subscribed with %s, want the contract's %s", pattern, p.contract.SettleFilter))
	}
	return problems
}

// checkPermissions: who may invoke which function, and on whose behalf. Where a permission names
// the API, the plan only knows that it will; TestApply looks at which.
func checkPermissions(p planned) (problems []string) {
	want := []string{"authorizer apigateway.amazonaws.com", "brake sns.amazonaws.com", "settle logs.amazonaws.com"}
	for _, item := range p.contract.Paths {
		for _, op := range item {
			if op.Sekisho.Function != "" {
				want = append(want, op.Sekisho.Function+" apigateway.amazonaws.com")
			}
		}
	}
	sort.Strings(want)
	want = slices.Compact(want)
	var have []string
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type == "aws_lambda_permission" {
			if resource.AttributeValues["source_arn"] == nil && !p.unknown(address, "source_arn") {
				problems = append(problems, address+" has no source_arn: any account's "+resource.AttributeValues["principal"].(string)+" could invoke")
			}
			if topic := resource.AttributeValues["source_arn"]; address == brakeModule+"aws_lambda_permission.this" && topic != "arn:aws:sns:us-east-1:123456789012:sekisho-dev-money" {
				problems = append(problems, fmt.Sprintf("the brake is started by %v", topic))
			}
			have = append(have, fmt.Sprintf("%s %s", strings.TrimPrefix(resource.AttributeValues["function_name"].(string), "sekisho-dev-"), resource.AttributeValues["principal"]))
		}
	}
	sort.Strings(have)
	if !slices.Equal(have, want) {
		problems = append(problems, fmt.Sprintf("may invoke: %q, want %q", have, want))
	}
	return problems
}

// asynchronous are the functions that are started by somebody who does not wait.
var asynchronous = map[string]bool{"settle": true, "brake": true}

// checkIAM: each function may do what it does, and nothing has more policies than those looked at here and
// in TestApply.
func checkIAM(p planned) (problems []string) {
	problems = checkRights(p, "proxy", "backend")
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type == "aws_iam_role_policy_attachment" || resource.Type == "aws_iam_policy" {
			problems = append(problems, address+" gives a role more than its own policy")
		}
		own := address == brakeModule+"aws_iam_role_policy.memory" || address == brakeModule+"aws_iam_role_policy.stage"
		if resource.Type == "aws_iam_role_policy" && !own && !strings.HasSuffix(address, ".aws_iam_role_policy.this") {
			problems = append(problems, address+" is one policy more than expected")
		}
	}
	return problems
}

// plansOfDev are the plans of envs/dev in JSON.
const plansOfDev = `{"free":{"burst":10,"daily":200,"monthly":1000,"per_second":2},"internal":{},"pro":{"monthly":100000},"starter":{"burst":20,"daily":2000,"monthly":10000,"per_second":5}}`

// process are the variables that every function has.
var process = map[string]string{"SEKISHO_LOG_LEVEL": "info", "GOMAXPROCS": "1", "SSL_CERT_DIR": "/nonexistent"}

// environments are the variables that each function has beside those of process. A function that is
// not listed has none.
var environments = map[string]map[string]string{
	"authorizer": {
		"SEKISHO_ACCOUNTS_TABLE": "sekisho-dev-accounts", "SEKISHO_USAGE_TABLE": "sekisho-dev-usage",
		"SEKISHO_PLANS": plansOfDev, "SEKISHO_USAGE_PERCENT": "80,100",
		"SEKISHO_UPGRADE_URL": "", "SEKISHO_KEY_CACHE_SECONDS": "30", "SEKISHO_DENIAL_MEMORY_SECONDS": "3",
	},
	"account": {
		"SEKISHO_ACCOUNTS_TABLE": "sekisho-dev-accounts", "SEKISHO_USAGE_TABLE": "sekisho-dev-usage",
		"SEKISHO_PLANS": plansOfDev, "SEKISHO_UPGRADE_URL": "",
	},
	"mcp": {
		"SEKISHO_ACCOUNTS_TABLE": "sekisho-dev-accounts", "SEKISHO_KEY_CACHE_SECONDS": "30",
		"SEKISHO_ALLOWED_ORIGINS": "", "SEKISHO_TOOL_NAMES": "underscore",
		"SEKISHO_LISTING": "auto", "SEKISHO_LISTING_TOKENS": "", "GOGC": "off", "GOMEMLIMIT": "204MiB",
	},
	"external": {
		"SEKISHO_USAGE_TABLE": "sekisho-dev-usage",
		"SEKISHO_BACKEND":     `{"auth":{"parameter":"/sekisho-dev/upstream-token","type":"bearer"},"name":"external","url":"https://api.example.com/v1"}`,
	},
	"settle": {"SEKISHO_USAGE_TABLE": "sekisho-dev-usage", "SEKISHO_USAGE_TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:sekisho-dev-usage"},
}

// braked are the functions that the brake must stop, each with a prefix: those that serve calls
// and that the contract lets it stop.
func braked(contract description, before string) (list []string) {
	for _, item := range contract.Paths {
		for _, op := range item {
			if name := op.Sekisho.Function; name != "" && *contract.runsWith(name).Braked {
				list = append(list, before+name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func checkEnvironment(p planned) (problems []string) {
	for name, function := range p.functions() {
		if name == "brake" {
			continue // it names the API, which no plan knows: TestApply looks at it
		}
		want := map[string]any{}
		for _, variables := range []map[string]string{process, environments[name]} {
			for variable, value := range variables {
				want[variable] = value
			}
		}
		have := map[string]any{}
		if blocks, _ := function["environment"].([]any); len(blocks) == 1 {
			have, _ = blocks[0].(map[string]any)["variables"].(map[string]any)
		}
		if !reflect.DeepEqual(have, want) {
			problems = append(problems, fmt.Sprintf("%s: environment %v, want %v", name, have, want))
		}
	}
	return problems
}

func checkFunctions(p planned) (problems []string) {
	for name, function := range p.functions() {
		for attribute, want := range map[string]any{
			"runtime": "provided.al2023", "handler": "bootstrap", "package_type": "Zip",
			"architectures": []any{"arm64"}, "reserved_concurrent_executions": -1.0,
			"memory_size": *p.contract.runsWith(name).MemoryMB, "timeout": *p.contract.runsWith(name).TimeoutSeconds,
		} {
			if !reflect.DeepEqual(function[attribute], want) {
				problems = append(problems, fmt.Sprintf("%s: %s is %v, want %v", name, attribute, function[attribute], want))
			}
		}
		at := functionModule(name) + "aws_cloudwatch_log_group.this"
		if p.value(at, "name") != "/aws/lambda/sekisho-dev-"+name || p.value(at, "retention_in_days") != 7.0 {
			problems = append(problems, fmt.Sprintf("%s: its log group is %v, kept %v days", name, p.value(at, "name"), p.value(at, "retention_in_days")))
		}
	}
	return problems
}

// checkTables compares with the tables that the DynamoDB store's own tests run on. They are
// encrypted. The terraform.tfvars of envs/dev turns off what keeps and backs up their items; that it is
// on otherwise, the root's own tests and the module's look at.
func checkTables(p planned) (problems []string) {
	want := map[string]dynamo.Table{"accounts": dynamo.Accounts, "usage": dynamo.Usage}
	have := map[string]dynamo.Table{}
	for _, resource := range p.plan.ResourcePlannedValuesMap {
		if resource.Type != "aws_dynamodb_table" {
			continue
		}
		values := resource.AttributeValues
		made := dynamo.Table{
			BillingMode: types.BillingMode(values["billing_mode"].(string)), HashKey: values["hash_key"].(string),
		}
		for _, attribute := range values["attribute"].([]any) {
			a := attribute.(map[string]any)
			if a["name"] != made.HashKey {
				problems = append(problems, fmt.Sprintf("tables: attribute %v is not the key", a["name"]))
			}
			made.HashKeyType = types.ScalarAttributeType(a["type"].(string))
		}
		ttls, _ := values["ttl"].([]any) // without one the provider leaves it open
		for _, ttl := range ttls {
			made.TTL = ttl.(map[string]any)["attribute_name"].(string)
		}
		have[resource.Index.(string)] = made
		for block, want := range map[string]bool{"point_in_time_recovery": false, "server_side_encryption": true} {
			blocks, _ := values[block].([]any)
			if len(blocks) != 1 || blocks[0].(map[string]any)["enabled"] != want {
				problems = append(problems, fmt.Sprintf("tables: %v of %v is %v", block, resource.Index, blocks))
			}
		}
		if values["deletion_protection_enabled"] != false {
			problems = append(problems, fmt.Sprintf("tables: deletion protection of %v is %v", resource.Index, values["deletion_protection_enabled"]))
		}
	}
	if !maps.Equal(have, want) {
		problems = append(problems, fmt.Sprintf("tables: %v, want %v, which the store is tested with", have, want))
	}
	return problems
}
