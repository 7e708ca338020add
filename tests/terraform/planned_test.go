package terraform_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gruntwork-io/terratest/modules/terraform"

	"sekisho/tests/terraform/stack"
)

// planned is a plan of envs/dev, in the terms of the checks.
type planned struct {
	plan     *terraform.PlanStruct
	body     description
	contract description
	rawBody  string
}

// description is an OpenAPI description, as far as the checks look at it. The contract and
// what is sent to API Gateway are both read as one.
type description struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Security   []map[string][]string           `json:"security"`
	Components struct {
		SecuritySchemes map[string]struct {
			Type       string         `json:"type"`
			AuthType   string         `json:"x-amazon-apigateway-authtype"`
			Authorizer map[string]any `json:"x-amazon-apigateway-authorizer"`
		} `json:"securitySchemes"`
		Schemas map[string]any `json:"schemas"`
	} `json:"components"`
	GatewayResponses map[string]struct {
		StatusCode string            `json:"statusCode"`
		Parameters map[string]string `json:"responseParameters"`
		Templates  map[string]string `json:"responseTemplates"`
	} `json:"x-amazon-apigateway-gateway-responses"`
	AccessLog      map[string]string            `json:"x-sekisho-access-log"`
	SettleFilter   string                       `json:"x-sekisho-settle-filter"`
	DispatchFilter string                       `json:"x-sekisho-dispatch-filter"`
	QueryFields    map[string]string            `json:"x-sekisho-query-fields"`
	StageVariables map[string]map[string]string `json:"x-sekisho-stage-variables"`
	Functions      map[string]runtime           `json:"x-sekisho-functions"`
	OAuthRoutes    map[string]struct {
		Function string
		Rate     float64 `json:"rate_per_second"`
		Burst    float64
	} `json:"x-sekisho-oauth-routes"`
}

// runtime is an entry of the table of functions; nil is what it leaves to the default.
type runtime struct {
	MemoryMB       *float64 `json:"memory_mb"`
	TimeoutSeconds *float64 `json:"timeout_seconds"`
	Braked         *bool    `json:"braked"`
}

// runsWith is what a function gets from the table.
func (d description) runsWith(name string) runtime {
	own, fallback := d.Functions[name], d.Functions["default"]
	return runtime{
		MemoryMB:       cmp.Or(own.MemoryMB, fallback.MemoryMB),
		TimeoutSeconds: cmp.Or(own.TimeoutSeconds, fallback.TimeoutSeconds),
		Braked:         cmp.Or(own.Braked, fallback.Braked),
	}
}

type operation struct {
	Security    *[]map[string][]string `json:"security"`
	Parameters  []map[string]any       `json:"parameters"`
	Integration *struct {
		Type    string `json:"type"`
		Method  string `json:"httpMethod"`
		URI     string `json:"uri"`
		Timeout int    `json:"timeoutInMillis"`
	} `json:"x-amazon-apigateway-integration"`
	Sekisho struct {
		Function string `json:"function"`
		Tool     bool   `json:"tool"`
	} `json:"x-sekisho"`
}

const (
	restAPI     = "module.sekisho.module.api.aws_api_gateway_rest_api.this"
	brakeModule = "module.sekisho.module.brake."
)

func read(plan *terraform.PlanStruct, dir string) (planned, error) {
	p := planned{plan: plan}
	var err error
	if p.contract, err = readContract(dir); err != nil {
		return p, err
	}
	body, ok := p.value(restAPI, "body").(string)
	if !ok {
		return p, fmt.Errorf("the API's description is not known when planning: compose ARNs from names")
	}
	p.rawBody = body
	return p, json.Unmarshal([]byte(body), &p.body)
}

// readContract leaves out what is not an operation, so that both descriptions are read by one type.
func readContract(dir string) (description, error) {
	var contract description
	raw, err := os.ReadFile(filepath.Join(dir, stack.Contract))
	if err != nil {
		return contract, err
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return contract, err
	}
	item, _ := tree.(map[string]any)
	for _, path := range item["paths"].(map[string]any) {
		for method := range path.(map[string]any) {
			if !isMethod(method) {
				delete(path.(map[string]any), method)
			}
		}
	}
	asJSON, err := json.Marshal(tree)
	if err != nil {
		return contract, err
	}
	return contract, json.Unmarshal(asJSON, &contract)
}

func isMethod(name string) bool {
	switch name {
	case "get", "put", "post", "delete", "patch", "head", "options", "x-amazon-apigateway-any-method":
		return true
	}
	return false
}

// value is an attribute of a resource as planned; nil when it is unknown or not there.
func (p planned) value(address, attribute string) any {
	resource, ok := p.plan.ResourcePlannedValuesMap[address]
	if !ok {
		return nil
	}
	return resource.AttributeValues[attribute]
}

// unknown says whether an attribute is set, but to something that only the apply knows.
func (p planned) unknown(address, attribute string) bool {
	change, ok := p.plan.ResourceChangesMap[address]
	if !ok {
		return false
	}
	after, _ := change.Change.AfterUnknown.(map[string]any)
	return after[attribute] == true
}

// block is the only block of that name in a resource.
func (p planned) block(address, name string) map[string]any {
	blocks, _ := p.value(address, name).([]any)
	if len(blocks) != 1 {
		return nil
	}
	block, _ := blocks[0].(map[string]any)
	return block
}

// functions are the planned functions by the contract's names.
func (p planned) functions() map[string]map[string]any {
	found := map[string]map[string]any{}
	for address, resource := range p.plan.ResourcePlannedValuesMap {
		if m := functionAddress.FindStringSubmatch(address); m != nil {
			found[m[1]+m[2]] = resource.AttributeValues
		}
	}
	return found
}

// functionModule is the address of the module that makes a function.
func functionModule(name string) string {
	if name == "brake" {
		return brakeModule + "module.function."
	}
	return fmt.Sprintf("module.sekisho.module.function[%q].", name)
}

var (
	functionAddress = regexp.MustCompile(`^module\.sekisho\.module\.(?:function\["(.+)"\]|(brake)\.module\.function)\.aws_lambda_function\.this$`)
	invocation      = regexp.MustCompile(`^arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:(.+):live/invocations$`)
)

// routes writes the planned routes, one a line: method, path, function, and open or key.
func (p planned) routes() []string {
	var lines []string
	for path, item := range p.body.Paths {
		for method, op := range item {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", verb(method), path, served(op), access(op)))
		}
	}
	return lines
}

func verb(method string) string {
	if method == "x-amazon-apigateway-any-method" {
		return "ANY"
	}
	return strings.ToUpper(method)
}

// served names the function behind an operation, without the stack's name; "gateway" where
// the gateway answers itself.
func served(op operation) string {
	switch {
	case op.Integration == nil:
		return "nothing"
	case op.Integration.Type == "mock":
		return "gateway"
	}
	m := invocation.FindStringSubmatch(op.Integration.URI)
	if m == nil {
		return "unknown:" + op.Integration.URI
	}
	return strings.TrimPrefix(m[1], "sekisho-dev-")
}

func access(op operation) string {
	switch {
	case op.Security == nil:
		return "undeclared"
	case len(*op.Security) == 0:
		return "open"
	}
	if len(*op.Security) == 1 {
		if _, ok := (*op.Security)[0]["key"]; ok {
			return "key"
		}
	}
	return fmt.Sprint(*op.Security)
}
