locals {
  watched = {
    refusals = {
      metric    = "4XXError"
      statistic = "Sum"
      threshold = var.alarms.refusals_above
      periods   = 1
      text      = "more than ${var.alarms.refusals_above} calls refused in 5 minutes."
    }
    failures = {
      metric    = "5XXError"
      statistic = "Sum"
      threshold = var.alarms.failures_above
      periods   = 1
      text      = "more than ${var.alarms.failures_above} calls failed in 5 minutes."
    }
    latency = {
      metric    = "Latency"
      statistic = "p95"
      threshold = var.alarms.latency_ms_above
      periods   = 3
      text      = "one call in twenty took more than ${var.alarms.latency_ms_above} ms, for 15 minutes."
    }
  }

  # Of the OAuth door what the playbooks of refusals and failures say holds too. How long its functions
  # take shows in theirs.
  alarms = merge(
    { for kind, alarm in local.watched : kind => merge(alarm, { kind = kind, dimensions = { ApiName = var.api.name, Stage = var.api.stage } }) },
    {
      for kind, metric in { refusals = "4xx", failures = "5xx" } :
      "oauth-${kind}" => merge(local.watched[kind], { kind = kind, metric = metric, dimensions = { ApiId = var.door.oauth_api_id }, text = "at the OAuth door, ${local.watched[kind].text}" })
      if var.door.oauth
    },
  )

  # The text of an alarm is the first paragraph of its playbook.
  texts = {
    for kind in keys(local.watched) :
    kind => join(" ", split("\n", trimspace(split("\n\n", file("${path.module}/playbooks/${kind}.md"))[1])))
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name         = "${var.name}-${each.key}"
  alarm_description  = "${var.name}: ${each.value.text} ${local.texts[each.value.kind]} Playbook: ${var.alarms.playbooks}/${each.value.kind}.md"
  namespace          = "AWS/ApiGateway"
  metric_name        = each.value.metric
  dimensions         = each.value.dimensions
  statistic          = each.value.statistic == "Sum" ? "Sum" : null
  extended_statistic = each.value.statistic == "Sum" ? null : each.value.statistic
  period             = 300

  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = each.value.periods
  threshold           = each.value.threshold
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarms.topic_arns
  ok_actions          = var.alarms.topic_arns
  tags                = var.tags
}
