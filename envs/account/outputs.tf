output "monitor_arn" {
  description = "ARN of the SERVICE anomaly monitor that was made here, for cost.monitor_arn of a stack; null if none was."
  value       = one(aws_ce_anomaly_monitor.this[*].arn)
}

output "logging_role_arn" {
  description = "ARN of the role with which API Gateway writes access logs."
  value       = aws_api_gateway_account.this.cloudwatch_role_arn
}
