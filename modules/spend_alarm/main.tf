# Dollars per hour, estimated from metrics that AWS keeps anyway. A custom metric would cost more
# than what it watches.
#
# Only what AWS bills is priced. Requests that fail authorization, match no route or are throttled
# are not billed as requests; a stranger could stop the stack with a few of them a second if they
# were counted (AWS staff at repost.aws/questions/QUm1jSF1ieSQ25Ol1RzFLysA). They do pay for their
# record in the log and for their answer, and an authorizer that ran is billed.
#
# An alarm reads at most ten metrics, and no SEARCH. Requests, durations and log bytes of each
# function would be three for every function. So whatever is the same for every call is computed
# from the gateway's counts, and the time of the functions behind the API is bounded by the
# gateway's own clock:
#
#   requests          every request, for its bytes
#   billed            requests that reached an integration, which is what AWS bills
#   integration_ms    how long the gateway waited for functions. No function behind it can bill
#                     more than that, and none can be forgotten, however many there are. It is
#                     priced by the one with the most memory.
#   <function>_ms     time of the functions that the gateway doesn't wait for: the authorizer, settle
#   <authorizer>_runs starts of the authorizer
#   <table>_writes, <table>_reads   units consumed
#
# With another door than the REST API two more are needed, and those of reads make room for them:
#
#   door_billed       requests that reached mcp through an HTTP API, or that a function URL started
#   door_ms           how long the HTTP API waited for mcp, or mcp ran
#
# An HTTP API bills what reaches its integration, like a REST API. What mcp invokes by itself runs
# while mcp waits for it, one for each call, so that mcp's time bounds it. A call reads the key's item,
# and the functions that it starts little more: the reads are estimated, at two units for each. What a
# door turns away by itself is not seen: AWS bills no more of it than the bytes of a short answer.
#
# The OAuth door is an HTTP API too, and there is no room for its metrics. A pair of alarms of its own
# watches it:
#
#   oauth_billed      requests that reached a function through it
#   oauth_ms          how long it waited for them
#
# Each is taken for a tool call, which the priciest are: mcp and one function more run, and what DynamoDB
# does is estimated. As both pairs trip at the same rate, the two together may spend twice that unseen.
#
# The estimate is therefore slightly high, and nothing that an agent can cause is outside it.

locals {
  # Bytes: an access record, the lines of one function and a refusal with its headers, as measured,
  # and an answer of twice the usual size. No metric has the bytes of answers, so large ones are
  # underestimated. modules/worst_case has the most that each can be.
  usual = { record_bytes = 250, line_bytes = 250, refusal_bytes = 800, answer_bytes = 2048 }

  alone       = { for role, f in var.functions : role => f if contains(["authorizer", "log"], f.started_by) }
  authorizers = { for role, f in var.functions : role => f if f.started_by == "authorizer" }
  behind      = { for role, f in var.functions : role => f if contains(["api", "proxy"], f.started_by) }

  # Metric math takes no hyphens in an ID.
  id = { for role in concat(keys(var.functions), keys(var.tables)) : role => replace(role, "-", "_") }

  per_gb_second = { for role, f in var.functions : role => local.priced["lambda_${f.architecture}_gb_second"] }

  http = var.door.kind == "http"
  rest = var.door.kind == "rest"

  # The most expensive second of any function behind the API, of mcp behind the door, and of what mcp
  # invokes.
  at_rest      = { for role, f in local.behind : role => f if local.rest || f.started_by == "api" }
  behind_gb    = max([for f in values(local.at_rest) : f.memory_mb / 1024]...)
  business_gb  = max([for f in values(local.behind) : f.memory_mb / 1024 if f.started_by == "api"]...)
  mcp_gb       = max(0, [for f in values(local.behind) : f.memory_mb / 1024 if f.started_by == "proxy"]...)
  behind_price = max([for f in values(local.behind) : local.price["lambda_${f.architecture}_gb_second"]]...)
  invoked_gb   = var.door.dispatch == "direct" ? local.business_gb : 0
  per_call     = var.door.dispatch == "direct" ? 2 : 1 # functions that a call of mcp starts

  api_dimensions  = { ApiName = var.api.name, Stage = var.api.stage }
  door_dimensions = local.http ? { ApiId = var.door.api_id } : { FunctionName = one([for f in values(local.behind) : f.name if f.started_by == "proxy"]) }
  door_metrics = local.http ? {
    door_billed = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", stat = "SampleCount", dimensions = local.door_dimensions }
    door_ms     = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", stat = "Sum", dimensions = local.door_dimensions }
    } : {
    door_billed = { namespace = "AWS/Lambda", metric = "Invocations", stat = "Sum", dimensions = local.door_dimensions }
    door_ms     = { namespace = "AWS/Lambda", metric = "Duration", stat = "Sum", dimensions = local.door_dimensions }
  }

  metrics = merge(
    {
      requests       = { namespace = "AWS/ApiGateway", metric = "Count", stat = "Sum", dimensions = local.api_dimensions }
      billed         = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", stat = "SampleCount", dimensions = local.api_dimensions }
      integration_ms = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", stat = "Sum", dimensions = local.api_dimensions }
    },
    { for role, f in local.alone : "${local.id[role]}_ms" => { namespace = "AWS/Lambda", metric = "Duration", stat = "Sum", dimensions = { FunctionName = f.name } } },
    { for role, f in local.authorizers : "${local.id[role]}_runs" => { namespace = "AWS/Lambda", metric = "Invocations", stat = "Sum", dimensions = { FunctionName = f.name } } },
    { for role, name in var.tables : "${local.id[role]}_writes" => { namespace = "AWS/DynamoDB", metric = "ConsumedWriteCapacityUnits", stat = "Sum", dimensions = { TableName = name } } },
    { for id, metric in local.door_metrics : id => metric if !local.rest },
    { for role, name in var.tables : "${local.id[role]}_reads" => { namespace = "AWS/DynamoDB", metric = "ConsumedReadCapacityUnits", stat = "Sum", dimensions = { TableName = name } } if local.rest },
  )

  # A metric without a datapoint in a period would leave the whole sum without one.
  filled = { for id in keys(local.metrics) : id => "FILL(${id}, 0)" }
  runs   = join(" + ", concat(["0"], [for role in keys(local.authorizers) : local.filled["${local.id[role]}_runs"]]))

  door = lookup(local.filled, "door_billed", "0")
  reads = (
    local.rest ? "(${join(" + ", [for role in keys(var.tables) : local.filled["${local.id[role]}_reads"]])})"
    : "2 * (${local.runs} + ${local.door})"
  )

  # Dollars of one period.
  expressions = {
    gateway_usd = "${local.filled.billed} * ${local.priced.apigateway_rest_request}${local.http ? " + ${local.door} * ${local.priced.apigateway_http_request}" : ""}"
    # The functions behind each billed request, the authorizer, and settle for each call that the
    # authorizer saw, as if every one failed. Where mcp invokes the others, a call that it denies
    # starts settle in their place.
    starts     = "${local.rest && var.door.dispatch == "direct" ? "2 * " : ""}${local.filled.billed} + 2 * (${local.runs})${local.rest ? "" : " + ${local.per_call} * ${local.door}"}"
    starts_usd = "starts * ${local.priced.lambda_request}"
    compute_usd = "(${join(" + ", concat(
      [for role, f in local.alone : "${local.filled["${local.id[role]}_ms"]} * ${f.memory_mb / 1024} * ${local.per_gb_second[role]}"],
      ["${local.filled.integration_ms} * ${local.behind_gb + (local.rest ? local.invoked_gb : 0)} * ${local.behind_price}"],
      local.rest ? [] : ["${lookup(local.filled, "door_ms", "0")} * ${local.mcp_gb + local.invoked_gb} * ${local.behind_price}"],
    ))}) / 1000"
    tables_usd = join(" + ", [
      "(${join(" + ", [for role in keys(var.tables) : local.filled["${local.id[role]}_writes"]])}) * ${local.priced.dynamodb_write_unit}",
      "${local.reads} * ${local.priced.dynamodb_read_unit}",
    ])
    logs_usd = "(${local.filled.requests} * ${local.usual.record_bytes} + starts * ${local.usual.line_bytes}) * ${local.priced.logs_ingested_gb} / 1000000000"
    # A request that is not billed is answered by a refusal. Two metrics of one request can fall
    # into two periods, so the difference may dip below zero.
    answers_usd = "(IF(${local.filled.requests} > ${local.filled.billed}, ${local.filled.requests} - ${local.filled.billed}, 0) * ${local.usual.refusal_bytes} + ${local.rest ? local.filled.billed : "(${local.filled.billed} + ${local.door})"} * ${local.usual.answer_bytes}) * ${local.priced.data_out_gb} / 1000000000"
  }

  oauth_gb         = max(local.mcp_gb + local.business_gb, [for f in values(var.functions) : f.memory_mb / 1024 if f.started_by == "oauth"]...)
  oauth_dimensions = { ApiId = var.door.oauth_api_id }
  oauth_metrics = {
    oauth_billed = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", stat = "SampleCount", dimensions = local.oauth_dimensions }
    oauth_ms     = { namespace = "AWS/ApiGateway", metric = "IntegrationLatency", stat = "Sum", dimensions = local.oauth_dimensions }
  }
  oauth_expressions = {
    gateway_usd = "FILL(oauth_billed, 0) * ${local.priced.apigateway_http_request}"
    starts      = "2 * FILL(oauth_billed, 0)"
    starts_usd  = "starts * ${local.priced.lambda_request}"
    compute_usd = "FILL(oauth_ms, 0) * ${local.oauth_gb} * ${local.behind_price} / 1000"
    tables_usd  = "FILL(oauth_billed, 0) * ${local.priced.dynamodb_write_unit} + 2 * FILL(oauth_billed, 0) * ${local.priced.dynamodb_read_unit}"
    logs_usd    = "starts * ${local.usual.line_bytes} * ${local.priced.logs_ingested_gb} / 1000000000"
    answers_usd = "FILL(oauth_billed, 0) * ${local.usual.answer_bytes} * ${local.priced.data_out_gb} / 1000000000"
  }

  # Two alarms on the same expressions. The short one sees a runaway in minutes, and lets a busy
  # minute or two pass. What comes and goes never has enough minutes for it, so the long one looks
  # at the average of ten.
  pair = {
    short = { name = "${var.name}-spend-rate", period = 60, datapoints = var.trip.datapoints, of = var.trip.of }
    long  = { name = "${var.name}-spend-average", period = 600, datapoints = 1, of = 1 }
  }
  watched = {
    stack = { metrics = local.metrics, expressions = local.expressions, where = "" }
    oauth = { metrics = local.oauth_metrics, expressions = local.oauth_expressions, where = " at its OAuth door" }
  }
  alarms = merge(
    { for role, a in local.pair : role => merge(a, { watched = "stack" }) },
    { for role, a in local.pair : "oauth_${role}" => merge(a, { name = "${a.name}-oauth", watched = "oauth" }) if var.door.oauth },
  )

  # From the first expensive minute until the last function has stopped.
  until_seen = {
    metrics = 120 # until a minute's metrics are there
    alarm   = 60  # until the alarm looks
    stop    = 60  # the message, the brake, and calls that still run (29 seconds at most)
  }
  delays = { for role, a in local.pair : role => a.datapoints * a.period + sum(values(local.until_seen)) }

  # What the short alarm never sees is expensive in one minute fewer than it waits for.
  unseen_share  = (var.trip.datapoints - 1) / var.trip.of
  worst_seconds = max(local.delays.short, local.unseen_share * local.delays.long)
}

locals {
  # The text of an alarm is the first paragraph of its playbook.
  text = join(" ", split("\n", trimspace(split("\n\n", file("${path.module}/../observability/playbooks/spend-rate.md"))[1])))
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name        = each.value.name
  alarm_description = "${var.name} spends more than ${var.trip.usd_per_hour} USD an hour${local.watched[each.value.watched].where}, estimated from AWS's own metrics ${each.value.period == 60 ? "in ${each.value.datapoints} of the last ${each.value.of} minutes" : "over the last ${each.value.period / 60} minutes"}. ${local.text} Playbook: ${var.playbooks}/spend-rate.md"

  dynamic "metric_query" {
    for_each = local.watched[each.value.watched].metrics

    content {
      id          = metric_query.key
      return_data = false

      metric {
        namespace   = metric_query.value.namespace
        metric_name = metric_query.value.metric
        dimensions  = metric_query.value.dimensions
        period      = each.value.period
        stat        = metric_query.value.stat
      }
    }
  }

  dynamic "metric_query" {
    for_each = merge(local.watched[each.value.watched].expressions, {
      usd_per_hour = "${3600 / each.value.period} * (${join(" + ", [for id in keys(local.watched[each.value.watched].expressions) : id if endswith(id, "_usd")])})"
    })

    content {
      id          = metric_query.key
      expression  = metric_query.value
      label       = metric_query.key == "usd_per_hour" ? "US dollars per hour" : null
      return_data = metric_query.key == "usd_per_hour"
    }
  }

  comparison_operator = "GreaterThanThreshold"
  threshold           = var.trip.usd_per_hour
  evaluation_periods  = each.value.of
  datapoints_to_alarm = each.value.datapoints
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.topic_arns
  ok_actions          = var.topic_arns
  tags                = var.tags

  lifecycle {
    precondition {
      condition     = length(local.metrics) <= 10
      error_message = "An alarm can read 10 metrics, and these are ${length(local.metrics)}: ${join(", ", keys(local.metrics))}. One authorizer, one function on the log and two tables make 10, with any door."
    }
  }
}

moved {
  from = aws_cloudwatch_metric_alarm.this
  to   = aws_cloudwatch_metric_alarm.this["short"]
}
