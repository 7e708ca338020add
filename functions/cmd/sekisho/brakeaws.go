package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	awsbrake "sekisho/functions/internal/aws/brake"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	handler "sekisho/functions/internal/handler/brake"
)

// deployed reaches the brake of a deployment. What it stops, and where it remembers, is
// in the environment of its function, so there is nothing to configure twice.
func (f brakeFlags) deployed(ctx context.Context) (*brakeTarget, error) {
	options := []func(*awsconfig.LoadOptions) error{}
	flags := " --function " + f.Function
	if f.Region != "" {
		options = append(options, awsconfig.WithRegion(f.Region))
		flags = " --region " + f.Region + flags
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, badUsage(fmt.Errorf("AWS configuration: %w", err))
	}
	if cfg.Region == "" {
		return nil, badUsage(errors.New("name the region of the deployment with --region, or set AWS_REGION"))
	}
	deployed, err := lambda.NewFromConfig(cfg).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &f.Function})
	var missing *lambdatypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, badUsage(fmt.Errorf("there is no function %s in %s; `terraform output brake` shows the command for this deployment", f.Function, cfg.Region))
	}
	if err != nil {
		return nil, fmt.Errorf("look at function %s: %w", f.Function, err)
	}
	env := boot.Map(nil)
	if deployed.Environment != nil {
		env = boot.Map(deployed.Environment.Variables)
	}
	api, err := f.load("")
	if err != nil {
		return nil, err
	}
	c, err := handler.ReadConfig(env, api)
	if err != nil {
		return nil, badUsage(fmt.Errorf("%s is not a brake: %w", f.Function, err))
	}
	for _, function := range c.Functions {
		// Of what another contract has, no method would be closed.
		if brake.Undeployed(api, function) == "" {
			return nil, badUsage(fmt.Errorf("%s stops %s, which this contract doesn't have: name the one that was deployed with --contract dist/contract.json", f.Function, function))
		}
	}
	table, err := env.Required(boot.AccountsTable)
	if err != nil {
		return nil, badUsage(fmt.Errorf("%s is not a brake: %w", f.Function, err))
	}
	memory := dynamo.New(dynamodb.NewFromConfig(cfg), dynamo.Tables{Accounts: table}).Brake(c.MemoryName())
	b := awsbrake.New(cfg, api, c, f.Function, memory, time.Now)
	return &brakeTarget{reachedBrake: deployedBrake{b}, flags: flags, close: func() error { return nil }}, nil
}

// deployedBrake acts on AWS itself.
type deployedBrake struct{ *brake.Brake }

func (b deployedBrake) On(ctx context.Context, reason string) error {
	_, err := b.Trip(ctx, brake.ByHand(reason), time.Now())
	return err
}

func (b deployedBrake) Off(ctx context.Context) error {
	_, err := b.Release(ctx)
	return err
}
