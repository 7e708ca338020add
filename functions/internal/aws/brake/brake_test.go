package brake

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apigatewaytypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/awsfake/tables"
)

var emulator moto.Shared

func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// cloud is a deployment in the emulator: functions without code, a stage, a topic and tables.
type cloud struct {
	cfg    aws.Config
	lambda *lambda.Client
	stage  Stage
	topic  string
	sent   *patches
	brake  *brake.Brake
}

func deploy(t *testing.T, functions map[string]int) *cloud {
	t.Helper()
	cfg := emulator.Config(t)
	c := &cloud{cfg: cfg, lambda: lambda.NewFromConfig(cfg)}
	role := must[*iam.CreateRoleOutput](t)(iam.NewFromConfig(cfg).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String(t.Name()), AssumeRolePolicyDocument: aws.String("{}"),
	}))
	var names []string
	for name, n := range functions {
		names = append(names, name)
		c.create(t, name, *role.Role.Arn, n)
	}
	c.topic = *must[*sns.CreateTopicOutput](t)(sns.NewFromConfig(cfg).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("demo-money")})).TopicArn
	c.stage = c.createStage(t)
	tableNames := dynamo.Tables{Accounts: t.Name() + "-accounts", Usage: t.Name() + "-usage"}
	client := dynamodb.NewFromConfig(cfg)
	if err := tables.Create(t.Context(), client, tableNames.Accounts, tableNames.Usage); err != nil {
		t.Fatal(err)
	}
	c.createAlarm(t)
	must[*ssm.PutParameterOutput](t)(ssm.NewFromConfig(cfg).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String(parameter), Value: aws.String("open"), Type: "String", Overwrite: aws.Bool(true),
	}))
	env := brake.Config{
		Functions: names, Topic: c.topic, API: c.stage.API, Stage: c.stage.Name, Parameter: parameter,
		Rules: brake.Rules{Alarms: []string{alarm, "deleted"}},
	}
	c.sent = &patches{}
	cfg.HTTPClient = c.sent
	c.brake = New(cfg, must[*contract.API](t)(contract.Default()), env, "demo-brake", dynamo.New(client, tableNames).Brake(env.MemoryName()), time.Now)
	return c
}

const alarm, parameter = "demo-spend-rate", "/sekisho/demo/brake"

// createAlarm makes the alarm, in the state that trips the brake.
func (c *cloud) createAlarm(t *testing.T) {
	t.Helper()
	client := cloudwatch.NewFromConfig(c.cfg)
	must[*cloudwatch.PutMetricAlarmOutput](t)(client.PutMetricAlarm(t.Context(), &cloudwatch.PutMetricAlarmInput{
		AlarmName: aws.String(alarm), Namespace: aws.String("AWS/ApiGateway"), MetricName: aws.String("Count"), Statistic: "Sum",
		Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1), ComparisonOperator: "GreaterThanThreshold",
	}))
	must[*cloudwatch.SetAlarmStateOutput](t)(client.SetAlarmState(t.Context(), &cloudwatch.SetAlarmStateInput{
		AlarmName: aws.String(alarm), StateValue: "ALARM", StateReason: aws.String("test"),
	}))
}

// patches notes the requests that change a stage, and passes everything on.
type patches struct{ bodies []string }

func (p *patches) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		p.bodies = append(p.bodies, string(raw))
	}
	return http.DefaultClient.Do(r)
}

func (c *cloud) create(t *testing.T, name, role string, reserved int) {
	t.Helper()
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	w := must[io.Writer](t)(archive.Create("bootstrap"))
	must[int](t)(io.WriteString(w, "#!/bin/sh\n"))
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	must[*lambda.CreateFunctionOutput](t)(c.lambda.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Role: &role, Runtime: lambdatypes.RuntimeProvidedal2023, Handler: aws.String("bootstrap"),
		Code: &lambdatypes.FunctionCode{ZipFile: code.Bytes()},
	}))
	if err := (Ceilings{c.lambda}).SetReserved(t.Context(), name, reserved); err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) createStage(t *testing.T) Stage {
	t.Helper()
	client := apigateway.NewFromConfig(c.cfg)
	api := must[*apigateway.CreateRestApiOutput](t)(client.CreateRestApi(t.Context(), &apigateway.CreateRestApiInput{Name: aws.String("demo")}))
	resources := must[*apigateway.GetResourcesOutput](t)(client.GetResources(t.Context(), &apigateway.GetResourcesInput{RestApiId: api.Id}))
	must[*apigateway.PutMethodOutput](t)(client.PutMethod(t.Context(), &apigateway.PutMethodInput{
		RestApiId: api.Id, ResourceId: resources.Items[0].Id, HttpMethod: aws.String("GET"), AuthorizationType: aws.String("NONE"),
	}))
	must[*apigateway.PutIntegrationOutput](t)(client.PutIntegration(t.Context(), &apigateway.PutIntegrationInput{
		RestApiId: api.Id, ResourceId: resources.Items[0].Id, HttpMethod: aws.String("GET"), Type: "HTTP",
		Uri: aws.String("http://127.0.0.1/"), IntegrationHttpMethod: aws.String("GET"),
	}))
	deployment := must[*apigateway.CreateDeploymentOutput](t)(client.CreateDeployment(t.Context(), &apigateway.CreateDeploymentInput{RestApiId: api.Id}))
	described := must[*contract.API](t)(contract.Default())
	s := Stage{client, *api.Id, "live", described.StageVariables}
	variables := maps.Clone(s.States["open"])
	variables["mine"] = "kept"
	must[*apigateway.CreateStageOutput](t)(client.CreateStage(t.Context(), &apigateway.CreateStageInput{
		RestApiId: api.Id, DeploymentId: deployment.Id, StageName: &s.Name, Variables: variables,
	}))
	return s
}

func (c *cloud) want(t *testing.T, braked bool, ceilings map[string]int) {
	t.Helper()
	if got := must[bool](t)(c.stage.Braked(t.Context())); got != braked {
		t.Errorf("braked %t, want %t", got, braked)
	}
	for name, want := range ceilings {
		if got := must[int](t)(Ceilings{c.lambda}.Reserved(t.Context(), name)); got != want {
			t.Errorf("%s has %d, want %d", name, got, want)
		}
	}
}

// TestBrakeInTheCloud puts the brake on and releases it through the AWS SDK and an emulator.
func TestBrakeInTheCloud(t *testing.T) {
	before := map[string]int{"demo-calendar": brake.Unreserved, "demo-external": 5, "demo-postal": 0}
	c := deploy(t, before)
	must[*apigateway.UpdateStageOutput](t)(c.stage.Client.UpdateStage(t.Context(), &apigateway.UpdateStageInput{
		RestApiId: &c.stage.API, StageName: &c.stage.Name, PatchOperations: []apigatewaytypes.PatchOperation{
			{Op: "replace", Path: aws.String("/*/*/throttling/rateLimit"), Value: aws.String("20")},
			{Op: "replace", Path: aws.String("/~1v1~1postal~1{postal_code}/GET/throttling/rateLimit"), Value: aws.String("2.5")},
			{Op: "replace", Path: aws.String("/~1v1~1postal~1{postal_code}/GET/throttling/burstLimit"), Value: aws.String("5")},
		},
	}))
	c.want(t, false, before)
	effect, err := c.brake.Trip(t.Context(), brake.Cause{Name: alarm, Text: "Alarm."}, time.Now())
	if err != nil || effect != brake.Braked {
		t.Fatalf("%s, %v", effect, err)
	}
	c.want(t, true, map[string]int{"demo-calendar": 0, "demo-external": 0, "demo-postal": 0})
	own := must[map[string]brake.Throttle](t)(c.stage.Throttles(t.Context()))
	for _, method := range c.brake.Methods {
		if own[method] != (brake.Throttle{}) {
			t.Errorf("%s has %v, want 0", method, own[method])
		}
	}
	if len(c.brake.Methods) < 9 || len(own) != len(c.brake.Methods) {
		t.Errorf("stopped %v, want %q", own, c.brake.Methods)
	}
	if state := c.alarmState(t); state != "ALARM" {
		t.Errorf("the alarm is %s: it is set to OK too early", state)
	}
	if got := c.parameter(t); got != "braked" {
		t.Errorf("deploys are told %s", got)
	}

	if effect, err := c.brake.Release(t.Context()); err != nil || effect != brake.Released {
		t.Fatalf("%s, %v", effect, err)
	}
	c.want(t, false, before)
	stage := must[*apigateway.GetStageOutput](t)(c.stage.Client.GetStage(t.Context(), &apigateway.GetStageInput{RestApiId: &c.stage.API, StageName: &c.stage.Name}))
	if stage.Variables["mine"] != "kept" || len(stage.Variables) != len(c.stage.States["open"])+1 {
		t.Errorf("variables %v: the stage's own must stay", stage.Variables)
	}
	if got := must[map[string]brake.Throttle](t)(c.stage.Throttles(t.Context()))["GET /v1/postal/{postal_code}"]; got != (brake.Throttle{Rate: 2.5, Burst: 5}) {
		t.Errorf("a method's own throttle is %v after the release", got)
	}
	// The emulator can't remove a method's settings, so look at what it was asked.
	if last := c.sent.bodies[len(c.sent.bodies)-1]; !strings.Contains(last, `{"op":"remove","path":"/~1v1~1calendar~1holidays/GET"}`) || strings.Contains(last, "*/*") {
		t.Errorf("the release sent %s", last)
	}
	if len(c.sent.bodies) != 2 {
		t.Errorf("the stage was changed in %d requests, want one to stop and one to release", len(c.sent.bodies))
	}
	if state := c.alarmState(t); state != "OK" {
		t.Errorf("the alarm is %s after the release: it can't trip the brake again", state)
	}
	if got := c.parameter(t); got != "open" {
		t.Errorf("deploys are told %s", got)
	}
	if c.brake.ReleaseCommand != "sekisho brake off --region us-east-1 --function demo-brake" || c.brake.Name != "demo" {
		t.Errorf("%s: %s", c.brake.Name, c.brake.ReleaseCommand)
	}
}

func (c *cloud) alarmState(t *testing.T) string {
	t.Helper()
	out := must[*cloudwatch.DescribeAlarmsOutput](t)(cloudwatch.NewFromConfig(c.cfg).DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{alarm}}))
	if len(out.MetricAlarms) != 1 {
		t.Fatalf("%d alarms, want 1", len(out.MetricAlarms))
	}
	return string(out.MetricAlarms[0].StateValue)
}

func (c *cloud) parameter(t *testing.T) string {
	t.Helper()
	return *must[*ssm.GetParameterOutput](t)(ssm.NewFromConfig(c.cfg).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String(parameter)})).Parameter.Value
}

// TestMethodSettingsKeys: what is written is read back, with or without the first slash; the
// entry for all methods is not one method's.
func TestMethodSettingsKeys(t *testing.T) {
	for key, want := range map[string]string{
		"~1v1~1postal~1{postal_code}/GET": "GET /v1/postal/{postal_code}", "v1~1postal/GET": "GET /v1/postal", "mcp/POST": "POST /mcp", "~1/GET": "GET /", "/GET": "GET /", "*/*": "", "GET": "",
	} {
		method, ok := methodOf(key)
		if method != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", key, method, want)
		}
		if back, _ := methodOf(settingsKey(want)); want != "" && back != want {
			t.Errorf("%s is written as %s and read as %s", want, settingsKey(want), back)
		}
	}
}

func TestNoFunction(t *testing.T) {
	c := Ceilings{lambda.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(emulator.Endpoint(t)),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}
	if _, err := c.Reserved(t.Context(), "nobody"); !errors.Is(err, brake.ErrNoFunction) {
		t.Errorf("Reserved: %v", err)
	}
	for _, n := range []int{brake.Unreserved, 0, 3} {
		if err := c.SetReserved(t.Context(), "nobody", n); !errors.Is(err, brake.ErrNoFunction) {
			t.Errorf("SetReserved %d: %v", n, err)
		}
	}
}

// TestAnnouncementIsMarked: without the mark, the brake would take its own message for a cause.
func TestAnnouncementIsMarked(t *testing.T) {
	a := newAnnouncer(nil, "arn:aws:sns:us-east-1:123456789012:demo-money")
	if a.Attributes[brake.Mark] == "" || a.ARN != "arn:aws:sns:us-east-1:123456789012:demo-money" {
		t.Errorf("%+v", a)
	}
}
