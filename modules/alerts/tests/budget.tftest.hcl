# What a budget notifies of, beyond its thresholds: above them, in percent, through the topic.

mock_provider "aws" {
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:us-east-1:123456789012:demo-money" }
  }
}

run "budget" {
  command = plan

  variables {
    name     = "demo"
    location = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
    tag      = { key = "sekisho-stack", value = "demo" }
    usage    = { publishing_role = "demo-settle" }
  }

  assert {
    condition     = alltrue([for n in aws_budgets_budget.this.notification : n.comparison_operator == "GREATER_THAN" && n.threshold_type == "PERCENTAGE"])
    error_message = "Finance hears when more than a percentage is spent."
  }

  assert {
    condition     = aws_budgets_budget.this.budget_type == "COST" && aws_budgets_budget.this.time_unit == "MONTHLY" && aws_budgets_budget.this.limit_unit == "USD"
    error_message = "The budget is in US dollars a month."
  }
}
