output "dashboard_name" {
  description = "Name of the dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_name
}

output "alarm_names" {
  description = "Names of the alarms, by what they watch."
  value       = { for watched, alarm in aws_cloudwatch_metric_alarm.this : watched => alarm.alarm_name }
}
