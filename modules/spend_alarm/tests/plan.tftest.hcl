mock_provider "aws" {}

variables {
  name     = "demo"
  location = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  tag      = { key = "sekisho-stack", value = "demo" }
  prices   = { table = "../../functions/internal/money/price/prices.json" }

  # Any file does for a zip.
  brake = { zip = "main.tf", api_id = "abc123", accounts_table = "demo-accounts", functions = ["demo-mcp", "demo-calendar"] }

  # One method behind each function; the figures are chosen so that they can be checked by head.
  stack = {
    api    = { name = "demo", stage = "live", methods = 2, rate_per_second = 10, burst = 20 }
    tables = { usage = { name = "demo-usage" } }
    functions = {
      authorizer = { name = "demo-authorizer", started_by = "authorizer", methods = 1, memory_mb = 256, timeout_seconds = 5 }
      mcp        = { name = "demo-mcp", started_by = "proxy", methods = 1, memory_mb = 512, timeout_seconds = 28, reserved_concurrency = 10 }
      calendar   = { name = "demo-calendar", started_by = "api", methods = 1, memory_mb = 256, timeout_seconds = 28 }
      settle     = { name = "demo-settle", started_by = "log", methods = 6, memory_mb = 128, timeout_seconds = 30, reserved_concurrency = 0 }
      brake      = { name = "demo-brake", started_by = "message", memory_mb = 128, timeout_seconds = 30 }
    }
    unreserved_concurrency = 100
  }
}

run "defaults" {
  command = plan

  assert {
    condition     = aws_budgets_budget.this.limit_amount == "10" && one(aws_budgets_budget.this.cost_filter).values == tolist(["user:sekisho-stack$demo"])
    error_message = "10 US dollars a month, counted over what carries the stack's tag."
  }

  assert {
    condition     = toset([for n in aws_budgets_budget.this.notification : "${n.notification_type} ${n.threshold}"]) == toset(["ACTUAL 50", "ACTUAL 80", "ACTUAL 100", "FORECASTED 100"])
    error_message = "Finance is told at 50, 80 and 100 % spent, and at 100 % forecast."
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
    condition     = jsondecode(aws_kms_key.this.policy).Statement[*].Sid == ["account", "alarms", "anomalies", "budgets", "brake"] && alltrue([for s in slice(jsondecode(aws_kms_key.this.policy).Statement, 1, 4) : s.Condition.StringEquals["aws:SourceAccount"] == "123456789012"])
    error_message = "Three services may use the key, on behalf of this account only, and the brake."
  }

  assert {
    condition     = { for s in jsondecode(aws_sns_topic_policy.this.policy).Statement : s.Principal.Service => "${s.Action} ${s.Resource}" } == { for service in ["budgets.amazonaws.com", "costalerts.amazonaws.com", "cloudwatch.amazonaws.com"] : service => "sns:Publish arn:aws:sns:us-east-1:123456789012:demo-money" }
    error_message = "Budgets, Cost Anomaly Detection and alarms may publish to the topic, and nothing else."
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

run "live_alarm" {
  command = plan

  assert {
    condition     = aws_cloudwatch_metric_alarm.spend_rate.alarm_name == "demo-spend-rate" && output.alarm_names == ["demo-spend-rate"]
    error_message = "The brake knows the alarm by its name."
  }

  # 10 dollars a month, in 72 hours.
  assert {
    condition     = aws_cloudwatch_metric_alarm.spend_rate.threshold == 0.1389
    error_message = "Unless given, the alarm trips at what uses up the budget over a weekend."
  }

  assert {
    condition     = output.live.delay_seconds == 3 * 60 + 120 + 60 + 60
    error_message = "Three dear minutes, and what it takes to see and to stop them."
  }

  assert {
    condition     = length([for q in aws_cloudwatch_metric_alarm.spend_rate.metric_query : q if length(q.metric) == 1]) == 8 && [for q in aws_cloudwatch_metric_alarm.spend_rate.metric_query : q.id if q.return_data] == ["usd_per_hour"]
    error_message = "Gateway 2, durations 3, runs of the proxy 1, and 2 for a table; one expression is watched."
  }

  assert {
    condition     = alltrue([for q in aws_cloudwatch_metric_alarm.spend_rate.metric_query : length(coalesce(q.expression, "-")) <= 1024])
    error_message = "An expression is to stay far below CloudWatch's limit."
  }
}

run "worst_case" {
  command = plan

  # (10 × 3600 + 20) × 2 methods = 72,040 requests × 3.50 / million = 0.25214
  assert {
    condition     = output.worst_case_usd_per_hour.parts["gateway"].usd == 0.2522
    error_message = "Each method is throttled for itself. Got ${jsonencode(output.worst_case_usd_per_hour.parts["gateway"])}"
  }

  # 10 reserved × 3600 s × 0.5 GB × 0.0000133334 = 0.2400012, + 36,020 × 0.20 / million = 0.0072
  assert {
    condition     = output.worst_case_usd_per_hour.parts["function mcp"].usd == 0.2473 && output.worst_case_usd_per_hour.parts["function mcp"].bound == "reservation"
    error_message = "A reservation bounds time. Got ${jsonencode(output.worst_case_usd_per_hour.parts["function mcp"])}"
  }

  # 36,020 starts × 5 s × 0.25 GB × 0.0000133334 = 0.60034, + 0.0072; 100 places would allow twice that
  assert {
    condition     = output.worst_case_usd_per_hour.parts["function authorizer"].usd == 0.6076 && output.worst_case_usd_per_hour.parts["function authorizer"].bound == "throttle × timeout"
    error_message = "Throttle and timeout bound what is not reserved. Got ${jsonencode(output.worst_case_usd_per_hour.parts["function authorizer"])}"
  }

  # 36,020 × 28 s is more than 100 × 3600 s: 360,000 s × 0.25 GB × 0.0000133334 = 1.200006, + 0.0072
  assert {
    condition     = output.worst_case_usd_per_hour.parts["function calendar"].usd == 1.2073 && output.worst_case_usd_per_hour.parts["function calendar"].bound == "account"
    error_message = "The account bounds the rest. Got ${jsonencode(output.worst_case_usd_per_hour.parts["function calendar"])}"
  }

  # Both together have 100 places, not 150.03: the 50.03 that one too many wants are worth 0.60034.
  assert {
    condition     = output.worst_case_usd_per_hour.parts["functions share the account"].usd == -0.6003
    error_message = "Functions without a reservation share what the account has left. Got ${jsonencode(output.worst_case_usd_per_hour.parts["functions share the account"])}"
  }

  # Switched off: no time; what starts it is still counted. 3600 s × 0.125 GB × 0.0000133334 = 0.006
  assert {
    condition     = output.worst_case_usd_per_hour.parts["function brake"].usd == 0.0061 && output.worst_case_usd_per_hour.parts["function brake"].bound == "messages"
    error_message = "Messages start it one by one. Got ${jsonencode(output.worst_case_usd_per_hour.parts["function brake"])}"
  }

  # 72,040 × 8 units × 0.625 / million = 0.3602
  assert {
    condition     = output.worst_case_usd_per_hour.parts["dynamodb writes"].usd == 0.3602 && output.worst_case_usd_per_hour.parts["dynamodb writes"].bound == "throttle"
    error_message = "Calls bound the units of a table without a ceiling."
  }

  assert {
    condition     = abs(output.worst_case_usd_per_hour.usd - sum([for p in values(output.worst_case_usd_per_hour.parts) : p.usd])) < 0.00001 && output.worst_case_usd_per_hour.unbounded == null
    error_message = "The whole is the sum of its parts."
  }

  assert {
    condition     = abs(output.worst_case_usd_before_brake.usd - output.worst_case_usd_per_hour.usd * 420 / 3600) < 0.0001
    error_message = "Before the brake: seven minutes of the worst hour."
  }
}

run "table_ceiling_and_region" {
  command = plan

  variables {
    location = { partition = "aws", region = "eu-nowhere-1", account_id = "123456789012" }
    prices   = { table = "../../functions/internal/money/price/prices.json", usd = { apigateway_rest_request = 7 } }
    live     = { usd_per_hour = 1000 }
    stack = {
      api                    = { name = "demo", stage = "live", methods = 2, rate_per_second = 10, burst = 20 }
      tables                 = { usage = { name = "demo-usage", max_units_per_second = { write = 5 } } }
      functions              = { calendar = { name = "demo-calendar", started_by = "api", methods = 1, memory_mb = 256, timeout_seconds = 28 } }
      unreserved_concurrency = 100
    }
  }

  # 5 × 3600 × 0.625 / million = 0.01125
  assert {
    condition     = output.worst_case_usd_per_hour.parts["dynamodb writes"].usd == 0.0113 && output.worst_case_usd_per_hour.parts["dynamodb writes"].bound == "table" && output.worst_case_usd_per_hour.parts["dynamodb reads"].bound == "throttle"
    error_message = "A table's ceiling bounds its units."
  }

  assert {
    condition     = output.worst_case_usd_per_hour.parts["gateway"].usd == 0.5043
    error_message = "A price that is given is used."
  }

  assert {
    condition     = output.worst_case_usd_per_hour.prices == "Prices of us-east-1: the table has none of eu-nowhere-1. Give what differs under regions in prices.json, or as cost.prices."
    error_message = "Prices of another region are used, and it is said."
  }

  assert {
    condition     = output.worst_case_usd_before_brake.usd == null && startswith(output.worst_case_usd_before_brake.how, "never braked: the ceilings keep an hour at ")
    error_message = "An alarm above the worst case never trips, and it is said."
  }
}

run "tokyo" {
  command = plan

  variables {
    location = { partition = "aws", region = "ap-northeast-1", account_id = "123456789012" }
  }

  assert {
    condition     = abs(output.worst_case_usd_per_hour.parts["gateway"].usd - 72040 * jsondecode(file("../../functions/internal/money/price/prices.json")).regions["ap-northeast-1"].apigateway_rest_request.usd / 1000000) < 0.0001 && output.worst_case_usd_per_hour.parts["gateway"].usd > 0.2522
    error_message = "A region's own prices stand before the base's. Got ${jsonencode(output.worst_case_usd_per_hour.parts["gateway"])}"
  }

  assert {
    condition     = output.worst_case_usd_per_hour.prices == "Prices of ap-northeast-1."
    error_message = "A region that the table knows needs no note."
  }
}

run "unbounded" {
  command = plan

  variables {
    stack = {
      api    = { name = "demo", stage = "live", methods = 2, rate_per_second = -1, burst = -1 }
      tables = { usage = { name = "demo-usage", max_units_per_second = { write = 5 } } }
      functions = {
        calendar = { name = "demo-calendar", started_by = "api", methods = 1, memory_mb = 256, timeout_seconds = 28, reserved_concurrency = 5 }
        postal   = { name = "demo-postal", started_by = "api", methods = 1, memory_mb = 256, timeout_seconds = 28, reserved_concurrency = 0 }
      }
      unreserved_concurrency = 100
    }
  }

  assert {
    condition     = output.worst_case_usd_per_hour.usd == null && strcontains(output.worst_case_usd_per_hour.unbounded, "unbounded: set api.throttle.rate_per_second and api.throttle.burst")
    error_message = "Without a throttle there is no figure."
  }

  assert {
    condition     = output.worst_case_usd_per_hour.parts["dynamodb writes"].usd == 0.0113 && output.worst_case_usd_per_hour.parts["dynamodb reads"].how == "unbounded: set api.throttle.rate_per_second and api.throttle.burst, or tables.max_units_per_second.read"
    error_message = "What has a ceiling keeps its figure; what has none names both that would do."
  }

  assert {
    condition     = output.worst_case_usd_before_brake.usd == null && startswith(output.worst_case_usd_before_brake.how, "unbounded: set api.throttle")
    error_message = "Nor is there a figure before the brake."
  }
}

run "refuses_more_metrics_than_an_alarm_reads" {
  command = plan

  variables {
    stack = {
      api    = { name = "demo", stage = "live", methods = 2, rate_per_second = 10, burst = 20 }
      tables = { for role in ["a", "b", "c", "d", "e"] : role => { name = "demo-${role}" } }
      functions = {
        calendar = { name = "demo-calendar", started_by = "api", methods = 1, memory_mb = 256, timeout_seconds = 28 }
      }
      unreserved_concurrency = 100
    }
  }

  expect_failures = [aws_cloudwatch_metric_alarm.spend_rate]
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name    = "d"
    emails  = ["finance@example.com", "finance at example.com"]
    budget  = { monthly_usd = 0, actual_percent = [1001], forecast_percent = [] }
    anomaly = { impact_usd = -1, monitor_arn = "services" }
    live    = { usd_per_hour = 0, datapoints = 6, of = 5 }
    prices  = { table = "../../functions/internal/money/price/prices.json", usd = { rest = 1 } }
    stack = {
      api                    = { name = "demo", stage = "live", methods = 2, rate_per_second = 10, burst = 20 }
      tables                 = {}
      functions              = { calendar = { name = "demo-calendar", started_by = "magic", memory_mb = 256, timeout_seconds = 28 } }
      unreserved_concurrency = 100
    }
  }

  expect_failures = [var.name, var.emails, var.budget, var.anomaly, var.live, var.prices, var.stack]
}

run "brake" {
  command = plan

  assert {
    condition = length(jsondecode(module.brake.policy).Statement) == 3 && jsondecode(module.brake.policy).Statement == [
      for s in jsondecode(module.brake.policy).Statement : s
      if s.Action == ["logs:CreateLogStream", "logs:PutLogEvents"]
      || s.Action == ["sns:Publish"] && s.Resource == ["arn:aws:sns:us-east-1:123456789012:demo-money"]
      || s.Action == ["lambda:DeleteFunctionConcurrency", "lambda:GetFunctionConcurrency", "lambda:PutFunctionConcurrency"] && s.Resource == ["arn:aws:lambda:us-east-1:123456789012:function:demo-mcp", "arn:aws:lambda:us-east-1:123456789012:function:demo-calendar"]
    ]
    error_message = "The brake changes the concurrency of the functions that it is given, and of no others."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.brake_memory.policy).Statement[0].Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] == ["brake#*"]
    error_message = "Of the accounts table, the brake reaches only its own item."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.brake_stage.policy).Statement[0].Resource == ["arn:aws:apigateway:us-east-1::/restapis/abc123/stages/live"]
    error_message = "The brake switches one stage."
  }

  assert {
    condition     = aws_lambda_permission.brake.source_arn == "arn:aws:sns:us-east-1:123456789012:demo-money" && aws_lambda_permission.brake.principal == "sns.amazonaws.com"
    error_message = "Only its topic starts the brake."
  }

  assert {
    condition     = aws_sns_topic_subscription.brake.endpoint == "arn:aws:lambda:us-east-1:123456789012:function:demo-brake" && aws_sns_topic_subscription.brake.filter_policy == null
    error_message = "A filter policy would keep alarms and budgets away, whose messages have no attributes."
  }

  assert {
    condition     = output.brake.release == "sekisho brake off --region us-east-1 --function demo-brake"
    error_message = "The command to release is an output."
  }
}

run "brake_that_would_stop_the_door" {
  command = plan

  variables {
    brake = { zip = "main.tf", api_id = "abc123", accounts_table = "demo-accounts", functions = ["demo-mcp", "demo-authorizer"] }
  }

  expect_failures = [var.brake]
}

run "brake_that_no_message_reaches" {
  command = plan

  variables {
    budget = { actual_percent = [50, 80] }
  }

  expect_failures = [var.brake]
}

run "brake_that_stops_nothing" {
  command = plan

  variables {
    brake = { zip = "main.tf", api_id = "abc123", accounts_table = "demo-accounts", functions = [] }
  }

  expect_failures = [var.brake]
}
