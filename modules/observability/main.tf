locals {
  alarms = {
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

  # The text of an alarm is the first paragraph of its playbook.
  texts = {
    for kind in keys(local.alarms) :
    kind => join(" ", split("\n", trimspace(split("\n\n", file("${path.module}/playbooks/${kind}.md"))[1])))
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name         = "${var.name}-${each.key}"
  alarm_description  = "${var.name}: ${each.value.text} ${local.texts[each.key]} Playbook: ${var.alarms.playbooks}/${each.key}.md"
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
  alarm_actions       = var.alarms.topic_arns
  ok_actions          = var.alarms.topic_arns
  tags                = var.tags
}
