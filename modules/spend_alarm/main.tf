# Dollars per hour, estimated from metrics that AWS keeps anyway. A custom metric would cost more
# than what it watches.
#
# An alarm reads at most ten metrics, and no SEARCH. Requests, durations and log bytes of each
# function would be three for every function. So whatever is the same for every call is computed
# from the gateway's count, and the time of the functions behind the API is bounded by the
# gateway's own clock:
#
#   requests        every request, refused ones too (AWS doesn't bill all of those)
#   integration_ms  how long the gateway waited for functions. No function behind it can bill
#                   more than that, and none can be forgotten, however many there are.
#   <function>_ms   time of the functions that the gateway doesn't wait for (the authorizer,
#                   settle), and of the proxy, which has more memory than the others
#   <proxy>_runs    requests that start one function instead of two
#   <table>_writes, <table>_reads   units consumed
#
# The estimate is therefore slightly high, and nothing that an agent can cause is outside it.

locals {
  period_seconds = 60

  # Bytes of a usual call, measured: an access record of 600, a line of 300 from each of two or
  # three functions, and an answer of 2 KB. modules/worst_case has the most that they can be.
  usual = { log_bytes = 1500, answer_bytes = 2048 }

  # At most this many starts for one request: the authorizer, the function behind the route,
  # and settle if the call failed.
  starts_per_request = 3

  alone   = { for role, f in var.functions : role => f if f.started_by != "api" }
  proxies = { for role, f in var.functions : role => f if f.started_by == "proxy" }
  behind  = { for role, f in var.functions : role => f if f.started_by == "api" }

  # Metric math takes no hyphens in an ID.
  id = { for role in concat(keys(var.functions), keys(var.tables)) : role => replace(role, "-", "_") }

  per_gb_second = { for role, f in var.functions : role => local.priced["lambda_${f.architecture}_gb_second"] }
  # The most expensive second of any function behind the API.
  behind_gb      = max([for f in values(local.behind) : f.memory_mb / 1024]...)
  behind_price   = max([for f in values(local.behind) : local.price["lambda_${f.architecture}_gb_second"]]...)
  api_dimensions = { ApiName = var.api.name, Stage = var.api.stage }

  metrics = merge(
    {
      requests       = { namespace = "AWS/ApiGateway", metric = "Count", dimensions = local.api_dimensions }
      integration_ms = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", dimensions = local.api_dimensions }
    },
    { for role, f in local.alone : "${local.id[role]}_ms" => { namespace = "AWS/Lambda", metric = "Duration", dimensions = { FunctionName = f.name } } },
    { for role, f in local.proxies : "${local.id[role]}_runs" => { namespace = "AWS/Lambda", metric = "Invocations", dimensions = { FunctionName = f.name } } },
    { for role, name in var.tables : "${local.id[role]}_writes" => { namespace = "AWS/DynamoDB", metric = "ConsumedWriteCapacityUnits", dimensions = { TableName = name } } },
    { for role, name in var.tables : "${local.id[role]}_reads" => { namespace = "AWS/DynamoDB", metric = "ConsumedReadCapacityUnits", dimensions = { TableName = name } } },
  )

  # A metric without a datapoint in a minute would leave the whole sum without one.
  filled     = { for id in keys(local.metrics) : id => "FILL(${id}, 0)" }
  proxied_ms = join(" + ", [for role in keys(local.proxies) : local.filled["${local.id[role]}_ms"]])
  runs       = join(" - ", concat(["${local.starts_per_request} * ${local.filled.requests}"], [for role in keys(local.proxies) : local.filled["${local.id[role]}_runs"]]))

  expressions = {
    # What the gateway waited for other than the proxies. The metrics of one call can fall into
    # two minutes, so the difference may dip below zero.
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
      "(${join(" + ", [for role in keys(var.tables) : local.filled["${local.id[role]}_writes"]])}) * ${local.priced.dynamodb_write_unit}",
      "(${join(" + ", [for role in keys(var.tables) : local.filled["${local.id[role]}_reads"]])}) * ${local.priced.dynamodb_read_unit}",
    ])
    bytes_usd    = "${local.filled.requests} * (${local.usual.log_bytes} * ${local.priced.logs_ingested_gb} + ${local.usual.answer_bytes} * ${local.priced.data_out_gb}) / 1000000000"
    usd_per_hour = "${3600 / local.period_seconds} * (gateway_usd + starts_usd + compute_usd + tables_usd + bytes_usd)"
  }

  # From the first expensive minute until the last function has stopped.
  delay = {
    datapoints = var.trip.datapoints * local.period_seconds
    metrics    = 120 # until a minute's metrics are there
    alarm      = 60  # until the alarm looks
    stop       = 60  # the message, the brake, and calls that still run (29 seconds at most)
  }
}

locals {
  # The text of an alarm is the first paragraph of its playbook.
  text = join(" ", split("\n", trimspace(split("\n\n", file("${path.module}/../observability/playbooks/spend-rate.md"))[1])))
}

resource "aws_cloudwatch_metric_alarm" "this" {
  alarm_name        = "${var.name}-spend-rate"
  alarm_description = "${var.name} spends more than ${var.trip.usd_per_hour} USD an hour, estimated from AWS's own metrics in ${var.trip.datapoints} of the last ${var.trip.of} minutes. ${local.text} Playbook: ${var.playbooks}/spend-rate.md"

  dynamic "metric_query" {
    for_each = local.metrics

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
    for_each = local.expressions

    content {
      id          = metric_query.key
      expression  = metric_query.value
      label       = metric_query.key == "usd_per_hour" ? "US dollars per hour" : null
      return_data = metric_query.key == "usd_per_hour"
    }
  }

  comparison_operator = "GreaterThanThreshold"
  threshold           = var.trip.usd_per_hour
  evaluation_periods  = var.trip.of
  datapoints_to_alarm = var.trip.datapoints
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.topic_arns
  ok_actions          = var.topic_arns
  tags                = var.tags

  lifecycle {
    precondition {
      condition     = length(local.metrics) <= 10
      error_message = "An alarm can read 10 metrics, and these are ${length(local.metrics)}: ${join(", ", keys(local.metrics))}. One authorizer, one proxy, one function on the log and two tables make 10."
    }
  }
}
