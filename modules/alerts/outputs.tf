output "topic_arn" {
  description = "ARN of the topic that carries everything about money: budget thresholds, anomalies, alarms."
  value       = aws_sns_topic.this.arn
}

output "topic_name" {
  description = "Name of the topic, known when planning."
  value       = aws_sns_topic.this.name
}

output "usage_topic_arn" {
  description = "ARN of the topic that says which key is about to use up its plan, known when planning."
  value       = local.usage_topic
  depends_on  = [aws_sns_topic_policy.usage]
}

output "budget_name" {
  description = "Name of the monthly budget."
  value       = aws_budgets_budget.this.name
}

output "anomaly_subscription_arn" {
  description = "ARN of the anomaly subscription; null without a monitor."
  value       = one(aws_ce_anomaly_subscription.this[*].arn)
}

output "operations_topic_arn" {
  description = "ARN of the topic that carries what somebody on call can mend."
  value       = aws_sns_topic.operations.arn
}
