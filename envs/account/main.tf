provider "aws" {
  region = var.region
}

data "aws_caller_identity" "this" {}

# What exists once per account and region, and is therefore no stack's own: a stack that
# owned it would take it from its neighbours when it is destroyed. Apply this once.

# Without this role no REST API of the account can write an access log.
resource "aws_iam_role" "api_gateway_logs" {
  name        = "api-gateway-logs-${var.region}"
  description = "Lets API Gateway write access logs in ${var.region}."

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "apigateway.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "api_gateway_logs" {
  name = "write"
  role = aws_iam_role.api_gateway_logs.id

  # The actions that API Gateway checks for before it accepts the role.
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect = "Allow"
      Action = [
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogGroups",
        "logs:DescribeLogStreams",
        "logs:FilterLogEvents",
        "logs:GetLogEvents",
        "logs:PutLogEvents",
      ]
      Resource = "*"
    }]
  })
}

# Version 6 of the provider takes the role from all of them when this is destroyed; `terraform
# state rm` it first.
resource "aws_api_gateway_account" "this" {
  cloudwatch_role_arn = aws_iam_role.api_gateway_logs.arn

  depends_on = [aws_iam_role_policy.api_gateway_logs]
}

# There is one SERVICE monitor per account. AWS makes it in accounts opened since 2023, and
# refuses a second one: "Limit exceeded on dimensional spend monitor creation".
resource "aws_ce_anomaly_monitor" "this" {
  count = var.create_monitor ? 1 : 0

  name              = "services"
  monitor_type      = "DIMENSIONAL"
  monitor_dimension = "SERVICE"
}

# In another region the role would be replaced, and the first region's APIs would lose the one
# that they log with.
resource "terraform_data" "home" {
  input = "account ${data.aws_caller_identity.this.account_id}, ${var.region}"

  lifecycle {
    ignore_changes = [input]

    postcondition {
      condition     = self.input == "account ${data.aws_caller_identity.this.account_id}, ${var.region}"
      error_message = "This state is of ${self.input}. For another region or account, give it a state of its own: another key in backend.hcl, and terraform init -reconfigure -backend-config=backend.hcl."
    }
  }
}
