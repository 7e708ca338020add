mock_provider "aws" {}

variables {
  name   = "demo"
  region = "us-east-1"
  api = {
    name         = "demo", stage = "live", access_log_group = "/aws/apigateway/demo/live/access"
    query_fields = { for field in ["admission_id", "denial", "operation"] : field => "parse gate /${field}=(?<${field}>\\S+)/" }
  }
  functions = {
    mcp      = { name = "demo-mcp", log_group = "/aws/lambda/demo-mcp", memory_mb = 512, reserved_concurrency = 20 }
    calendar = { name = "demo-calendar", log_group = "/aws/lambda/demo-calendar", memory_mb = 256, reserved_concurrency = 20 }
    settle   = { name = "demo-settle", log_group = "/aws/lambda/demo-settle", memory_mb = 128, architecture = "x86_64" }
  }
  money = {
    alarm_usd_per_hour = 0.5
    prices = {
      apigateway_rest_request = "3.5 / 1000000", apigateway_http_request = "1 / 1000000", lambda_request = "0.2 / 1000000", lambda_arm64_gb_second = "0.0000133334", lambda_x86_64_gb_second = "0.0000166667"
      dynamodb_write_unit     = "0.625 / 1000000", dynamodb_read_unit = "0.125 / 1000000", logs_ingested_gb = "0.5", data_out_gb = "0.09"
    }
  }
  tables = { accounts = "demo-accounts", usage = "demo-usage" }
  alarms = { topic_arns = ["arn:aws:sns:us-east-1:123456789012:demo-money"] }
}

run "dashboard_and_alarms" {
  command = plan

  assert {
    condition = alltrue([
      for metric in ["ConcurrentExecutions", "Invocations", "Duration", "Throttles", "Errors"] :
      contains(
        [for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : try([for m in w.properties.metrics : "${m[1]} ${m[3]}"], [])],
        ["${metric} demo-calendar", "${metric} demo-mcp", "${metric} demo-settle"],
      )
    ])
    error_message = "Each figure must be shown for every function."
  }

  assert {
    condition     = [for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : split("'", w.properties.query)[1] if w.type == "log"] == ["/aws/apigateway/demo/live/access", "/aws/apigateway/demo/live/access", "/aws/lambda/demo-settle", "/aws/apigateway/demo/live/access"]
    error_message = "Admissions and denials come out of the access log, refunds out of what settle says."
  }

  assert {
    condition     = [for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w.properties.annotations.horizontal if startswith(w.properties.title, "Executions at a time")] == [[{ label = "20 reserved: calendar, mcp", value = 20 }]]
    error_message = "Concurrency is shown against its ceilings."
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

run "http_api" {
  command = plan

  variables {
    door = { kind = "http", api_id = "a1b2c3" }
  }

  assert {
    condition = anytrue([
      for m in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets[0].properties.metrics : try(m[1] == "IntegrationLatency" && m[3] == "a1b2c3" && m[4].stat == "SampleCount", false)
    ])
    error_message = "What the HTTP API bills is shown in dollars."
  }

  assert {
    condition = [
      for m in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets[0].properties.metrics : m[0].expression if try(m[0].id == "gateway", false)
    ] == ["FILL(billed, 0) * 3.5 / 1000000 + FILL(door, 0) * 1 / 1000000"]
    error_message = "Each gateway has its own price."
  }
}

run "oauth_door" {
  command = plan

  variables {
    door = { kind = "http", api_id = "a1b2c3", oauth = true, oauth_api_id = "d4e5f6" }
  }

  assert {
    condition = { for m in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets[0].properties.metrics : m[0].id => m[0].expression if contains(["gateway", "answers"], try(m[0].id, "")) } == {
      gateway = "FILL(billed, 0) * 3.5 / 1000000 + FILL(door, 0) * 1 / 1000000 + FILL(oauth_door, 0) * 1 / 1000000"
      answers = "(FILL(requests, 0) + FILL(door, 0) + FILL(oauth_door, 0)) * 2048 * 0.09 / 1000000000"
    }
    error_message = "Both HTTP APIs are in the dollars."
  }

  assert {
    condition     = { for k, alarm in aws_cloudwatch_metric_alarm.this : k => "${alarm.metric_name} ${join(" ", values(alarm.dimensions))}" if startswith(k, "oauth") } == { oauth-failures = "5xx d4e5f6", oauth-refusals = "4xx d4e5f6" }
    error_message = "Whoever tries keys at the OAuth door is noticed."
  }
}

run "direct_dispatch" {
  command = plan

  variables {
    counting = { admissions = "mcp" }
  }

  assert {
    condition     = length([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w if w.type == "log" && split("'", try(w.properties.query, "''"))[1] == "/aws/lambda/demo-mcp"]) == 3
    error_message = "What mcp admits, denies and gives back by itself is shown too."
  }
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name     = "demo-"
    alarms   = { refusals_above = -1 }
    counting = { refunds = "nobody" }
    money    = { prices = {}, alarm_usd_per_hour = 1 }
  }

  expect_failures = [var.name, var.alarms, var.counting, var.money]
}
