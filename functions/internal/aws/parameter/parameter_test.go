package parameter_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/tests/awsfake/moto"
)

var emulator moto.Shared

func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }

const name = "/sekisho/upstream-token"

func env(endpoint string) boot.Env {
	return boot.Map(map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	})
}

// TestASecureStringIsDecrypted and read anew each time: caching is up to the caller.
func TestASecureStringIsDecrypted(t *testing.T) {
	endpoint := emulator.Endpoint(t)
	client := ssm.NewFromConfig(emulator.Config(t))
	read, err := parameter.FromEnv(env(endpoint), backend.Place{Parameter: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context()); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "ParameterNotFound") {
		t.Errorf("without a parameter: %v", err)
	}
	for _, secret := range []string{"SECRET-1", "SECRET-2"} {
		_, err := client.PutParameter(t.Context(), &ssm.PutParameterInput{
			Name: aws.String(name), Value: aws.String(secret), Type: types.ParameterTypeSecureString, Overwrite: aws.Bool(true),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context()); got != secret || err != nil {
			t.Errorf("read %q, %v; want %q", got, err, secret)
		}
	}
}

// TestASecretIsReadThroughParameterStore, by the name that its ARN holds.
func TestASecretIsReadThroughParameterStore(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/orders-token-AbC123": "/aws/reference/secretsmanager/prod/orders-token",
		"arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:a-b-x9Yz01":           "/aws/reference/secretsmanager/a-b",
		"prod/orders-token": "",
		"arn:aws:secretsmanager:eu-west-1:123456789012:secret:half": "",
	} {
		read, err := parameter.FromEnv(env("http://127.0.0.1:1"), backend.Place{SecretARN: arn})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "secret_arn") {
				t.Errorf("%s: %v", arn, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := read(ctx); err == nil || !strings.Contains(err.Error(), want+":") {
			t.Errorf("%s: %v, want a read of %s", arn, err, want)
		}
	}
}

func TestOutsideAWS(t *testing.T) {
	if _, err := parameter.FromEnv(boot.Map(nil), backend.Place{Parameter: name}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("outside AWS: %v", err)
	}
}
