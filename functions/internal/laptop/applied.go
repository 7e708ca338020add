package laptop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// Applied is the output "applied": what Terraform applied.
type Applied struct {
	Stage string `json:"stage"`
	// Body is the OpenAPI document that API Gateway was given.
	Body string `json:"body"`
	// StageVariables are what gateway responses substitute.
	StageVariables map[string]string `json:"stage_variables"`
	// AccessLogFormat is a JSON object of variables.
	AccessLogFormat string `json:"access_log_format"`
	// Throttle of the stage, over all methods.
	Throttle struct {
		RatePerSecond float64 `json:"rate_per_second"`
		Burst         int     `json:"burst"`
	} `json:"throttle"`
	// Door of /mcp.
	Door AppliedDoor `json:"door"`
	// OAuth is the OAuth door; nil where there is none.
	OAuth *AppliedOAuth `json:"oauth"`
	// Functions by the contract's names.
	Functions map[string]AppliedFunction `json:"functions"`
}

// AppliedDoor is what /mcp is reached by. What was applied before there were doors has the REST
// API.
type AppliedDoor struct {
	Kind string `json:"kind"`
	// Routes of an HTTP API, and the limit that each has.
	Routes        []string `json:"routes"`
	RatePerSecond float64  `json:"rate_per_second"`
	Burst         int      `json:"burst"`
}

// Throttle of each route; nil for none.
func (d AppliedDoor) Throttle() *front.Throttle {
	if d.Burst <= 0 {
		return nil
	}
	return &front.Throttle{Rate: d.RatePerSecond, Burst: d.Burst}
}

// AppliedOAuth is the OAuth door: its routes, as the contract has them, and the limit of those
// without one of their own.
type AppliedOAuth struct {
	Routes        map[string]contract.OAuthRoute `json:"routes"`
	RatePerSecond float64                        `json:"rate_per_second"`
	Burst         int                            `json:"burst"`
}

// Door serves it.
func (a AppliedOAuth) Door() OAuthDoor {
	d := OAuthDoor{Throttle: AppliedDoor{RatePerSecond: a.RatePerSecond, Burst: a.Burst}.Throttle(), Routes: []contract.OAuthRoute{}}
	for _, name := range slices.Sorted(maps.Keys(a.Routes)) {
		route := a.Routes[name]
		route.Route = name
		d.Routes = append(d.Routes, route)
	}
	return d
}

// leadsTo says whether a route leads to a function; without a door none does.
func (a *AppliedOAuth) leadsTo(function string) bool {
	if a == nil {
		return false
	}
	for _, route := range a.Routes {
		if route.Function == function {
			return true
		}
	}
	return false
}

// AppliedFunction is what one function runs with.
type AppliedFunction struct {
	// Name in AWS.
	Name                string            `json:"name"`
	MemoryMB            int               `json:"memory_mb"`
	TimeoutSeconds      int               `json:"timeout_seconds"`
	ReservedConcurrency int               `json:"reserved_concurrency"` // -1: unreserved
	Environment         map[string]string `json:"environment"`
}

// howToGetApplied ends the messages about a file that holds nothing of the kind.
const howToGetApplied = "make one with: terraform -chdir=envs/dev output -json >applied.json"

// ParseApplied finds the output "applied" in what Terraform prints: `terraform output -json`,
// also of one output, and `terraform show -json`. The error says what is missing, and how
// to make a file that has it.
func ParseApplied(printed []byte) (Applied, error) {
	if !json.Valid(printed) {
		return Applied{}, errors.New("it is not JSON; " + howToGetApplied)
	}
	found := findApplied(printed, 0)
	switch {
	case len(found) == 0:
		return Applied{}, errors.New("it holds no output \"applied\" of an applied stack; " + howToGetApplied)
	case len(found) > 1 && !allEqual(found):
		return Applied{}, fmt.Errorf("it holds the output \"applied\" of %d stacks; give one: terraform output -json NAME >applied.json", len(found))
	}
	return found[0].checked()
}

// maxNesting is how deep the output may lie: values, outputs, name, value, applied.
const maxNesting = 6

// findApplied collects the objects that have the shape, wherever outputs hold them. The
// resources of a state are not outputs.
func findApplied(raw json.RawMessage, depth int) []Applied {
	var members map[string]json.RawMessage
	if depth > maxNesting || json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var a Applied
	if members["body"] != nil && members["functions"] != nil && json.Unmarshal(raw, &a) == nil {
		return []Applied{a}
	}
	var found []Applied
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "root_module" {
			found = append(found, findApplied(members[name], depth+1)...)
		}
	}
	return found
}

// allEqual: two outputs may describe the same stack.
func allEqual(list []Applied) bool {
	return !slices.ContainsFunc(list, func(a Applied) bool { return a.Body != list[0].Body })
}

func (a Applied) checked() (Applied, error) {
	for name, missing := range map[string]bool{
		"body": a.Body == "", "stage": a.Stage == "", "stage_variables": a.StageVariables == nil,
		"access_log_format": a.AccessLogFormat == "", "throttle": a.Throttle.RatePerSecond == 0, "functions": len(a.Functions) == 0,
	} {
		if missing {
			return Applied{}, fmt.Errorf("its output \"applied\" has no %s; apply this version of the stack first, then %s", name, howToGetApplied)
		}
	}
	switch a.Door.Kind {
	case "":
		a.Door.Kind = DoorREST
	case DoorREST, DoorHTTP, DoorURL:
	default:
		return Applied{}, fmt.Errorf("its door is %q, which this program does not have; use the sekisho that was built from the same commit", a.Door.Kind)
	}
	for name, f := range a.Functions {
		if f.Name == "" || f.TimeoutSeconds <= 0 || f.MemoryMB <= 0 {
			return Applied{}, fmt.Errorf("function %s: name, memory_mb and timeout_seconds must be there, not %q, %d and %d", name, f.Name, f.MemoryMB, f.TimeoutSeconds)
		}
	}
	return a, nil
}

// Config serves what was applied. The caller adds the surroundings: Domain, logs and clock, and
// the stores, which each function's environment names. platform is what the Lambda
// service adds to the environment of every function: region, credentials.
//
// leftOut are functions that this program does not have and that no call reaches, because
// neither a route nor the access log leads to them.
func (a Applied) Config(platform map[string]string, api *contract.API) (c Config, leftOut []string, err error) {
	c = Config{
		Gateway: apigateway.Config{
			Description: []byte(a.Body), Stage: a.Stage, StageInPath: true, StageVariables: a.StageVariables,
			Throttle: &apigateway.Throttle{Rate: a.Throttle.RatePerSecond, Burst: a.Throttle.Burst},
		},
		Functions: map[string]Function{},
	}
	if err := json.Unmarshal([]byte(a.AccessLogFormat), &c.Gateway.AccessLogFormat); err != nil {
		return Config{}, nil, fmt.Errorf("access_log_format is not a JSON object of texts: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Functions)) {
		f := a.Functions[name]
		if !slices.Contains(names(), api.Binary(name)) {
			if name == Settle || strings.Contains(a.Body, ":function:"+f.Name+"/") || a.OAuth.leadsTo(name) {
				return Config{}, nil, fmt.Errorf("function %q serves calls, and neither the contract nor this program has it (it has %s): give --contract the contract.json beside the zips, and use the sekisho that was built from the same commit",
					name, strings.Join(names(), ", "))
			}
			leftOut = append(leftOut, name)
			continue
		}
		c.Functions[name] = f.function(platform)
	}
	return c, leftOut, nil
}

func (f AppliedFunction) function(platform map[string]string) Function {
	env := maps.Clone(platform)
	if env == nil {
		env = map[string]string{}
	}
	// docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
	env["AWS_LAMBDA_FUNCTION_NAME"] = f.Name
	env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = strconv.Itoa(f.MemoryMB)
	maps.Copy(env, f.Environment)
	return Function{Env: env, Function: lambda.Function{
		DeployedName: f.Name, MemoryMB: f.MemoryMB, Reserved: f.ReservedConcurrency,
		Timeout: time.Duration(f.TimeoutSeconds) * time.Second,
	}}
}

// Region that the functions are in, as the description names them; "" when it names none.
func (a Applied) Region() string {
	_, rest, ok := strings.Cut(a.Body, ":apigateway:")
	if !ok {
		return ""
	}
	region, _, _ := strings.Cut(rest, ":")
	return region
}
