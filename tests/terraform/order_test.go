package terraform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestOrder: what Terraform can't see from references. Each line has the harm that its absence
// does on AWS; the emulator does none of it.
func TestOrder(t *testing.T) {
	for _, order := range []struct{ file, resource, attribute, holds, harm string }{
		{"modules/function/main.tf", "aws_lambda_function.this", "depends_on", "aws_iam_role_policy.this", "a function that runs before it may write its log, or may reach its tables"},
		{"modules/api/access_log.tf", "aws_cloudwatch_log_subscription_filter.this", "depends_on", "aws_lambda_permission.settle", "CloudWatch Logs refuses a function that it may not invoke"},
		{"modules/api/main.tf", "aws_api_gateway_stage.this", "depends_on", "aws_cloudwatch_log_subscription_filter.this", "a call that fails before the subscription stays charged"},
		{"modules/api/main.tf", "aws_api_gateway_stage.this", "depends_on", "aws_lambda_permission.this", "a route is called that may not start its function yet"},
		{"modules/api/main.tf", "aws_lambda_alias.lists", "depends_on", "aws_api_gateway_stage.this", "a tool is listed whose route is not there"},
		{"modules/api/main.tf", "aws_api_gateway_deployment.this", "create_before_destroy", "true", "AWS does not delete a deployment that a stage points to"},
		{"modules/alerts/main.tf", "aws_budgets_budget.this", "depends_on", "aws_sns_topic_policy.this", "Budgets refuses a topic that it may not publish to"},
		{"modules/alerts/main.tf", "aws_ce_anomaly_subscription.this", "depends_on", "aws_sns_topic_policy.this", "Anomaly Detection refuses a topic that it may not publish to"},
		{"modules/brake/main.tf", "aws_sns_topic_subscription.this", "depends_on", "aws_lambda_permission.this", "the first message is lost"},
		{"modules/brake/main.tf", "aws_sns_topic_subscription.this", "depends_on", "aws_iam_role_policy.stage", "the brake hears before it may act"},
		{"modules/brake/main.tf", "aws_sns_topic_subscription.this", "depends_on", "aws_iam_role_policy.memory", "the brake hears before it may remember"},
		{"envs/account/main.tf", "aws_api_gateway_account.this", "depends_on", "aws_iam_role_policy.api_gateway_logs", "API Gateway refuses a role that may not write logs"},
	} {
		if have := argument(t, filepath.Join(root, order.file), order.resource, order.attribute); !strings.Contains(have, order.holds) {
			t.Errorf("%s: %s of %s is %q, want %s: %s", order.file, order.attribute, order.resource, have, order.holds, order.harm)
		}
	}
}

// argument is the source of a resource's argument, or of one in its lifecycle block.
func argument(t *testing.T, path, resource, name string) string {
	t.Helper()
	source, err := os.ReadFile(path)
	must(t, err)
	file, diagnostics := hclparse.NewParser().ParseHCL(source, path)
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type != "resource" || strings.Join(block.Labels, ".") != resource {
			continue
		}
		bodies := []*hclsyntax.Body{block.Body}
		for _, inner := range block.Body.Blocks {
			if inner.Type == "lifecycle" {
				bodies = append(bodies, inner.Body)
			}
		}
		for _, body := range bodies {
			if a, ok := body.Attributes[name]; ok {
				return string(a.Expr.Range().SliceBytes(source))
			}
		}
	}
	return ""
}
