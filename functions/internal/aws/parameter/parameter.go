// Package parameter reads secrets from SSM Parameter Store, and through it from Secrets Manager.
package parameter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
)

// FromEnv returns a function that reads and decrypts the secret at a place. FromEnv itself
// reads nothing.
func FromEnv(env boot.Env, at backend.Place) (func(context.Context) (string, error), error) {
	name, err := nameOf(at)
	if err != nil {
		return nil, err
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

// secretsManager is the path below which Parameter Store hands out secrets by their names
// (docs.aws.amazon.com/systems-manager/latest/userguide/integration-ps-secretsmanager.html). It
// saves the functions a second client.
const secretsManager = "/aws/reference/secretsmanager/"

// suffix is what Secrets Manager adds to a name to make the ARN.
var suffix = regexp.MustCompile(`-[A-Za-z0-9]{6}$`)

func nameOf(at backend.Place) (string, error) {
	if at.Parameter != "" {
		return at.Parameter, nil
	}
	_, name, ok := strings.Cut(at.SecretARN, ":secret:")
	if !ok || !strings.HasPrefix(at.SecretARN, "arn:") || !suffix.MatchString(name) {
		return "", errors.New("secret_arn: want the whole ARN of a secret, arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME-123456")
	}
	return secretsManager + suffix.ReplaceAllString(name, ""), nil
}
