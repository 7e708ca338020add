output "name" {
  description = "Name of the function. Known when planning, so that ARNs can be composed from it."
  value       = aws_lambda_function.this.function_name

  # Whoever goes by the name goes by the alias too.
  depends_on = [aws_lambda_alias.live]
}

output "version" {
  description = "The version that callers are to get: the newest, or the one that was asked for."
  value       = coalesce(var.runtime.version, aws_lambda_function.this.version)
}

output "log_group" {
  description = "Name of the function's log group."
  value       = aws_cloudwatch_log_group.this.name
}

output "policy" {
  description = "What the function may do, as JSON."
  value       = aws_iam_role_policy.this.policy
}

output "applied" {
  description = "What the function runs with: memory_mb, timeout_seconds, architecture, reserved_concurrency and environment."
  value = {
    memory_mb            = aws_lambda_function.this.memory_size
    timeout_seconds      = aws_lambda_function.this.timeout
    architecture         = one(aws_lambda_function.this.architectures)
    reserved_concurrency = var.reserved_concurrency
    environment          = var.environment
  }
}

output "sizing" {
  description = "From the declared traffic: mean_concurrency and suggested_concurrency, that is m + 2√m rounded up, at least 1. Null without traffic."
  value = var.traffic == null ? null : {
    mean_concurrency      = local.mean_concurrency
    suggested_concurrency = local.suggested_concurrency
  }
}
