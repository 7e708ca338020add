package brake

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
)

// calls answers every request alike, and notes it.
type calls struct {
	status       int
	kind, answer string
	seen         []string
}

func (c *calls) Do(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
	}
	c.seen = append(c.seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+body))
	return &http.Response{
		StatusCode: c.status, Request: r, Header: http.Header{"X-Amzn-Errortype": {c.kind}, "Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(c.answer)),
	}, nil
}

func (c *calls) config() aws.Config {
	return aws.Config{Region: "us-east-1", HTTPClient: c, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), RetryMaxAttempts: 1}
}

// TestRefusalsOfAWSAreErrors, each of them: otherwise the brake would say that it is on while nothing
// is stopped.
func TestRefusalsOfAWSAreErrors(t *testing.T) {
	for name, do := range map[string]func(context.Context, aws.Config) error{
		"read a ceiling": func(ctx context.Context, cfg aws.Config) error {
			_, err := Ceilings{lambda.NewFromConfig(cfg)}.Reserved(ctx, "f")
			return err
		},
		"set a ceiling": func(ctx context.Context, cfg aws.Config) error {
			return Ceilings{lambda.NewFromConfig(cfg)}.SetReserved(ctx, "f", 0)
		},
		"take one away": func(ctx context.Context, cfg aws.Config) error {
			return Ceilings{lambda.NewFromConfig(cfg)}.SetReserved(ctx, "f", brake.Unreserved)
		},
		"read the variables": func(ctx context.Context, cfg aws.Config) error {
			on, err := Stage{Client: apigateway.NewFromConfig(cfg), API: "a", Name: "live"}.Braked(ctx)
			if on {
				t.Error("braked, by an error")
			}
			return err
		},
		"read the throttles": func(ctx context.Context, cfg aws.Config) error {
			_, err := Stage{Client: apigateway.NewFromConfig(cfg), API: "a", Name: "live"}.Throttles(ctx)
			return err
		},
		"change the stage": func(ctx context.Context, cfg aws.Config) error {
			return Stage{Client: apigateway.NewFromConfig(cfg), API: "a", Name: "live"}.Set(ctx, true, nil)
		},
		"arm an alarm": func(ctx context.Context, cfg aws.Config) error {
			return Alarms{cloudwatch.NewFromConfig(cfg), []string{"a"}}.Rearm(ctx)
		},
		"announce": func(ctx context.Context, cfg aws.Config) error {
			return newAnnouncer(sns.NewFromConfig(cfg), "arn:aws:sns:us-east-1:123456789012:demo-money").Announce(ctx, "s", "t")
		},
		"hold deploys": func(ctx context.Context, cfg aws.Config) error {
			return Deploys{ssm.NewFromConfig(cfg), "p"}.Hold(ctx, true)
		},
	} {
		c := &calls{status: http.StatusForbidden, kind: "AccessDeniedException", answer: `{"__type":"AccessDeniedException","message":"no"}`}
		if err := do(t.Context(), c.config()); err == nil || errors.Is(err, brake.ErrNoFunction) || len(c.seen) != 1 {
			t.Errorf("%s: %v after %d calls", name, err, len(c.seen))
		}
	}
}

// TestCeilings: none is no ceiling, and not 0.
func TestCeilings(t *testing.T) {
	for answer, want := range map[string]int{`{}`: brake.Unreserved, `{"ReservedConcurrentExecutions":0}`: 0, `{"ReservedConcurrentExecutions":7}`: 7} {
		c := &calls{status: http.StatusOK, answer: answer}
		if got, err := (Ceilings{lambda.NewFromConfig(c.config())}).Reserved(t.Context(), "f"); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", answer, got, err, want)
		}
	}
	for n, want := range map[int]string{brake.Unreserved: "DELETE /2017-10-31/functions/f/concurrency", 0: `PUT /2017-10-31/functions/f/concurrency {"ReservedConcurrentExecutions":0}`} {
		c := &calls{status: http.StatusOK, answer: "{}"}
		if err := (Ceilings{lambda.NewFromConfig(c.config())}).SetReserved(t.Context(), "f", n); err != nil || len(c.seen) != 1 || c.seen[0] != want {
			t.Errorf("%d: %v, called %q; want %s", n, err, c.seen, want)
		}
	}
	c := &calls{status: http.StatusNotFound, kind: "ResourceNotFoundException", answer: "{}"}
	if n, err := (Ceilings{lambda.NewFromConfig(c.config())}).Reserved(t.Context(), "f"); !errors.Is(err, brake.ErrNoFunction) || n != 0 {
		t.Errorf("of no function: %d, %v", n, err)
	}
}

// TestFromEnv: a brake is made of a whole environment only.
func TestFromEnv(t *testing.T) {
	whole := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_LAMBDA_FUNCTION_NAME": "demo-brake",
	}
	for name, change := range map[string]map[string]string{
		"whole": {}, "no region": {"AWS_REGION": ""}, "no function": {"AWS_LAMBDA_FUNCTION_NAME": ""},
		"no contract": {contract.FileVariable: filepath.Join(t.TempDir(), "none.yaml")},
	} {
		env := maps.Clone(whole)
		maps.Copy(env, change)
		b, err := FromEnv(boot.Runtime{Env: boot.Map(env)}, brake.Config{}, nil)
		if good := name == "whole"; (err == nil) != good || (b != nil) != good || good && b.Name != "demo" {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}
