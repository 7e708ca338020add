output "monitor_arn" {
  description = "ARN of the SERVICE anomaly monitor, for cost.monitor_arn of a stack."
  value       = try(aws_ce_anomaly_monitor.this[0].arn, var.existing_monitor_arn)
}

output "logging_role_arn" {
  description = "ARN of the role with which API Gateway writes access logs."
  value       = aws_api_gateway_account.this.cloudwatch_role_arn
}
