locals {
  api_dimensions = ["ApiName", var.api.name, "Stage", var.api.stage]

  functions = sort(keys(var.functions))

  # Figures of the functions: what D6 asks for, and Errors. All of them are AWS's own, free.
  function_widgets = [
    for figure in [
      { metric = "ConcurrentExecutions", stat = "Maximum", title = "Executions at a time" },
      { metric = "Invocations", stat = "Sum", title = "Invocations" },
      { metric = "Duration", stat = "p95", title = "Duration, 95th percentile (ms)" },
      { metric = "Throttles", stat = "Sum", title = "Throttles" },
      { metric = "Errors", stat = "Sum", title = "Errors" },
    ] :
    {
      type = "metric"
      properties = {
        title   = figure.title
        region  = var.region
        view    = "timeSeries"
        stat    = figure.stat
        period  = 60
        metrics = [for role in local.functions : ["AWS/Lambda", figure.metric, "FunctionName", var.functions[role], { label = role }]]
      }
    }
  ]

  api_widget = {
    type = "metric"
    properties = {
      title  = "Answers of the gateway"
      region = var.region
      view   = "timeSeries"
      stat   = "Sum"
      period = 60
      metrics = [
        concat(["AWS/ApiGateway", "Count"], local.api_dimensions, [{ label = "all" }]),
        concat(["AWS/ApiGateway", "4XXError"], local.api_dimensions, [{ label = "4xx, refusals among them" }]),
        concat(["AWS/ApiGateway", "5XXError"], local.api_dimensions, [{ label = "5xx" }]),
        concat(["AWS/ApiGateway", "Latency"], local.api_dimensions, [{ label = "latency p95 (ms)", stat = "p95", yAxis = "right" }]),
      ]
    }
  }

  table_widget = {
    type = "metric"
    properties = {
      title  = "DynamoDB units consumed"
      region = var.region
      view   = "timeSeries"
      stat   = "Sum"
      period = 60
      metrics = flatten([
        for role in sort(keys(var.tables)) : [
          for metric in ["ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"] :
          { metric = ["AWS/DynamoDB", metric, "TableName", var.tables[role], { label = "${role} ${metric}" }] }
        ]
      ])[*].metric
    }
  }

  # Admissions and denials by reason come out of the access log, by queries that run when
  # somebody looks. A metric filter would cost 0.30 USD a month for each reason, looked at
  # or not; a query costs by the gigabyte that it reads.
  log_widgets = [
    for query in [
      {
        title = "Admitted"
        view  = "timeSeries"
        text  = "filter admission_id like /^adm_/ | stats count(*) as admitted by bin(5m)"
      },
      {
        title = "Refused, by reason"
        view  = "table"
        text  = "filter response_type != \"-\" or denial != \"-\" | stats count(*) as calls by status, response_type, denial | sort calls desc"
      },
      {
        title = "Admitted calls, by operation and status"
        view  = "table"
        text  = "filter admission_id like /^adm_/ | stats count(*) as calls by operation, status | sort calls desc"
      },
    ] :
    {
      type = "log"
      properties = {
        title  = query.title
        region = var.region
        view   = query.view
        query  = "SOURCE '${var.api.access_log_group}' | ${query.text}"
      }
    }
  ]

  widgets = concat(local.log_widgets, [local.api_widget], local.function_widgets, [local.table_widget])

  # Two columns, in the order of the list.
  placed = [
    for index, widget in local.widgets : {
      type       = widget.type
      properties = widget.properties
      x          = 12 * (index % 2)
      y          = 6 * floor(index / 2)
      width      = 12
      height     = 6
    }
  ]

  alarms = {
    refusals = {
      metric    = "4XXError"
      statistic = "Sum"
      threshold = var.alarms.refusals_above
      periods   = 1
      text      = "More than ${var.alarms.refusals_above} refused calls in 5 minutes: an agent in a loop, often against a used-up key. The dashboard shows the reasons."
    }
    failures = {
      metric    = "5XXError"
      statistic = "Sum"
      threshold = var.alarms.failures_above
      periods   = 1
      text      = "More than ${var.alarms.failures_above} failed calls in 5 minutes: functions that fail or are out of concurrency, a store that can't be reached, or the brake."
    }
    latency = {
      metric    = "Latency"
      statistic = "p95"
      threshold = var.alarms.latency_ms_above
      periods   = 3
      text      = "One call in twenty took more than ${var.alarms.latency_ms_above} ms, for 15 minutes."
    }
  }
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name
  dashboard_body = jsonencode({ widgets = local.placed })
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name         = "${var.name}-${each.key}"
  alarm_description  = each.value.text
  namespace          = "AWS/ApiGateway"
  metric_name        = each.value.metric
  dimensions         = { ApiName = var.api.name, Stage = var.api.stage }
  statistic          = each.value.statistic == "Sum" ? "Sum" : null
  extended_statistic = each.value.statistic == "Sum" ? null : each.value.statistic
  period             = 300

  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = each.value.periods
  threshold           = each.value.threshold
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.topic_arns
}
