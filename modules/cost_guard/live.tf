# The live figure: dollars per hour, out of metrics that AWS keeps anyway. A custom metric
# would cost more than what it watches.
#
# CloudWatch lets an alarm read ten metrics, and no SEARCH. Requests, durations and log bytes
# of each function would be three times as many as functions. So what is the same for every
# call is reckoned from the gateway's count, and the time of the functions behind the API is
# bounded by the gateway's own clock:
#
#   requests        every request, also a refused one (AWS bills a part of those not)
#   integration_ms  how long the gateway waited for functions. A function can't bill more
#                   than that, and no function can be forgotten, however many there are.
#   <function>_ms   billed time of what the gateway does not wait for (the authorizer, settle),
#                   and of the proxy, which has more memory than the rest
#   <proxy>_runs    requests that start one function instead of two
#   <table>_writes, <table>_reads   units consumed
#
# So the estimate errs upwards, by little, and nothing that an agent can cause is outside it.

locals {
  period_seconds = 60

  # Bytes of a usual call, measured: an access record of 600 and a line of 300 from each of two
  # or three functions; an answer of 2 KB. worst_case.tf has the most that they can be.
  usual = { log_bytes = 1500, answer_bytes = 2048 }

  # Starts of a function for one request, at the most: the authorizer, the function behind
  # the route, and settle, if the call failed.
  starts_per_request = 3

  alone   = { for role, f in var.stack.functions : role => f if contains(["authorizer", "proxy", "log"], f.started_by) }
  proxies = { for role, f in var.stack.functions : role => f if f.started_by == "proxy" }
  behind  = { for role, f in var.stack.functions : role => f if f.started_by == "api" }

  id = { for role in concat(keys(var.stack.functions), keys(var.stack.tables)) : role => replace(role, "-", "_") }

  per_gb_second = { for role, f in var.stack.functions : role => local.priced[local.compute[f.architecture]] }
  # Of the functions behind the API, the dearest second.
  behind_gb      = max([for f in values(local.behind) : f.memory_mb / 1024]...)
  behind_price   = max([for f in values(local.behind) : local.price[local.compute[f.architecture]]]...)
  api_dimensions = { ApiName = var.stack.api.name, Stage = var.stack.api.stage }

  live_metrics = merge(
    {
      requests       = { namespace = "AWS/ApiGateway", metric = "Count", dimensions = local.api_dimensions }
      integration_ms = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", dimensions = local.api_dimensions }
    },
    { for role, f in local.alone : "${local.id[role]}_ms" => { namespace = "AWS/Lambda", metric = "Duration", dimensions = { FunctionName = f.name } } },
    { for role, f in local.proxies : "${local.id[role]}_runs" => { namespace = "AWS/Lambda", metric = "Invocations", dimensions = { FunctionName = f.name } } },
    { for role, t in var.stack.tables : "${local.id[role]}_writes" => { namespace = "AWS/DynamoDB", metric = "ConsumedWriteCapacityUnits", dimensions = { TableName = t.name } } },
    { for role, t in var.stack.tables : "${local.id[role]}_reads" => { namespace = "AWS/DynamoDB", metric = "ConsumedReadCapacityUnits", dimensions = { TableName = t.name } } },
  )

  # A metric without a datapoint in a minute would leave the whole sum without one.
  filled     = { for id in keys(local.live_metrics) : id => "FILL(${id}, 0)" }
  proxied_ms = join(" + ", [for role in keys(local.proxies) : local.filled["${local.id[role]}_ms"]])
  runs       = join(" - ", concat(["${local.starts_per_request} * ${local.filled.requests}"], [for role in keys(local.proxies) : local.filled["${local.id[role]}_runs"]]))

  live_expressions = {
    # What the gateway waited for beside the proxies. Metrics of one call can fall into two
    # minutes, so the difference may dip below nothing.
    behind_ms = (
      length(local.proxies) == 0
      ? local.filled.integration_ms
      : "IF(${local.filled.integration_ms} > (${local.proxied_ms}), ${local.filled.integration_ms} - (${local.proxied_ms}), 0)"
    )
    gateway_usd = "${local.filled.requests} * ${local.priced.apigateway_rest_request}"
    starts_usd  = "(${local.runs}) * ${local.priced.lambda_request}"
    compute_usd = "(${join(" + ", concat(
      [for role, f in local.alone : "${local.filled["${local.id[role]}_ms"]} * ${f.memory_mb / 1024} * ${local.per_gb_second[role]}"],
      ["behind_ms * ${local.behind_gb} * ${local.behind_price}"],
    ))}) / 1000"
    tables_usd = join(" + ", [
      "(${join(" + ", [for role in keys(var.stack.tables) : local.filled["${local.id[role]}_writes"]])}) * ${local.priced.dynamodb_write_unit}",
      "(${join(" + ", [for role in keys(var.stack.tables) : local.filled["${local.id[role]}_reads"]])}) * ${local.priced.dynamodb_read_unit}",
    ])
    bytes_usd    = "${local.filled.requests} * (${local.usual.log_bytes} * ${local.priced.logs_ingested_gb} + ${local.usual.answer_bytes} * ${local.priced.data_out_gb}) / 1000000000"
    usd_per_hour = "${3600 / local.period_seconds} * (gateway_usd + starts_usd + compute_usd + tables_usd + bytes_usd)"
  }

  live_usd_per_hour = coalesce(var.live.usd_per_hour, ceil(var.budget.monthly_usd / 72 * 10000) / 10000)

  # From the first dear minute to the last function stopped: the datapoints that the alarm
  # wants; two minutes until a minute's metrics are there; one until the alarm looks; one for
  # the message, the brake, and the calls that still run (29 seconds at most).
  delay_seconds = var.live.datapoints * local.period_seconds + 120 + 60 + 60
}

resource "aws_cloudwatch_metric_alarm" "spend_rate" {
  alarm_name        = "${var.name}-spend-rate"
  alarm_description = "${var.name} spends more than ${local.live_usd_per_hour} USD an hour, estimated from AWS's own metrics in ${var.live.datapoints} of the last ${var.live.of} minutes."

  dynamic "metric_query" {
    for_each = local.live_metrics

    content {
      id          = metric_query.key
      return_data = false

      metric {
        namespace   = metric_query.value.namespace
        metric_name = metric_query.value.metric
        dimensions  = metric_query.value.dimensions
        period      = local.period_seconds
        stat        = "Sum"
      }
    }
  }

  dynamic "metric_query" {
    for_each = local.live_expressions

    content {
      id          = metric_query.key
      expression  = metric_query.value
      label       = metric_query.key == "usd_per_hour" ? "US dollars per hour" : null
      return_data = metric_query.key == "usd_per_hour"
    }
  }

  comparison_operator = "GreaterThanThreshold"
  threshold           = local.live_usd_per_hour
  evaluation_periods  = var.live.of
  datapoints_to_alarm = var.live.datapoints
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.this.arn]

  lifecycle {
    precondition {
      condition     = length(local.live_metrics) <= 10
      error_message = "An alarm can read 10 metrics, and these are ${length(local.live_metrics)}: ${join(", ", keys(local.live_metrics))}. One authorizer, one proxy, one function on the log and two tables make 10."
    }
  }
}
