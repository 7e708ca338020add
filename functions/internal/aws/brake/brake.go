// Package brake implements the brake's interfaces in AWS: with Lambda's reserved concurrency,
// API Gateway's stage variables and an SNS topic. Its permissions are in
// modules/brake.
package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apigatewaytypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"sekisho/functions/internal/aws/topic"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
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

// Switch is the stage of a REST API, whose variables have the contract's two states.
type Switch struct {
	Client *apigateway.Client
	API    string
	Stage  string
	States map[string]map[string]string
}

// NewSwitch makes the switch for a stage.
func NewSwitch(client *apigateway.Client, api, stage string) (Switch, error) {
	c, err := contract.Load()
	if err != nil {
		return Switch{}, err
	}
	return Switch{Client: client, API: api, Stage: stage, States: c.StageVariables}, nil
}

// Braked reports whether the stage has the variables of the state "braked".
func (s Switch) Braked(ctx context.Context) (bool, error) {
	out, err := s.Client.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &s.API, StageName: &s.Stage})
	if err != nil {
		return false, err
	}
	return brake.Says(out.Variables, s.States), nil
}

// SetBraked replaces the contract's variables in one request and leaves all others alone.
func (s Switch) SetBraked(ctx context.Context, on bool) error {
	variables := brake.Variables(s.States, on)
	in := &apigateway.UpdateStageInput{RestApiId: &s.API, StageName: &s.Stage}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		in.PatchOperations = append(in.PatchOperations, apigatewaytypes.PatchOperation{
			Op: apigatewaytypes.OpReplace, Path: aws.String("/variables/" + name), Value: aws.String(variables[name]),
		})
	}
	_, err := s.Client.UpdateStage(ctx, in)
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
