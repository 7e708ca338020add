package brake

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"sekisho/functions/internal/brake"
	handler "sekisho/functions/internal/handler/brake"
)

// New makes the brake of a deployment. function is the deployed name of the brake's own
// function, as in `sekisho brake --function`.
func New(cfg aws.Config, c handler.Config, function string, memory brake.Memory, now func() time.Time) (*brake.Brake, error) {
	stage, err := NewSwitch(apigateway.NewFromConfig(cfg), c.API, c.Stage)
	if err != nil {
		return nil, err
	}
	return &brake.Brake{
		Name:           strings.TrimSuffix(function, "-brake"),
		Functions:      c.Functions,
		ReleaseCommand: "sekisho brake off --region " + cfg.Region + " --function " + function,
		Memory:         memory,
		Ceilings:       Ceilings{lambda.NewFromConfig(cfg)},
		Switch:         stage,
		Announcer:      Topic{sns.NewFromConfig(cfg), c.Topic},
		Now:            now,
	}, nil
}
