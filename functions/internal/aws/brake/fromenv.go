package brake

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
)

// FromEnv makes the brake of the deployment that the calling function belongs to.
func FromEnv(rt boot.Runtime, c brake.Config, memory brake.Memory) (*brake.Brake, error) {
	cfg, err := awsconfig.Config(rt.Env)
	if err != nil {
		return nil, err
	}
	function, err := rt.Env.Required("AWS_LAMBDA_FUNCTION_NAME")
	if err != nil {
		return nil, err
	}
	api, err := contract.Load(rt.Env)
	if err != nil {
		return nil, err
	}
	return New(cfg, api, c, function, memory, rt.Now), nil
}

// New makes the brake of a deployment. function is the deployed name of the brake's own
// function, as in `sekisho brake --function`.
func New(cfg aws.Config, api *contract.API, c brake.Config, function string, memory brake.Memory, now func() time.Time) *brake.Brake {
	return &brake.Brake{
		Name:           strings.TrimSuffix(function, "-brake"),
		Functions:      c.Functions,
		Methods:        c.Methods(api),
		ReleaseCommand: "sekisho brake off --region " + cfg.Region + " --function " + function,
		Memory:         memory,
		Ceilings:       Ceilings{lambda.NewFromConfig(cfg)},
		Stage:          Stage{apigateway.NewFromConfig(cfg), c.API, c.Stage, api.StageVariables},
		Alarms:         Alarms{cloudwatch.NewFromConfig(cfg), c.Rules.Alarms},
		Deploys:        Deploys{ssm.NewFromConfig(cfg), c.Parameter},
		Announcer:      newAnnouncer(sns.NewFromConfig(cfg), c.Topic),
		Now:            now,
	}
}
