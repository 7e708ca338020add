output "topic_arn" {
  description = "ARN of the topic that carries everything about money: budget thresholds, anomalies, alarms."
  value       = aws_sns_topic.this.arn
}

output "budget_name" {
  description = "Name of the monthly budget."
  value       = aws_budgets_budget.this.name
}

output "anomaly_subscription_arn" {
  description = "ARN of the anomaly subscription."
  value       = aws_ce_anomaly_subscription.this.arn
}

output "alarm_names" {
  description = "Names of the alarms that say that money runs away now, for the brake to obey."
  value       = [aws_cloudwatch_metric_alarm.spend_rate.alarm_name]
}

output "live" {
  description = "The live alarm: usd_per_hour at which it trips, and delay_seconds from the first dear minute to the last function stopped."
  value = {
    usd_per_hour  = local.live_usd_per_hour
    delay_seconds = local.delay_seconds
  }
}

output "prices" {
  description = "The prices used: usd_for_one, as terms of arithmetic such as 3.5 / 1000000, and a note on where they hold."
  value = {
    usd_for_one = local.priced
    note        = local.prices_note
  }
}

output "worst_case_usd_per_hour" {
  description = "The most that an hour can cost, from the ceilings: usd, or null and in unbounded what to set; and its parts, each with the ceiling that bounds it and its arithmetic."
  value = {
    usd       = local.worst_usd
    unbounded = length(local.missing) == 0 ? null : join("; ", local.missing)
    parts     = local.worst_case
    prices    = local.prices_note
  }
}

output "worst_case_usd_before_brake" {
  description = "The most that a runaway can cost until the brake has stopped it: the worst hour times the alarm's delay. usd is null where the worst case is unbounded, or where the ceilings keep it below the alarm."
  value = {
    usd           = local.worst_usd == null || !local.trips ? null : ceil(local.worst_usd * local.delay_seconds / 3600 * 10000 - 0.000001) / 10000
    unbounded     = length(local.missing) == 0 ? null : join("; ", local.missing)
    delay_seconds = local.delay_seconds
    how = (
      local.worst_usd == null ? join("; ", local.missing)
      : !local.trips ? "never braked: the ceilings keep an hour at ${local.worst_usd} USD or less, and the alarm waits for ${local.live_usd_per_hour}"
      : "${local.worst_usd} USD an hour × ${local.delay_seconds} s / 3600 s: ${var.live.datapoints} minutes above ${local.live_usd_per_hour} USD an hour, 120 s until metrics are there, 60 s until the alarm looks, 60 s for the message, the brake and running calls"
    )
  }
}

output "brake" {
  description = "The brake: the command that releases it, and its function's name, log_group and applied settings."
  value = {
    release   = "sekisho brake off --region ${var.location.region} --function ${local.brake_name}"
    name      = module.brake.name
    log_group = module.brake.log_group
    applied   = module.brake.applied
  }
}
