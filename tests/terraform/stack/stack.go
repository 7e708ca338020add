package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
	"github.com/gruntwork-io/terratest/modules/terraform"

	"sekisho/tests/repository"
)

// Stack is one environment of a checkout, and the cloud that it is applied to.
type Stack struct {
	options terraform.Options
}

// Where says what to apply, and where to.
type Where struct {
	// Checkout is a copy of the repository, and Env a directory in it, such as envs/dev.
	Checkout, Env string
	// Cloud are environment variables that lead Terraform to a cloud.
	Cloud map[string]string
	// Variables are those of Env.
	Variables map[string]any
}

// New makes the commands ready. The provider comes from where scripts/terraform-test finds it.
func New(w Where) (*Stack, error) {
	dir := filepath.Join(w.Checkout, w.Env)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, ".terraformrc")
	if _, err := repository.Script("terraform-test", "--cli-config", config); err != nil {
		return nil, err
	}
	environment := map[string]string{
		"TF_CLI_CONFIG_FILE": config,
		"TF_DATA_DIR":        filepath.Join(dir, ".terraform"),
		"TF_IN_AUTOMATION":   "1",
	}
	for name, value := range w.Cloud {
		environment[name] = value
	}
	return &Stack{options: terraform.Options{
		TerraformDir:    dir,
		TerraformBinary: "terraform",
		EnvVars:         environment,
		Vars:            w.Variables,
		NoColor:         true,
		Logger:          logger.Discard,
		PlanFilePath:    filepath.Join(dir, "stack.tfplan"),
		ExtraArgs:       terraform.ExtraArgs{Init: []string{"-lockfile=readonly"}},
	}}, nil
}

// With is the same stack, with other variables on top of its own and another file for its plans.
func (s *Stack) With(variables map[string]any) *Stack {
	other := *s
	other.options.Vars = maps.Clone(s.options.Vars)
	if other.options.Vars == nil {
		other.options.Vars = map[string]any{}
	}
	maps.Copy(other.options.Vars, variables)
	other.options.PlanFilePath += ".other"
	return &other
}

// Unrefreshed is the same stack, planned and destroyed by what its state says: for when nothing has
// changed since, or whether it has is not the question. A refresh takes most of a plan.
func (s *Stack) Unrefreshed() *Stack {
	other := *s
	unread := []string{"-refresh=false"}
	other.options.ExtraArgs.Plan, other.options.ExtraArgs.Apply, other.options.ExtraArgs.Destroy = unread, unread, unread
	return &other
}

// Init links the provider, or downloads it where the machine has none. That is the one step
// that may reach a network, so the proxy that is not there stays out of it.
func (s *Stack) Init(t testing.TB, ctx context.Context) error {
	open := s.options
	open.EnvVars = maps.Clone(s.options.EnvVars)
	delete(open.EnvVars, "HTTP_PROXY")
	delete(open.EnvVars, "HTTPS_PROXY")
	_, err := terraform.InitContextE(t, ctx, &open)
	return err
}

// Plan plans, keeps the plan for Apply, and returns it. Its error holds what Terraform said.
func (s *Stack) Plan(t testing.TB, ctx context.Context) (*terraform.PlanStruct, error) {
	if _, err := terraform.PlanContextE(t, ctx, &s.options); err != nil {
		return nil, err
	}
	quiet := s.options // a plan in JSON is long, and of no use in a log
	quiet.Logger = logger.Discard
	return terraform.ShowWithStructContextE(t, ctx, &quiet)
}

// PlanText is the plan kept last, as a person reads it.
func (s *Stack) PlanText(t testing.TB, ctx context.Context) (string, error) {
	return terraform.RunTerraformCommandAndGetStdoutContextE(t, ctx, &s.options, "show", "-no-color", s.options.PlanFilePath)
}

// Apply applies the plan that was kept.
func (s *Stack) Apply(t testing.TB, ctx context.Context) error {
	_, err := terraform.ApplyContextE(t, ctx, &s.options)
	return err
}

// PlanAndApply is both in one command, for a plan that nobody looks at.
func (s *Stack) PlanAndApply(t testing.TB, ctx context.Context) error {
	unplanned := s.options
	unplanned.PlanFilePath = ""
	_, err := terraform.ApplyContextE(t, ctx, &unplanned)
	return err
}

// Destroy destroys everything, and fails unless the state is empty then.
func (s *Stack) Destroy(t testing.TB, ctx context.Context) error {
	if _, err := terraform.DestroyContextE(t, ctx, &s.options); err != nil {
		return err
	}
	left, err := terraform.RunTerraformCommandAndGetStdoutContextE(t, ctx, &s.options, "state", "list")
	if err != nil {
		return err
	}
	if left != "" {
		return fmt.Errorf("left after destroy: %s", left)
	}
	return nil
}

// Applied is what was applied, as the root's output of that name tells it.
type Applied struct {
	APIID           string              `json:"api_id"`
	Stage           string              `json:"stage"`
	Body            string              `json:"body"`              // OpenAPI, as API Gateway was given it
	StageVariables  map[string]string   `json:"stage_variables"`   // what gateway responses substitute
	AccessLogFormat string              `json:"access_log_format"` // a JSON object of variables
	Throttle        Throttle            `json:"throttle"`
	Functions       map[string]Function `json:"functions"` // by the contract's names
}

// Throttle is the stage's ceiling on calls.
type Throttle struct {
	RatePerSecond float64 `json:"rate_per_second"`
	Burst         int     `json:"burst"`
}

// Function is what one function runs with.
type Function struct {
	Name                string            `json:"name"`
	MemoryMB            int               `json:"memory_mb"`
	TimeoutSeconds      int               `json:"timeout_seconds"`
	Architecture        string            `json:"architecture"`
	ReservedConcurrency int               `json:"reserved_concurrency"` // -1: unreserved
	Environment         map[string]string `json:"environment"`
}

// Outputs are the outputs of the stack that tests use.
type Outputs struct {
	MCPURL        string            `json:"mcp_url"`
	OAuthURL      string            `json:"oauth_url"`
	APIURL        string            `json:"api_url"`
	Tables        map[string]string `json:"tables"`
	TopicARN      string            `json:"topic_arn"`
	UsageTopicARN string            `json:"usage_topic_arn"`
	OperationsARN string            `json:"operations_topic_arn"`
	DashboardName string            `json:"dashboard_name"`
	Brake         string            `json:"brake"`
	Applied       Applied           `json:"applied"`
	LiveAlarm     struct {
		Names        []string `json:"names"`
		USDPerHour   float64  `json:"usd_per_hour"`
		DelaySeconds int      `json:"delay_seconds"`
	} `json:"live_alarm"`
	Concurrency struct {
		Quota      int `json:"quota"`
		Reserved   int `json:"reserved"`
		Unreserved int `json:"unreserved"`
	} `json:"concurrency"`
}

// Printed is what "terraform output -json" prints.
func (s *Stack) Printed(t testing.TB, ctx context.Context) ([]byte, error) {
	printed, err := terraform.RunTerraformCommandAndGetStdoutContextE(t, ctx, &s.options, "output", "-json")
	return []byte(printed), err
}

// Outputs reads them out of the state.
func (s *Stack) Outputs(t testing.TB, ctx context.Context) (Outputs, error) {
	var outputs Outputs
	raw, err := terraform.OutputJSONContextE(t, ctx, &s.options, "stack")
	if err != nil {
		return outputs, err
	}
	if err := json.Unmarshal([]byte(raw), &outputs); err != nil {
		return outputs, fmt.Errorf("read the output stack: %w", err)
	}
	return outputs, nil
}
