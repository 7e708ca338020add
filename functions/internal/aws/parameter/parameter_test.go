package parameter_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/boot"
	"sekisho/tests/awsfake/moto"
)

var emulator moto.Shared

func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }

const name = "/sekisho/upstream-token"

func env(endpoint string) boot.Env {
	return boot.Map(map[string]string{
		boot.UpstreamTokenParameter: name, "AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	})
}

// TestASecureStringIsDecrypted and read anew each time: caching is up to the caller.
func TestASecureStringIsDecrypted(t *testing.T) {
	endpoint := emulator.Endpoint(t)
	client := ssm.NewFromConfig(emulator.Config(t))
	read, err := parameter.FromEnv(env(endpoint), boot.UpstreamTokenParameter)
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

func TestNoParameter(t *testing.T) {
	read, err := parameter.FromEnv(boot.Map(nil), boot.UpstreamTokenParameter)
	if read != nil || err != nil {
		t.Errorf("%v; want nothing, as no token is configured", err)
	}
	missing := boot.Map(map[string]string{boot.UpstreamTokenParameter: name})
	if _, err := parameter.FromEnv(missing, boot.UpstreamTokenParameter); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("outside AWS: %v", err)
	}
}
