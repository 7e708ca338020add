// Package function invokes Lambda functions that serve operations as backends.
package function

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
)

// FromEnv makes the invoker of a backend in AWS.
func FromEnv(env boot.Env, s backend.Settings) (backend.Invoker, error) {
	cfg, err := awsconfig.Config(env)
	if err != nil {
		return nil, err
	}
	return New(cfg, s), nil
}

// New makes the invoker of a backend. It never invokes twice: the SDK's own retries could do
// something twice that must be done once.
func New(cfg aws.Config, s backend.Settings) backend.Invoker {
	return invoker{function: s.FunctionARN, client: lambda.NewFromConfig(cfg, func(o *lambda.Options) {
		o.Retryer = aws.NopRetryer{}
		if s.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.Endpoint)
		}
	})}
}

// All makes the invokers of this service's own functions, given their names in AWS. They share
// their connections.
func All(cfg aws.Config, names map[string]string) map[string]backend.Invoker {
	client := lambda.NewFromConfig(cfg, func(o *lambda.Options) { o.Retryer = aws.NopRetryer{} })
	all := make(map[string]backend.Invoker, len(names))
	for own, name := range names {
		all[own] = invoker{function: name, client: client}
	}
	return all
}

type invoker struct {
	function string
	client   *lambda.Client
}

func (i invoker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	out, err := i.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &i.function, Payload: payload})
	if err != nil {
		return nil, classified(err)
	}
	if out.FunctionError != nil {
		var said struct {
			Type string `json:"errorType"`
		}
		_ = json.Unmarshal(out.Payload, &said) // a runtime may say nothing, or something else
		if said.Type == "" {
			said.Type = *out.FunctionError
		}
		return nil, &backend.FailedError{Type: said.Type}
	}
	return out.Payload, nil
}

// classified finds the failures before which no function ran: all that Lambda refuses with a
// 4xx (docs.aws.amazon.com/lambda/latest/api/API_Invoke.html, errors).
func classified(err error) error {
	var busy *types.TooManyRequestsException
	if errors.As(err, &busy) {
		return backend.ErrBusy
	}
	var answered *awshttp.ResponseError
	if errors.As(err, &answered) && answered.HTTPStatusCode() < 500 {
		return &backend.NotInvokedError{Err: withoutRequest(err)}
	}
	return err
}

// withoutRequest is what the API said, without the SDK's account of the call.
func withoutRequest(err error) error {
	var said smithy.APIError
	if errors.As(err, &said) {
		return errors.New(said.ErrorCode() + ": " + said.ErrorMessage())
	}
	return err
}
