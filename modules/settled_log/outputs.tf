output "name" {
  description = "Name of the subscription, once it is there: a call that failed before would stay charged."
  value       = aws_cloudwatch_log_subscription_filter.this.name
}
