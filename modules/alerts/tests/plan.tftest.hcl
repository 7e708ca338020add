mock_provider "aws" {
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:us-east-1:123456789012:demo-money" }
  }
}

variables {
  name     = "demo"
  location = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  tag      = { key = "sekisho-stack", value = "demo" }
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
    condition     = aws_ce_anomaly_monitor.this[0].monitor_type == "CUSTOM" && jsondecode(aws_ce_anomaly_monitor.this[0].monitor_specification).Tags.Values == ["demo"]
    error_message = "Without a monitor's ARN the stack has a monitor of its own, by its tag."
  }

  assert {
    condition     = aws_ce_anomaly_subscription.this.frequency == "IMMEDIATE" && one(aws_ce_anomaly_subscription.this.subscriber).type == "SNS"
    error_message = "Anomalies are told at once, which only a topic can."
  }

  assert {
    condition     = jsondecode(aws_kms_key.this.policy).Statement[*].Sid == ["account", "alarms", "anomalies", "budgets"] && alltrue([for s in slice(jsondecode(aws_kms_key.this.policy).Statement, 1, 4) : s.Condition.StringEquals["aws:SourceAccount"] == "123456789012"])
    error_message = "Three services may use the key, on behalf of this account only."
  }

  assert {
    condition     = { for s in jsondecode(aws_sns_topic_policy.this.policy).Statement : s.Principal.Service => "${s.Action} ${s.Resource}" } == { for service in ["budgets.amazonaws.com", "costalerts.amazonaws.com", "cloudwatch.amazonaws.com"] : service => "sns:Publish arn:aws:sns:us-east-1:123456789012:demo-money" }
    error_message = "Budgets, Cost Anomaly Detection and alarms may publish to the topic, and nothing else."
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
    condition     = length(aws_ce_anomaly_monitor.this) == 0 && aws_ce_anomaly_subscription.this.monitor_arn_list == tolist(["arn:aws:ce::123456789012:anomalymonitor/00000000-0000-4000-8000-000000000001"])
    error_message = "A monitor that is given is used; no second one is made."
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
    anomaly = { impact_usd = -1, monitor_arn = "services" }
  }

  expect_failures = [var.name, var.emails, var.budget, var.anomaly]
}
