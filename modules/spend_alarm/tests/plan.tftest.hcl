mock_provider "aws" {}

variables {
  name       = "demo"
  prices     = { region = "us-east-1", table = "../../functions/internal/money/price/prices.json" }
  trip       = { usd_per_hour = 2 }
  topic_arns = ["arn:aws:sns:us-east-1:123456789012:demo-money"]
  api        = { name = "demo", stage = "live" }
  tables     = { usage = "demo-usage" }

  functions = {
    authorizer = { name = "demo-authorizer", started_by = "authorizer", memory_mb = 256 }
    mcp        = { name = "demo-mcp", started_by = "proxy", memory_mb = 512 }
    calendar   = { name = "demo-calendar", started_by = "api", memory_mb = 256 }
    settle     = { name = "demo-settle", started_by = "log", memory_mb = 128 }
  }
}

run "alarms" {
  command = plan

  assert {
    condition     = toset(output.names) == toset(["demo-spend-rate", "demo-spend-average"]) && toset(output.names) == toset([for a in aws_cloudwatch_metric_alarm.this : a.alarm_name])
    error_message = "The brake knows the alarms by their names."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["short"].datapoints_to_alarm == 3 && aws_cloudwatch_metric_alarm.this["short"].evaluation_periods == 5
    error_message = "The short one trips when 3 of the last 5 minutes were above the threshold."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["long"].datapoints_to_alarm == 1 && aws_cloudwatch_metric_alarm.this["long"].evaluation_periods == 1
    error_message = "The long one trips on the average of one period."
  }

  assert {
    condition = alltrue(flatten([
      for role, period in { short = 60, long = 600 } : [
        for q in aws_cloudwatch_metric_alarm.this[role].metric_query : one(q.metric).period == period if length(q.metric) == 1
      ]
    ]))
    error_message = "Minutes, and ten of them."
  }

  assert {
    condition = alltrue([
      for a in aws_cloudwatch_metric_alarm.this :
      a.threshold == 2 && a.comparison_operator == "GreaterThanThreshold" && a.treat_missing_data == "notBreaching" && a.alarm_actions == toset(["arn:aws:sns:us-east-1:123456789012:demo-money"])
    ])
    error_message = "Both tell the topic when spending is above the threshold."
  }

  assert {
    condition     = output.trip.delay_seconds == 3 * 60 + 120 + 60 + 60
    error_message = "Three expensive minutes, and what it takes to see and to stop them."
  }

  assert {
    condition = alltrue([
      for a in aws_cloudwatch_metric_alarm.this :
      length([for q in a.metric_query : q if length(q.metric) == 1]) == 8 && [for q in a.metric_query : q.id if q.return_data] == ["usd_per_hour"]
    ])
    error_message = "Gateway 3, the authorizer 2, settle 1, and 2 for a table; one expression is watched."
  }

  assert {
    condition = alltrue([
      for q in aws_cloudwatch_metric_alarm.this["short"].metric_query :
      one(q.metric).stat == (q.id == "billed" ? "SampleCount" : "Sum") if length(q.metric) == 1
    ])
    error_message = "AWS bills requests that reach an integration: its latency has a sample for each."
  }

  assert {
    condition     = alltrue(flatten([for a in aws_cloudwatch_metric_alarm.this : [for q in a.metric_query : length(coalesce(q.expression, "-")) <= 1024]]))
    error_message = "An expression is to stay far below CloudWatch's limit."
  }
}

# With another door the reads make room for what mcp is reached by.
run "http_api" {
  command = plan

  variables {
    door = { kind = "http", api_id = "a1b2c3", dispatch = "direct" }
  }

  assert {
    condition = alltrue([
      for a in aws_cloudwatch_metric_alarm.this :
      { for q in a.metric_query : q.id => "${one(q.metric).stat} ${one(q.metric).metric_name} ${join(" ", values(one(q.metric).dimensions))}" if startswith(q.id, "door_") } == { door_billed = "SampleCount IntegrationLatency a1b2c3", door_ms = "Sum IntegrationLatency a1b2c3" }
    ])
    error_message = "The HTTP API's metrics are filed under its ID."
  }

  assert {
    condition     = length([for q in aws_cloudwatch_metric_alarm.this["short"].metric_query : q if length(q.metric) == 1]) == 9 && [for q in aws_cloudwatch_metric_alarm.this["short"].metric_query : q.expression if q.id == "gateway_usd"] == ["FILL(billed, 0) * 3.5 / 1000000 + FILL(door_billed, 0) * 1 / 1000000"]
    error_message = "Each gateway has its own price."
  }
}

# The OAuth door has a pair of its own, and the others are as without it.
run "oauth_door" {
  command = plan

  variables {
    door = { kind = "rest", dispatch = "direct", oauth = true, oauth_api_id = "d4e5f6" }
  }

  assert {
    condition     = toset(output.names) == toset(["demo-spend-rate", "demo-spend-average", "demo-spend-rate-oauth", "demo-spend-average-oauth"]) && aws_cloudwatch_metric_alarm.this["oauth_short"].evaluation_periods == 5 && aws_cloudwatch_metric_alarm.this["oauth_long"].evaluation_periods == 1
    error_message = "The brake obeys both pairs, which are slow and quick alike."
  }

  assert {
    condition = alltrue([
      for role, period in { oauth_short = 60, oauth_long = 600 } :
      { for q in aws_cloudwatch_metric_alarm.this[role].metric_query : q.id => "${one(q.metric).stat} ${one(q.metric).metric_name} ${join(" ", values(one(q.metric).dimensions))} ${one(q.metric).period}" if length(q.metric) == 1 } == { oauth_billed = "SampleCount IntegrationLatency d4e5f6 ${period}", oauth_ms = "Sum IntegrationLatency d4e5f6 ${period}" }
    ])
    error_message = "The HTTP API's metrics are filed under its ID."
  }

  # A request costs one of the HTTP API, two starts, mcp's 512 MB and 256 of what it invokes, a write and two
  # reads, two lines and an answer.
  assert {
    condition = { for q in aws_cloudwatch_metric_alarm.this["oauth_short"].metric_query : q.id => q.expression if length(q.metric) == 0 } == {
      gateway_usd  = "FILL(oauth_billed, 0) * 1 / 1000000"
      starts       = "2 * FILL(oauth_billed, 0)"
      starts_usd   = "starts * 0.2 / 1000000"
      compute_usd  = "FILL(oauth_ms, 0) * 0.75 * 0.0000133334 / 1000"
      tables_usd   = "FILL(oauth_billed, 0) * 0.625 / 1000000 + 2 * FILL(oauth_billed, 0) * 0.125 / 1000000"
      logs_usd     = "starts * 250 * 0.5 / 1000000000"
      answers_usd  = "FILL(oauth_billed, 0) * 2048 * 0.09 / 1000000000"
      usd_per_hour = "60 * (answers_usd + compute_usd + gateway_usd + logs_usd + starts_usd + tables_usd)"
    }
    error_message = "Each request is taken for a tool call."
  }

  assert {
    condition     = length([for q in aws_cloudwatch_metric_alarm.this["short"].metric_query : q if length(q.metric) == 1]) == 8
    error_message = "The first pair reads what it reads without the OAuth door."
  }
}

run "refuses_a_door_to_nothing" {
  command = plan

  variables {
    door      = { kind = "url", dispatch = "magic" }
    functions = { calendar = { name = "demo-calendar", started_by = "api", memory_mb = 256 } }
  }

  expect_failures = [var.door]
}

# The short alarm never sees 4 minutes of 5: that would be the most that is paid for.
run "what_comes_and_goes" {
  command = plan

  variables {
    trip = { usd_per_hour = 2, datapoints = 5, of = 5 }
  }

  assert {
    condition     = abs(output.trip.delay_seconds - 0.8 * (600 + 240)) < 0.001 && endswith(output.trip.how, "; what comes and goes is seen after 840 s, in 4 of 5 minutes")
    error_message = "The delay is the worse of both. Got ${jsonencode(output.trip)}"
  }
}

run "price_by_hand_in_an_unknown_region" {
  command = plan

  variables {
    prices = { region = "eu-nowhere-1", table = "../../functions/internal/money/price/prices.json", usd = { apigateway_rest_request = 7 } }
  }

  assert {
    condition     = output.prices.usd_for_one.apigateway_rest_request == "7 / 1000000" && output.prices.usd.apigateway_rest_request == 7 / 1000000
    error_message = "A price that is given is used."
  }

  assert {
    condition     = output.prices.note == "Prices of us-east-1: the table has none of eu-nowhere-1. Give what differs under regions in prices.json, or as cost.prices."
    error_message = "Prices of another region are used, and it is said."
  }
}

run "prices_of_tokyo" {
  command = plan

  variables {
    prices = { region = "ap-northeast-1", table = "../../functions/internal/money/price/prices.json" }
  }

  assert {
    condition     = output.prices.usd.apigateway_rest_request == jsondecode(file("../../functions/internal/money/price/prices.json")).regions["ap-northeast-1"].apigateway_rest_request.usd / 1000000 && output.prices.usd.apigateway_rest_request > 3.5 / 1000000
    error_message = "A region's own prices come before the base's. Got ${output.prices.usd_for_one.apigateway_rest_request}"
  }

  assert {
    condition     = output.prices.note == "Prices of ap-northeast-1."
    error_message = "A region that the table knows needs no note."
  }
}

run "refuses_more_metrics_than_an_alarm_reads" {
  command = plan

  variables {
    tables = { for role in ["a", "b", "c", "d", "e"] : role => "demo-${role}" }
  }

  expect_failures = [aws_cloudwatch_metric_alarm.this["short"], aws_cloudwatch_metric_alarm.this["long"]]
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name   = "d"
    trip   = { usd_per_hour = 0, datapoints = 6, of = 5 }
    prices = { region = "us-east-1", table = "../../functions/internal/money/price/prices.json", usd = { rest = 1 } }
    tables = {}

    functions = {
      calendar = { name = "demo-calendar", started_by = "magic", memory_mb = 256 }
    }
  }

  expect_failures = [var.name, var.trip, var.prices, var.tables, var.functions]
}
