package brake

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/brake"
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
	stage  Switch
	topic  string
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
	env := brake.Config{Functions: names, Topic: c.topic, API: c.stage.API, Stage: c.stage.Stage}
	c.brake = must[*brake.Brake](t)(New(cfg, env, "demo-brake", dynamo.New(client, tableNames).Brake(env.MemoryName()), time.Now))
	return c
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

func (c *cloud) createStage(t *testing.T) Switch {
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
	s := must[Switch](t)(NewSwitch(client, *api.Id, "live"))
	variables := maps.Clone(s.States["open"])
	variables["mine"] = "kept"
	must[*apigateway.CreateStageOutput](t)(client.CreateStage(t.Context(), &apigateway.CreateStageInput{
		RestApiId: api.Id, DeploymentId: deployment.Id, StageName: &s.Stage, Variables: variables,
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
	c.want(t, false, before)
	effect, err := c.brake.Trip(t.Context(), brake.Cause{Name: "demo-spend-rate", Text: "Alarm."}, time.Now())
	if err != nil || effect != brake.Braked {
		t.Fatalf("%s, %v", effect, err)
	}
	c.want(t, true, map[string]int{"demo-calendar": 0, "demo-external": 0, "demo-postal": 0})
	if effect, err := c.brake.Release(t.Context()); err != nil || effect != brake.Released {
		t.Fatalf("%s, %v", effect, err)
	}
	c.want(t, false, before)
	stage := must[*apigateway.GetStageOutput](t)(c.stage.Client.GetStage(t.Context(), &apigateway.GetStageInput{RestApiId: &c.stage.API, StageName: &c.stage.Stage}))
	if stage.Variables["mine"] != "kept" || len(stage.Variables) != len(c.stage.States["open"])+1 {
		t.Errorf("variables %v: the stage's own must stay", stage.Variables)
	}
	if c.brake.ReleaseCommand != "sekisho brake off --region us-east-1 --function demo-brake" || c.brake.Name != "demo" {
		t.Errorf("%s: %s", c.brake.Name, c.brake.ReleaseCommand)
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
