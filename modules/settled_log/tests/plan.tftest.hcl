mock_provider "aws" {}

run "subscription" {
  command = plan

  variables {
    log_group      = "/aws/lambda/demo-mcp"
    filter_pattern = "{ $.denial = \"limit_exceeded\" }"
    settle         = { function_name = "demo-settle" }
    location       = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  }

  assert {
    condition     = aws_cloudwatch_log_subscription_filter.this.destination_arn == "arn:aws:lambda:us-east-1:123456789012:function:demo-settle:live" && aws_cloudwatch_log_subscription_filter.this.filter_pattern == "{ $.denial = \"limit_exceeded\" }"
    error_message = "The lines that match go to settle, by its alias."
  }

  assert {
    condition     = aws_lambda_permission.this.source_arn == "arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/demo-mcp:*" && aws_lambda_permission.this.qualifier == "live"
    error_message = "Only this log group may start it."
  }
}
