# What finance looks at first, then what on-call looks at: dollars; admitted, denied, refunded;
# concurrency against ceilings; throttles; errors; latencies; and what is behind them.

locals {
  # Admissions, denials by reason and refunds come out of logs, by queries that run when
  # somebody looks. A metric filter would cost 0.30 USD a month for each reason, looked at or
  # not; a query costs by the gigabyte that it reads.
  log_widgets = [
    for query in concat([
      {
        title = "Admitted"
        view  = "timeSeries"
        group = var.api.access_log_group
        text  = "${var.api.query_fields.admission_id} | filter ispresent(admission_id) | stats count(*) as admitted by bin(5m)"
      },
      {
        title = "Denied and refused, by reason"
        view  = "table"
        group = var.api.access_log_group
        text  = "${var.api.query_fields.denial} | filter response_type != \"-\" or ispresent(denial) | stats count(*) as calls by denial, response_type, status | sort calls desc"
      },
      {
        title = "Refunded, by outcome"
        view  = "table"
        group = try(var.functions[var.counting.refunds].log_group, var.api.access_log_group)
        text  = "filter msg = \"refund\" | stats count(*) as calls by outcome, operation | sort calls desc"
      },
      {
        title = "Admitted calls, by operation and status"
        view  = "table"
        group = var.api.access_log_group
        text  = "${var.api.query_fields.admission_id} | filter ispresent(admission_id) | ${var.api.query_fields.operation} | stats count(*) as calls by operation, status | sort calls desc"
      },
      ], var.counting.admissions == null ? [] : [
      {
        title = "Admitted by ${var.counting.admissions}"
        view  = "timeSeries"
        group = var.functions[var.counting.admissions].log_group
        text  = "filter msg = \"admitted\" | stats count(*) as admitted by bin(5m)"
      },
      {
        title = "Denied by ${var.counting.admissions}, by reason"
        view  = "table"
        group = var.functions[var.counting.admissions].log_group
        text  = "filter msg = \"denied\" | ${var.api.query_fields.denial} | stats count(*) as calls by denial | sort calls desc"
      },
      {
        title = "Refunded by ${var.counting.admissions}, by outcome"
        view  = "table"
        group = var.functions[var.counting.admissions].log_group
        text  = "filter msg = \"refund\" | stats count(*) as calls by outcome, operation | sort calls desc"
      },
    ]) :
    {
      type = "log"
      properties = {
        title  = query.title
        region = var.region
        view   = query.view
        query  = "SOURCE '${query.group}' | ${query.text}"
      }
    }
  ]

  # A figure of each function. All of them are AWS's own, free.
  function_widgets = {
    for metric, figure in {
      ConcurrentExecutions = { stat = "Maximum", title = "Executions at a time, and what is reserved" }
      Throttles            = { stat = "Sum", title = "Throttles of functions" }
      Errors               = { stat = "Sum", title = "Errors of functions" }
      Duration             = { stat = "p95", title = "Duration of functions, 95th percentile (ms)" }
      Invocations          = { stat = "Sum", title = "Invocations" }
    } :
    metric => {
      type = "metric"
      properties = merge(
        {
          title   = figure.title
          region  = var.region
          view    = "timeSeries"
          stat    = figure.stat
          period  = 60
          metrics = [for role in local.functions : ["AWS/Lambda", metric, "FunctionName", var.functions[role].name, { label = role }]]
        },
        metric != "ConcurrentExecutions" ? {} : { annotations = { horizontal = local.ceilings } },
      )
    }
  }

  # Functions with the same reservation share a line.
  reserved = { for role in local.functions : tostring(var.functions[role].reserved_concurrency) => role... if var.functions[role].reserved_concurrency >= 0 }
  ceilings = [for n, roles in local.reserved : { label = "${n} reserved: ${join(", ", roles)}", value = tonumber(n) }]

  gateway_widgets = {
    for title, metrics in {
      "Answers of the gateway" = [
        { name = "Count", options = { label = "all" } },
        { name = "4XXError", options = { label = "4xx, refusals among them" } },
        { name = "5XXError", options = { label = "5xx" } },
      ]
      "Latency of the gateway (ms)" = [
        { name = "Latency", options = { label = "median", stat = "p50" } },
        { name = "Latency", options = { label = "95th percentile", stat = "p95" } },
        { name = "Latency", options = { label = "99th percentile", stat = "p99" } },
      ]
    } :
    title => {
      type = "metric"
      properties = {
        title   = title
        region  = var.region
        view    = "timeSeries"
        stat    = "Sum"
        period  = 60
        metrics = [for m in metrics : concat(["AWS/ApiGateway", m.name], local.api_dimensions, [m.options])]
      }
    }
  }

  table_widgets = {
    for title, metrics in {
      "Throttles of tables"     = ["WriteThrottleEvents", "ReadThrottleEvents"]
      "DynamoDB units consumed" = ["ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"]
    } :
    title => {
      type = "metric"
      properties = {
        title  = title
        region = var.region
        view   = "timeSeries"
        stat   = "Sum"
        period = 60
        metrics = [
          for pair in setproduct(local.tables, metrics) :
          ["AWS/DynamoDB", pair[1], "TableName", var.tables[pair[0]], { label = "${pair[0]} ${pair[1]}" }]
        ]
      }
    }
  }

  widgets = concat(
    local.dollar_widgets,
    slice(local.log_widgets, 0, 3),
    [
      local.function_widgets.ConcurrentExecutions,
      local.function_widgets.Throttles,
      local.table_widgets["Throttles of tables"],
      local.gateway_widgets["Answers of the gateway"],
      local.function_widgets.Errors,
      local.gateway_widgets["Latency of the gateway (ms)"],
      local.function_widgets.Duration,
      local.function_widgets.Invocations,
      local.table_widgets["DynamoDB units consumed"],
    ],
    slice(local.log_widgets, 3, length(local.log_widgets)),
  )

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
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name
  # Not secret, but 1,600 lines of a plan that nobody reads: looked at, a dashboard says more.
  dashboard_body = sensitive(jsonencode({ widgets = local.placed }))
}
