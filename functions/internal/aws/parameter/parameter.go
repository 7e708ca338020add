// Package parameter reads secrets from SSM Parameter Store.
package parameter

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/boot"
)

// FromEnv returns a function that reads and decrypts the parameter named by an environment
// variable; nil if the variable is not set. FromEnv itself reads nothing.
func FromEnv(env boot.Env, variable string) (func(context.Context) (string, error), error) {
	name := env(variable)
	if name == "" {
		return nil, nil
	}
	cfg, err := awsconfig.Config(env)
	if err != nil {
		return nil, err
	}
	client := ssm.NewFromConfig(cfg)
	return func(ctx context.Context) (string, error) {
		out, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
		if err != nil {
			return "", fmt.Errorf("read parameter %s: %w", name, err)
		}
		if out.Parameter == nil || aws.ToString(out.Parameter.Value) == "" {
			return "", errors.New("read parameter " + name + ": it is empty")
		}
		return *out.Parameter.Value, nil
	}, nil
}
