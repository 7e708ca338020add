locals {
  alarms = var.alarms == null ? {} : merge(
    {
      Throttles = merge(local.own, { metric = "Throttles", above = var.alarms.throttles_above })
      Errors    = merge(local.in_log ? local.logged : merge(local.own, { metric = "Errors" }), { above = var.alarms.errors_above })
    },
    var.runtime.asynchronous ? { Undelivered = local.undelivered } : {},
  )

  in_log      = try(var.alarms.errors_in, null) == "log"
  own         = { namespace = "AWS/Lambda", dimensions = tomap({ FunctionName = aws_lambda_function.this.function_name }), statistic = "Sum" }
  logged      = { namespace = "Sekisho", dimensions = tomap({}), statistic = "Sum", metric = "${var.name}-errors" }
  undelivered = { namespace = "AWS/SQS", dimensions = tomap({ QueueName = local.queue }), statistic = "Maximum", metric = "ApproximateNumberOfMessagesVisible", above = 0 }

  # The text of an alarm is the first paragraph of its playbook.
  playbooks = "${path.module}/../observability/playbooks"
  texts = {
    for kind in keys(local.alarms) :
    kind => join(" ", split("\n", trimspace(split("\n\n", file("${local.playbooks}/${lower(kind)}.md"))[1])))
  }
}

# Billed only for hours in which it counts something (0.30 USD for a whole month).
resource "aws_cloudwatch_log_metric_filter" "errors" {
  count = local.in_log ? 1 : 0

  name           = "errors"
  log_group_name = aws_cloudwatch_log_group.this.name
  pattern        = "{ $.level = \"error\" || $.record.status = \"timeout\" || $.record.status = \"failure\" }"

  metric_transformation {
    namespace = local.logged.namespace
    name      = local.logged.metric
    value     = "1"
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name        = "${var.name}-${lower(each.key)}"
  alarm_description = "${var.name}: more than ${each.value.above} in 5 minutes. ${local.texts[each.key]} Playbook: ${var.alarms.playbooks}/${lower(each.key)}.md"
  namespace         = each.value.namespace
  metric_name       = each.value.metric
  dimensions        = each.value.dimensions
  statistic         = each.value.statistic
  period            = 300

  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 1
  threshold           = each.value.above
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarms.topic_arns
  ok_actions          = var.alarms.topic_arns
  tags                = var.location.tags
}
