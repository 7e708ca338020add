// Package config makes the SDK's configuration from the environment that Lambda gives a
// function. The SDK's own loader also supports profiles, SSO and instance metadata; leaving
// them out halves the binary and takes milliseconds off a cold start.
package config

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"sekisho/functions/internal/boot"
)

// Config returns the region, the credentials and, if AWS_ENDPOINT_URL is set, the endpoint.
// The credentials in a function's environment are valid for the life of its instance.
func Config(env boot.Env) (aws.Config, error) {
	region, err := env.Required("AWS_REGION")
	if err != nil {
		return aws.Config{}, err
	}
	id, err := env.Required("AWS_ACCESS_KEY_ID")
	if err != nil {
		return aws.Config{}, err
	}
	secret, err := env.Required("AWS_SECRET_ACCESS_KEY")
	if err != nil {
		return aws.Config{}, err
	}
	cfg := aws.Config{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, env("AWS_SESSION_TOKEN")),
	}
	if endpoint := env("AWS_ENDPOINT_URL"); endpoint != "" {
		cfg.BaseEndpoint = aws.String(endpoint)
	}
	return cfg, nil
}
