locals {
  alarms = {
    refusals = {
      metric    = "4XXError"
      statistic = "Sum"
      threshold = var.alarms.refusals_above
      periods   = 1
      text      = "More than ${var.alarms.refusals_above} refused calls in 5 minutes: an agent in a loop, against a used-up key or the throttle. The dashboard shows the reasons."
    }
    failures = {
      metric    = "5XXError"
      statistic = "Sum"
      threshold = var.alarms.failures_above
      periods   = 1
      text      = "More than ${var.alarms.failures_above} failed calls in 5 minutes: functions that fail or are out of concurrency, tables that can't be reached or are at their ceiling, or the brake."
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
