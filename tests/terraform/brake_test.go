package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	tfterraform "github.com/gruntwork-io/terratest/modules/terraform"

	"sekisho/tests/awsfake"
	"sekisho/tests/terraform/stack"
)

const brakeFunction = "sekisho-dev-brake"

// verifyBrake looks at what was applied of the brake, and pulls it.
func verifyBrake(t *testing.T, s *stack.Stack, outputs stack.Outputs) {
	emulator := reach(cloud.Endpoint)
	t.Run("subscription", func(t *testing.T) { verifyBrakeSubscription(t, sns.NewFromConfig(emulator), outputs) })
	t.Run("permission", func(t *testing.T) { verifyBrakePermission(t, lambda.NewFromConfig(emulator), outputs) })
	t.Run("rights", func(t *testing.T) { verifyBrakeRights(t, iam.NewFromConfig(emulator), outputs) })
	t.Run("environment", func(t *testing.T) { verifyBrakeEnvironment(t, outputs) })
	t.Run("by hand", func(t *testing.T) { verifyBrakeByHand(t, s, outputs) })
}

// verifyBrakeSubscription: the function hears everything on the topic. A filter policy would
// keep alarms and budgets away.
func verifyBrakeSubscription(t *testing.T, client *sns.Client, outputs stack.Outputs) {
	all, err := client.ListSubscriptionsByTopic(t.Context(), &sns.ListSubscriptionsByTopicInput{TopicArn: &outputs.TopicARN})
	must(t, err)
	var endpoints []string
	for _, s := range all.Subscriptions {
		endpoints = append(endpoints, aws.ToString(s.Protocol)+" "+aws.ToString(s.Endpoint))
		if aws.ToString(s.Protocol) != "lambda" {
			continue
		}
		attributes, err := client.GetSubscriptionAttributes(t.Context(), &sns.GetSubscriptionAttributesInput{SubscriptionArn: s.SubscriptionArn})
		must(t, err)
		if policy := attributes.Attributes["FilterPolicy"]; policy != "" {
			t.Errorf("the brake's subscription has the filter policy %s", policy)
		}
	}
	slices.Sort(endpoints)
	want := []string{"email finance@example.com", "lambda arn:aws:lambda:us-east-1:" + awsfake.AccountID + ":function:" + brakeFunction}
	if !slices.Equal(endpoints, want) {
		t.Errorf("subscribed: %q, want %q", endpoints, want)
	}
}

// verifyBrakePermission: only the topic starts the function.
func verifyBrakePermission(t *testing.T, client *lambda.Client, outputs stack.Outputs) {
	got, err := client.GetPolicy(t.Context(), &lambda.GetPolicyInput{FunctionName: aws.String(brakeFunction)})
	must(t, err)
	var policy struct {
		Statement []struct {
			Action    string
			Principal struct{ Service string }
			Condition map[string]map[string]string
		}
	}
	must(t, json.Unmarshal([]byte(aws.ToString(got.Policy)), &policy))
	if len(policy.Statement) != 1 {
		t.Fatalf("permissions: %s; want one", aws.ToString(got.Policy))
	}
	s := policy.Statement[0]
	if s.Action != "lambda:InvokeFunction" || s.Principal.Service != "sns.amazonaws.com" || s.Condition["ArnLike"]["AWS:SourceArn"] != outputs.TopicARN {
		t.Errorf("permission: %+v, want that of SNS, for %s", s, outputs.TopicARN)
	}
}

// verifyBrakeRights is the rest of the proof in TestPlan/iam: all policies of the role, as
// AWS has them, the one that no plan knows among them.
func verifyBrakeRights(t *testing.T, client *iam.Client, outputs stack.Outputs) {
	names, err := client.ListRolePolicies(t.Context(), &iam.ListRolePoliciesInput{RoleName: aws.String(brakeFunction)})
	must(t, err)
	attached, err := client.ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(brakeFunction)})
	must(t, err)
	if len(attached.AttachedPolicies) > 0 {
		t.Errorf("attached: %v", attached.AttachedPolicies)
	}
	var have []string
	for _, name := range names.PolicyNames {
		got, err := client.GetRolePolicy(t.Context(), &iam.GetRolePolicyInput{RoleName: aws.String(brakeFunction), PolicyName: &name})
		must(t, err)
		document, err := url.QueryUnescape(aws.ToString(got.PolicyDocument))
		must(t, err)
		list, err := allowed(document)
		must(t, err)
		have = append(have, list...)
	}
	calls, err := callsOf("proxy")
	must(t, err)
	stage := fmt.Sprintf("arn:aws:apigateway:us-east-1::/restapis/%s/stages/live", outputs.Applied.APIID)
	want := madeByLambda("brake")
	for _, call := range calls["brake"] {
		want = append(want, strings.Replace(call, " /restapis/api/stages/live", " "+stage, 1))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the brake may %q, want %q", have, want)
	}
}

// verifyBrakeEnvironment is what TestPlan/environment can't see. That AWS has what the output
// says, verifyFunctions tells.
func verifyBrakeEnvironment(t *testing.T, outputs stack.Outputs) {
	contract, err := readContract(root)
	must(t, err)
	want := map[string]string{
		"SEKISHO_LOG_LEVEL":       "info",
		"SEKISHO_BRAKE_FUNCTIONS": strings.Join(braked(contract, "sekisho-dev-"), ","), "SEKISHO_BRAKE_TOPIC_ARN": outputs.TopicARN,
		"SEKISHO_BRAKE_ALARMS": strings.Join(outputs.LiveAlarm.Names, ","), "SEKISHO_BRAKE_BUDGET": "sekisho-dev-monthly",
		"SEKISHO_BRAKE_BUDGET_PERCENT": "100", "SEKISHO_API_ID": outputs.Applied.APIID, "SEKISHO_STAGE": outputs.Applied.Stage,
		"SEKISHO_ACCOUNTS_TABLE": outputs.Tables["accounts"], "SEKISHO_BRAKE_PARAMETER": "/sekisho/sekisho-dev/brake",
	}
	if have := outputs.Applied.Functions["brake"].Environment; !maps.Equal(have, want) {
		t.Errorf("environment %v, want %v", have, want)
	}
}

// verifyBrakeByHand runs the command that `terraform output brake` prints, and `on` before it.
func verifyBrakeByHand(t *testing.T, s *stack.Stack, outputs stack.Outputs) {
	if want := "sekisho brake off --region us-east-1 --function " + brakeFunction; outputs.Brake != want {
		t.Fatalf("the output is %q, want %q", outputs.Brake, want)
	}
	run := func(command string) string {
		t.Helper()
		args := strings.Fields(strings.Replace(outputs.Brake, "brake off", "brake "+command, 1))[1:]
		out, code := binary.Run(t, cloud.Variables(), args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d", args, code)
		}
		return out
	}
	if out := run("status"); !strings.Contains(out, "The brake is off.") {
		t.Errorf("before: %s", out)
	}
	out := run("on")
	contract, err := readContract(root)
	must(t, err)
	setAlarm(t, outputs, "ALARM")
	for _, function := range braked(contract, "sekisho-dev-") {
		before := "unreserved"
		if function == "sekisho-dev-postal" {
			before = strconv.Itoa(reserved)
		}
		if want := []string{function, before, "0"}; !containsLine(out, want) {
			t.Errorf("no line %q in %s", want, out)
		}
	}
	if variables := stageVariables(t, outputs); variables["unavailable_error"] != "braked" {
		t.Errorf("stage variables %v", variables)
	}
	if !strings.Contains(out, "Closed, at a throttle of 0: DELETE /mcp, ") || !strings.Contains(out, "POST /register") {
		t.Errorf("no methods in %s", out)
	}
	verifyApplyWhileBraked(t, s, outputs)
	if again := run("on"); !strings.Contains(again, "The brake is on since") {
		t.Errorf("again: %s", again)
	}
	if out := run("off"); !strings.Contains(out, "The brake is off") {
		t.Errorf("off: %s", out)
	}
	for name, state := range alarmStates(t, outputs) {
		if state != "OK" {
			t.Errorf("%s is %s after the release: it can't trip the brake again", name, state)
		}
	}
	// Everything is as it was applied, before any other apply.
	verifyFunctions(t, lambda.NewFromConfig(reach(cloud.Endpoint)), outputs)
	if variables := stageVariables(t, outputs); variables["unavailable_error"] != "unavailable" {
		t.Errorf("stage variables %v", variables)
	}
	if _, code := binary.Run(t, cloud.Variables(), "brake", "off", "--region", "us-east-1", "--function", "sekisho-dev-mcp"); code != 2 {
		t.Errorf("another function is taken for the brake: exit code %d, want 2", code)
	}
	if _, code := binary.Run(t, cloud.Variables(), "brake", "off", "--region", "us-east-1", "--function", "nobody"); code != 2 {
		t.Errorf("a function that is not there: exit code %d, want 2", code)
	}
}

// verifyApplyWhileBraked: a plan finds nothing to change, and an apply leaves the brake on.
func verifyApplyWhileBraked(t *testing.T, s *stack.Stack, outputs stack.Outputs) {
	t.Helper()
	var plan *tfterraform.PlanStruct
	timed(t, "plan while braked", func() (err error) { plan, err = s.Plan(t, t.Context()); return err })
	contract, err := readContract(root)
	must(t, err)
	stopped := braked(contract, "")
	for _, name := range stopped {
		address := functionModule(name) + "aws_lambda_function.this"
		if n := plan.ResourcePlannedValuesMap[address].AttributeValues["reserved_concurrent_executions"]; n != 0.0 {
			t.Errorf("%s is planned with %v, want 0: the plan releases the brake", address, n)
		}
	}
	verifyDifferences(t, plan, outputs, stopped)
	timed(t, "apply while braked", func() error { return s.Apply(t, t.Context()) })
	if variables := stageVariables(t, outputs); variables["unavailable_error"] != "braked" || variables["throttled_error"] != "braked" {
		t.Errorf("after an apply the stage says %v", variables)
	}
	client := lambda.NewFromConfig(reach(cloud.Endpoint))
	for _, function := range braked(contract, "sekisho-dev-") {
		got, err := client.GetFunctionConcurrency(t.Context(), &lambda.GetFunctionConcurrencyInput{FunctionName: &function})
		must(t, err)
		if n := got.ReservedConcurrentExecutions; n == nil || *n != 0 {
			t.Errorf("after an apply %s has %v, want 0", function, n)
		}
	}
}

// setAlarm puts the alarms on dollars per hour into a state, which the emulator never does.
func setAlarm(t *testing.T, outputs stack.Outputs, state types.StateValue) {
	t.Helper()
	client := cloudwatch.NewFromConfig(reach(cloud.Endpoint))
	for _, name := range outputs.LiveAlarm.Names {
		_, err := client.SetAlarmState(t.Context(), &cloudwatch.SetAlarmStateInput{AlarmName: &name, StateValue: state, StateReason: aws.String("test")})
		must(t, err)
	}
}

func alarmStates(t *testing.T, outputs stack.Outputs) map[string]types.StateValue {
	t.Helper()
	got, err := cloudwatch.NewFromConfig(reach(cloud.Endpoint)).DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{AlarmNames: outputs.LiveAlarm.Names})
	must(t, err)
	states := map[string]types.StateValue{}
	for _, alarm := range got.MetricAlarms {
		states[*alarm.AlarmName] = alarm.StateValue
	}
	if len(states) != 2 {
		t.Errorf("alarms %v, want two", states)
	}
	return states
}

func containsLine(text string, words []string) bool {
	for line := range strings.Lines(text) {
		if slices.Equal(strings.Fields(line), words) {
			return true
		}
	}
	return false
}

func stageVariables(t *testing.T, outputs stack.Outputs) map[string]string {
	t.Helper()
	stage, err := apigateway.NewFromConfig(reach(cloud.Endpoint)).GetStage(t.Context(), &apigateway.GetStageInput{
		RestApiId: &outputs.Applied.APIID, StageName: &outputs.Applied.Stage,
	})
	must(t, err)
	return stage.Variables
}
