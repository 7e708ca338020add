# modules/cost_guard was cut into alerts, spend_alarm, worst_case (no resources) and brake. With
# these blocks a stack that was applied before keeps what it has.

moved {
  from = module.cost_guard.aws_kms_key.this
  to   = module.alerts.aws_kms_key.this
}

moved {
  from = module.cost_guard.aws_sns_topic.this
  to   = module.alerts.aws_sns_topic.this
}

moved {
  from = module.cost_guard.aws_sns_topic_policy.this
  to   = module.alerts.aws_sns_topic_policy.this
}

moved {
  from = module.cost_guard.aws_sns_topic_subscription.email
  to   = module.alerts.aws_sns_topic_subscription.email
}

moved {
  from = module.cost_guard.aws_budgets_budget.this
  to   = module.alerts.aws_budgets_budget.this
}

moved {
  from = module.cost_guard.aws_ce_anomaly_monitor.this
  to   = module.alerts.aws_ce_anomaly_monitor.this
}

moved {
  from = module.cost_guard.aws_ce_anomaly_subscription.this
  to   = module.alerts.aws_ce_anomaly_subscription.this
}

moved {
  from = module.cost_guard.aws_cloudwatch_metric_alarm.spend_rate
  to   = module.spend_alarm.aws_cloudwatch_metric_alarm.this
}

moved {
  from = module.cost_guard.module.brake
  to   = module.brake.module.function
}

moved {
  from = module.cost_guard.aws_iam_role_policy.brake_memory
  to   = module.brake.aws_iam_role_policy.memory
}

moved {
  from = module.cost_guard.aws_iam_role_policy.brake_stage
  to   = module.brake.aws_iam_role_policy.stage
}

moved {
  from = module.cost_guard.aws_lambda_permission.brake
  to   = module.brake.aws_lambda_permission.this
}

moved {
  from = module.cost_guard.aws_sns_topic_subscription.brake
  to   = module.brake.aws_sns_topic_subscription.this
}
