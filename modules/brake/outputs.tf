output "on" {
  description = "Whether the brake is on, as it was when the state was refreshed."
  value       = aws_ssm_parameter.this.insecure_value == "braked"
}

output "release" {
  description = "The command that releases the brake."
  value       = "sekisho brake off --region ${var.location.region} --function ${local.name}"
}

output "parameter" {
  description = "Name of the parameter that says whether the brake is on: open or braked. Known when planning."
  value       = local.parameter
}

output "name" {
  description = "Name of the brake's function."
  value       = module.function.name
}

output "log_group" {
  description = "Name of the function's log group."
  value       = module.function.log_group
}

output "policy" {
  description = "What the function may do besides reaching its memory and the stage, as JSON."
  value       = module.function.policy
}

output "applied" {
  description = "What the function runs with: memory_mb, timeout_seconds, architecture, reserved_concurrency and environment."
  value       = module.function.applied
}
