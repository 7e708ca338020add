mock_provider "aws" {}

variables {
  name       = "demo"
  region     = "us-east-1"
  api        = { name = "demo", stage = "live", access_log_group = "/aws/apigateway/demo/live/access" }
  functions  = { mcp = "demo-mcp", calendar = "demo-calendar" }
  tables     = { accounts = "demo-accounts", usage = "demo-usage" }
  topic_arns = ["arn:aws:sns:us-east-1:123456789012:demo-money"]
}

run "dashboard_and_alarms" {
  command = plan

  assert {
    condition = alltrue([
      for metric in ["ConcurrentExecutions", "Invocations", "Duration", "Throttles", "Errors"] :
      contains(
        [for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : try([for m in w.properties.metrics : "${m[1]} ${m[3]}"], [])],
        ["${metric} demo-calendar", "${metric} demo-mcp"],
      )
    ])
    error_message = "Each figure of D6 must be shown for every function."
  }

  assert {
    condition     = length([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w if w.type == "log" && startswith(try(w.properties.query, ""), "SOURCE '/aws/apigateway/demo/live/access'")]) == 3
    error_message = "Admissions and denials come out of the access log."
  }

  assert {
    condition     = length(distinct([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : "${w.x} ${w.y}"])) == length(jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets)
    error_message = "No widget may lie on another."
  }

  assert {
    condition     = { for k, alarm in aws_cloudwatch_metric_alarm.this : k => alarm.threshold } == { refusals = 500, failures = 20, latency = 10000 } && alltrue([for alarm in aws_cloudwatch_metric_alarm.this : length(alarm.alarm_actions) == 1])
    error_message = "Three alarms, and each notifies the topic."
  }
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name   = "demo-"
    alarms = { refusals_above = -1 }
  }

  expect_failures = [var.name, var.alarms]
}
