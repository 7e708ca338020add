mock_provider "aws" {
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000" }
  }
  mock_resource "aws_ce_anomaly_monitor" {
    defaults = { arn = "arn:aws:ce::123456789012:anomalymonitor/00000000-0000-4000-8000-000000000001" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:us-east-1:123456789012:demo-money" }
  }
}

variables {
  name     = "demo"
  location = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  tag      = { key = "sekisho-stack", value = "demo" }
  usage    = { publishing_role = "demo-settle" }
}

run "defaults" {
  command = plan

  assert {
    condition     = aws_budgets_budget.this.limit_amount == "10" && one(aws_budgets_budget.this.cost_filter).values == tolist(["user:sekisho-stack$demo"])
    error_message = "10 US dollars a month, counted over what carries the stack's tag."
  }

  assert {
    condition     = toset([for n in aws_budgets_budget.this.notification : "${n.notification_type} ${n.threshold}"]) == toset(["ACTUAL 50", "ACTUAL 80", "ACTUAL 100", "ACTUAL 120", "ACTUAL 150", "ACTUAL 200", "FORECASTED 100"])
    error_message = "Finance hears at 50, 80 and 100 % spent, at 120, 150 and 200 % since each puts a released brake on again, and at 100 % forecast."
  }

  assert {
    condition     = length(aws_ce_anomaly_monitor.this) == 0 && length(aws_ce_anomaly_subscription.this) == 0
    error_message = "A member account may not make a monitor over a tag, so there is none unless it is asked for."
  }
}

run "usage" {
  command = plan

  variables {
    emails = ["finance@example.com"]
    usage = {
      publishing_role = "demo-settle"
      subscriptions = [
        { protocol = "email", endpoint = "support@example.com" },
        { protocol = "email", endpoint = "support@example.com" },
        { protocol = "https", endpoint = "https://hooks.example.com/usage?token=1" },
        { protocol = "sqs", endpoint = "arn:aws:sqs:us-east-1:123456789012:usage" },
      ]
    }
  }

  override_resource {
    target          = aws_sns_topic.usage
    override_during = plan
    values          = { arn = "arn:aws:sns:us-east-1:123456789012:demo-usage" }
  }

  assert {
    condition = jsondecode(aws_sns_topic_policy.usage.policy).Statement == [{
      Sid       = "usage"
      Effect    = "Allow"
      Principal = { AWS = "*" }
      Action    = "sns:Publish"
      Resource  = "arn:aws:sns:us-east-1:123456789012:demo-usage"
      Condition = { ArnEquals = { "aws:PrincipalArn" = "arn:aws:iam::123456789012:role/demo-settle" } }
    }]
    error_message = "One role may publish, and nobody else."
  }

  assert {
    condition     = [for s in jsondecode(aws_kms_key.this.policy).Statement : s.Condition.ArnEquals["aws:PrincipalArn"] if s.Sid == "usage"] == ["arn:aws:iam::123456789012:role/demo-settle"]
    error_message = "The role may use the key, too."
  }

  assert {
    condition     = { for s in aws_sns_topic_subscription.usage : s.endpoint => "${s.protocol} ${s.topic_arn}" } == { for endpoint, protocol in { "support@example.com" = "email", "https://hooks.example.com/usage?token=1" = "https", "arn:aws:sqs:us-east-1:123456789012:usage" = "sqs" } : endpoint => "${protocol} arn:aws:sns:us-east-1:123456789012:demo-usage" }
    error_message = "Each subscription is to the topic about usage, and made once."
  }

  assert {
    condition     = keys(aws_sns_topic_subscription.email) == ["finance@example.com"]
    error_message = "Those who hear of usage don't hear of money."
  }
}

run "refuses_endpoints_that_do_not_fit" {
  command = plan

  variables {
    usage = {
      publishing_role = "demo-settle"
      subscriptions   = [{ protocol = "https", endpoint = "http://hooks.example.com" }]
    }
  }

  expect_failures = [var.usage]
}

run "own_monitor" {
  command = plan

  variables {
    anomaly = { own_monitor = true }
  }

  assert {
    condition     = aws_ce_anomaly_monitor.this[0].monitor_type == "CUSTOM" && jsondecode(aws_ce_anomaly_monitor.this[0].monitor_specification).Tags.Values == ["demo"]
    error_message = "In a management account the stack may have a monitor of its own, by its tag."
  }
}

run "publishing_roles" {
  command = plan

  variables {
    publishing_roles = { brake = "demo-brake" }
  }

  assert {
    condition = [for s in jsondecode(aws_kms_key.this.policy).Statement : s.Condition if s.Sid == "brake"] == [{
      StringEquals = { "kms:CallerAccount" = "123456789012", "kms:ViaService" = "sns.us-east-1.amazonaws.com" }
      ArnEquals    = { "aws:PrincipalArn" = "arn:aws:iam::123456789012:role/demo-brake" }
    }]
    error_message = "The role may use the key for messages through SNS, and for nothing else."
  }
}

run "given_monitor_and_addresses" {
  command = plan

  variables {
    emails  = ["finance@example.com", "oncall@example.com"]
    budget  = { monthly_usd = 12.5, actual_percent = [1000], forecast_percent = [] }
    anomaly = { impact_usd = 20, monitor_arn = "arn:aws:ce::123456789012:anomalymonitor/00000000-0000-4000-8000-000000000001" }
  }

  assert {
    condition     = length(aws_ce_anomaly_monitor.this) == 0 && aws_ce_anomaly_subscription.this[0].monitor_arn_list == tolist(["arn:aws:ce::123456789012:anomalymonitor/00000000-0000-4000-8000-000000000001"])
    error_message = "A monitor that is given is used; no second one is made."
  }

  assert {
    condition     = aws_ce_anomaly_subscription.this[0].frequency == "IMMEDIATE" && one(aws_ce_anomaly_subscription.this[0].subscriber).type == "SNS"
    error_message = "Anomalies are told at once, which only a topic can."
  }

  assert {
    condition     = length(aws_sns_topic_subscription.email) == 2 && one(aws_budgets_budget.this.notification).subscriber_email_addresses == toset(["finance@example.com", "oncall@example.com"])
    error_message = "Each address hears from the topic and from the budget."
  }

  assert {
    condition     = aws_budgets_budget.this.limit_amount == "12.5"
    error_message = "A budget may have cents."
  }
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name    = "d"
    emails  = ["finance@example.com", "finance at example.com"]
    budget  = { monthly_usd = 0, actual_percent = [1001], forecast_percent = [] }
    anomaly = { impact_usd = -1, monitor_arn = "services", own_monitor = true }

    operations_emails = ["oncall"]
  }

  expect_failures = [var.name, var.emails, var.operations_emails, var.budget, var.anomaly]
}
