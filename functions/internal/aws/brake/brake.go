// Package brake implements the brake's interfaces in AWS: with Lambda's reserved concurrency,
// API Gateway's stage variables and method settings, CloudWatch's alarms, a parameter of SSM and
// an SNS topic. Its permissions are in modules/brake.
package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apigatewaytypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"sekisho/functions/internal/aws/topic"
	"sekisho/functions/internal/brake"
)

// Ceilings are the reserved concurrency of Lambda functions.
type Ceilings struct{ Client *lambda.Client }

// Reserved returns brake.Unreserved for a function without reserved concurrency.
func (c Ceilings) Reserved(ctx context.Context, function string) (int, error) {
	out, err := c.Client.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &function})
	if err != nil {
		return 0, known(err)
	}
	if out.ReservedConcurrentExecutions == nil {
		return brake.Unreserved, nil
	}
	return int(*out.ReservedConcurrentExecutions), nil
}

// SetReserved fails if the account no longer has that much concurrency to reserve.
func (c Ceilings) SetReserved(ctx context.Context, function string, n int) error {
	if n == brake.Unreserved {
		_, err := c.Client.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &function})
		return known(err)
	}
	_, err := c.Client.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{
		FunctionName: &function, ReservedConcurrentExecutions: aws.Int32(int32(n)), //nolint:gosec // it was an int32
	})
	return known(err)
}

func known(err error) error {
	var missing *lambdatypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return fmt.Errorf("%w: %w", brake.ErrNoFunction, err)
	}
	return err
}

// Stage is the stage of a REST API, whose variables have the contract's two states.
type Stage struct {
	Client *apigateway.Client
	API    string
	Name   string
	States map[string]map[string]string
}

// Braked reports whether the stage has the variables of the state "braked".
func (s Stage) Braked(ctx context.Context) (bool, error) {
	out, err := s.get(ctx)
	if err != nil {
		return false, err
	}
	return brake.Says(out.Variables, s.States), nil
}

func (s Stage) get(ctx context.Context) (*apigateway.GetStageOutput, error) {
	return s.Client.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &s.API, StageName: &s.Name})
}

// Throttles are those of the stage's method settings, other than those for all methods.
func (s Stage) Throttles(ctx context.Context) (map[string]brake.Throttle, error) {
	out, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	own := map[string]brake.Throttle{}
	for key, settings := range out.MethodSettings {
		if method, ok := methodOf(key); ok {
			own[method] = brake.Throttle{Rate: settings.ThrottlingRateLimit, Burst: int(settings.ThrottlingBurstLimit)}
		}
	}
	return own, nil
}

// Set replaces the contract's variables and leaves all others alone. A method's settings are
// removed where it had none; AWS has no way to remove the throttle alone.
func (s Stage) Set(ctx context.Context, braked bool, throttles map[string]*brake.Throttle) error {
	in := &apigateway.UpdateStageInput{RestApiId: &s.API, StageName: &s.Name}
	replace := func(path, value string) {
		in.PatchOperations = append(in.PatchOperations, apigatewaytypes.PatchOperation{Op: apigatewaytypes.OpReplace, Path: &path, Value: &value})
	}
	variables := brake.Variables(s.States, braked)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		replace("/variables/"+name, variables[name])
	}
	for _, method := range slices.Sorted(maps.Keys(throttles)) {
		path := "/" + settingsKey(method)
		t := throttles[method]
		if t == nil {
			in.PatchOperations = append(in.PatchOperations, apigatewaytypes.PatchOperation{Op: apigatewaytypes.OpRemove, Path: &path})
			continue
		}
		replace(path+"/throttling/rateLimit", strconv.FormatFloat(t.Rate, 'f', -1, 64))
		replace(path+"/throttling/burstLimit", strconv.Itoa(t.Burst))
	}
	_, err := s.Client.UpdateStage(ctx, in)
	return err
}

// settingsKey is what API Gateway files a method's settings under: GET /v1/postal is
// ~1v1~1postal/GET, as a path in a JSON Pointer is escaped (RFC 6901).
func settingsKey(method string) string {
	verb, path, _ := strings.Cut(method, " ")
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + verb
}

// methodOf reads such a key, whose first slash may be missing; not that of all methods, */*.
func methodOf(key string) (method string, ok bool) {
	i := strings.LastIndexByte(key, '/')
	if i < 0 || key == "*/*" {
		return "", false
	}
	path := strings.NewReplacer("~1", "/", "~0", "~").Replace(key[:i])
	return key[i+1:] + " /" + strings.TrimPrefix(path, "/"), true
}

// Alarms are those of these names.
type Alarms struct {
	Client *cloudwatch.Client
	Names  []string
}

// Rearm passes over an alarm that was deleted. If spending goes on, CloudWatch soon sets an
// alarm back to ALARM and sends a message
// (docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_SetAlarmState.html).
func (a Alarms) Rearm(ctx context.Context) error {
	var failed error
	for _, name := range a.Names {
		_, err := a.Client.SetAlarmState(ctx, &cloudwatch.SetAlarmStateInput{
			AlarmName: &name, StateValue: cloudwatchtypes.StateValueOk, StateReason: aws.String("The brake was released."),
		})
		var missing *cloudwatchtypes.ResourceNotFound
		if err != nil && !errors.As(err, &missing) {
			failed = errors.Join(failed, fmt.Errorf("set alarm %s to OK: %w", name, err))
		}
	}
	return failed
}

// Deploys go by a parameter, which Terraform reads.
type Deploys struct {
	Client    *ssm.Client
	Parameter string
}

// Hold writes one of the contract's two states, open or braked.
func (d Deploys) Hold(ctx context.Context, on bool) error {
	_, err := d.Client.PutParameter(ctx, &ssm.PutParameterInput{
		Name: &d.Parameter, Value: aws.String(brake.StateName(on)), Overwrite: aws.Bool(true),
	})
	return err
}

// announcer is the SNS topic that finance is subscribed to.
type announcer struct{ topic.Topic }

// newAnnouncer marks every message as the brake's own.
func newAnnouncer(client *sns.Client, arn string) announcer {
	return announcer{topic.Topic{Client: client, ARN: arn, Attributes: map[string]string{brake.Mark: "announcement"}}}
}

// Announce publishes a message.
func (a announcer) Announce(ctx context.Context, subject, text string) error {
	return a.Publish(ctx, subject, text)
}
