package terraform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// doors are both kinds of door before one function.
const doors = `
provider "aws" {
  region = "us-east-1"
}

resource "aws_iam_role" "this" {
  name               = "doors"
  assume_role_policy = jsonencode({ Version = "2012-10-17", Statement = [] })
}

resource "aws_lambda_function" "this" {
  function_name = "doors"
  role          = aws_iam_role.this.arn
  runtime       = "provided.al2023"
  handler       = "bootstrap"
  filename      = var.zip
  publish       = true
}

resource "aws_lambda_alias" "live" {
  name             = "live"
  function_name    = aws_lambda_function.this.function_name
  function_version = aws_lambda_function.this.version
}

variable "zip" {
  type = string
}

module "door" {
  source   = "../../modules/door"
  for_each = toset(["http", "url"])

  name      = "doors"
  kind      = each.key
  location  = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  functions = { mcp = { name = aws_lambda_function.this.function_name, alias = aws_lambda_alias.live.name, timeout_seconds = 28, reserved_concurrency = 5 } }
  variables = { rest_address = "https://rest.example/live" }
  routes = {
    "ANY /mcp"       = { function = "mcp" }
    "POST /register" = { function = "mcp", rate_per_second = 5, burst = 10 }
  }
  address_variable = "own_address"
}

output "urls" {
  value = { for kind, door in module.door : kind => door.url }
}
`

// TestApplyDoors applies both doors to the cloud of these tests, plans again, and destroys them.
func TestApplyDoors(t *testing.T) {
	t.Parallel()
	dir, dist := checkout(t, nil)
	environment := filepath.Join(dir, "envs", "doors")
	must(t, os.Mkdir(environment, 0o755))
	must(t, os.WriteFile(filepath.Join(environment, "main.tf"), []byte(doors), 0o644))
	lock, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(environment, ".terraform.lock.hcl"), lock, 0o644))
	s := prepare(t, dir, "envs/doors", map[string]any{"zip": filepath.Join(dist, "mcp.zip")})
	timed(t, "apply", func() error { return s.PlanAndApply(t, t.Context()) })
	printed, err := s.Printed(t, t.Context())
	must(t, err)
	for _, want := range []string{`"http": *"https://[a-z0-9]+\.execute-api\.us-east-1\.amazonaws\.com"`, `"url": *"https://[a-z0-9]+\.lambda-url\.us-east-1\.on\.aws"`} {
		if !regexp.MustCompile(want).Match(printed) {
			t.Errorf("the addresses are %s", printed)
		}
	}
	again, err := s.Plan(t, t.Context())
	must(t, err)
	if changed := differences(again); len(changed) > 0 {
		t.Errorf("the second plan wants to change %v", changed)
	}
	timed(t, "destroy", func() error { return s.Unrefreshed().Destroy(t, t.Context()) })
}
