// Package topic publishes to SNS topics.
package topic

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/boot"
)

// Publisher sends messages to one topic. The subject, which only e-mail shows, is one line of
// at most 100 ASCII characters: SNS refuses any other.
type Publisher interface {
	Publish(ctx context.Context, subject, message string) error
}

// FromEnv returns the publisher for the topic whose ARN is in an environment variable; nil if
// the variable is not set.
func FromEnv(env boot.Env, variable string) (Publisher, error) {
	arn := env(variable)
	if arn == "" {
		return nil, nil
	}
	cfg, err := awsconfig.Config(env)
	if err != nil {
		return nil, err
	}
	return Topic{Client: sns.NewFromConfig(cfg), ARN: arn}, nil
}

// Topic is an SNS topic.
type Topic struct {
	Client *sns.Client
	ARN    string
	// Attributes go with every message, beside its text. Optional.
	Attributes map[string]string
}

// Publish returns once SNS has accepted the message; it delivers later.
func (t Topic) Publish(ctx context.Context, subject, message string) error {
	in := &sns.PublishInput{TopicArn: &t.ARN, Subject: &subject, Message: &message}
	if len(t.Attributes) > 0 {
		in.MessageAttributes = map[string]types.MessageAttributeValue{}
	}
	for name, value := range t.Attributes {
		in.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	if _, err := t.Client.Publish(ctx, in); err != nil {
		return fmt.Errorf("publish to %s: %w", t.ARN, err)
	}
	return nil
}
