# Estimated dollars, out of metrics that AWS keeps anyway. A graph may read 500 metrics, unlike
# an alarm, so every function, table and log group counts by its own. Answers have no metric of
# bytes: they are reckoned at 2 KB. What the stack costs idle is not in it.

locals {
  answer_bytes = 2048

  api_dimensions = ["ApiName", var.api.name, "Stage", var.api.stage]
  functions      = sort(keys(var.functions))
  tables         = sort(keys(var.tables))
  log_groups     = concat([for role in local.functions : var.functions[role].log_group], [var.api.access_log_group])
  gb_second      = { arm64 = var.money.prices.lambda_arm64_gb_second, x86_64 = var.money.prices.lambda_x86_64_gb_second }

  spent_metrics = concat(
    [{ id = "requests", stat = "Sum", metric = concat(["AWS/ApiGateway", "Count"], local.api_dimensions) }],
    # AWS bills requests that reach an integration: its latency has a sample for each.
    [{ id = "billed", stat = "SampleCount", metric = concat(["AWS/ApiGateway", "IntegrationLatency"], local.api_dimensions) }],
    local.door_metrics,
    [for i, role in local.functions : { id = "runs${i}", metric = ["AWS/Lambda", "Invocations", "FunctionName", var.functions[role].name] }],
    [for i, role in local.functions : { id = "ms${i}", metric = ["AWS/Lambda", "Duration", "FunctionName", var.functions[role].name] }],
    [for i, role in local.tables : { id = "writes${i}", metric = ["AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", var.tables[role]] }],
    [for i, role in local.tables : { id = "reads${i}", metric = ["AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", var.tables[role]] }],
    [for i, group in local.log_groups : { id = "bytes${i}", metric = ["AWS/Logs", "IncomingBytes", "LogGroupName", group] }],
  )

  # What HTTP APIs bill. What else a door causes is among the functions; each answer of a function URL
  # is a run of mcp.
  http_apis = merge(
    { for id in ["door"] : id => var.door.api_id if var.door.kind == "http" },
    { for id in ["oauth_door"] : id => var.door.oauth_api_id if var.door.oauth },
  )
  door_metrics = [for id, api_id in local.http_apis : { id = id, stat = "SampleCount", metric = ["AWS/ApiGateway", "IntegrationLatency", "ApiId", api_id] }]
  http_billed  = join("", [for id in keys(local.http_apis) : " + FILL(${id}, 0)"])
  at_url       = var.door.kind == "url" ? " + FILL(runs${index(local.functions, var.door.function)}, 0)" : ""
  answered     = local.http_billed == "" && local.at_url == "" ? "FILL(requests, 0)" : "(FILL(requests, 0)${local.http_billed}${local.at_url})"

  sum = {
    for id, count in { runs = length(local.functions), writes = length(local.tables), reads = length(local.tables), bytes = length(local.log_groups) } :
    id => "(${join(" + ", [for i in range(count) : "FILL(${id}${i}, 0)"])})"
  }

  # Dollars of one period, by part. IDs begin with a small letter, so that parts can be shown.
  spent_expressions = {
    gateway = "FILL(billed, 0) * ${var.money.prices.apigateway_rest_request}${join("", [for id in keys(local.http_apis) : " + FILL(${id}, 0) * ${var.money.prices.apigateway_http_request}"])}"
    starts  = "${local.sum.runs} * ${var.money.prices.lambda_request}"
    compute = "(${join(" + ", [for i, role in local.functions : "FILL(ms${i}, 0) * ${var.functions[role].memory_mb / 1024} * ${local.gb_second[var.functions[role].architecture]}"])}) / 1000"
    tables  = "${local.sum.writes} * ${var.money.prices.dynamodb_write_unit} + ${local.sum.reads} * ${var.money.prices.dynamodb_read_unit}"
    logs    = "${local.sum.bytes} * ${var.money.prices.logs_ingested_gb} / 1000000000"
    answers = "${local.answered} * ${local.answer_bytes} * ${var.money.prices.data_out_gb} / 1000000000"
  }
  spent = join(" + ", sort(keys(local.spent_expressions)))

  # By the day, in UTC. A day belongs to this month if its month began when the last day's did.
  daily_expressions = [
    { id = "today", expression = local.spent, label = "today", visible = true },
    { id = "began", expression = "EPOCH(today) - (DATE(today) - 1) * 86400", label = "began", visible = false },
    { id = "month", expression = "RUNNING_SUM(IF(began == MAX(began), today, 0))", label = "this month", visible = true },
  ]

  dollar_widgets = [
    {
      type = "metric"
      properties = {
        title  = "Estimated US dollars today and this month (UTC; calls only)"
        region = var.region
        view   = "singleValue"
        stat   = "Sum"
        period = 86400
        start  = "-P31D"
        metrics = concat(
          [for m in local.spent_metrics : concat(m.metric, [{ id = m.id, stat = lookup(m, "stat", "Sum"), visible = false }])],
          [for id, expression in local.spent_expressions : [{ id = id, expression = expression, label = id, visible = false }]],
          [for e in local.daily_expressions : [e]],
        )
      }
    },
    {
      type = "metric"
      properties = {
        title   = "Estimated US dollars per hour, by part"
        region  = var.region
        view    = "timeSeries"
        stacked = true
        stat    = "Sum"
        period  = 300
        metrics = concat(
          [for m in local.spent_metrics : concat(m.metric, [{ id = m.id, stat = lookup(m, "stat", "Sum"), visible = false }])],
          [for id, expression in local.spent_expressions : [{ id = id, expression = expression, label = id, visible = false }]],
          [for id in sort(keys(local.spent_expressions)) : [{ id = "${id}_rate", expression = "12 * ${id}", label = id, visible = true }]],
        )
        annotations = { horizontal = [{ label = "live alarm", value = var.money.alarm_usd_per_hour }] }
      }
    },
  ]
}
