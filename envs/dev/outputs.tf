output "mcp_url" {
  description = "Address for MCP clients."
  value       = module.sekisho.mcp_url
}

output "oauth_url" {
  description = "Address for MCP clients that sign in by OAuth; null while oauth is off."
  value       = module.sekisho.oauth_url
}

output "api_url" {
  description = "Base address of the REST API; in a browser, the page for key holders."
  value       = module.sekisho.api_url
}

output "sizing" {
  description = "Suggested reservations, from the declared traffic."
  value       = module.sekisho.sizing
}

output "worst_case_usd_per_hour" {
  description = "The most that an hour can cost, from the ceilings; `sekisho worst-case` shows the arithmetic."
  value       = module.sekisho.worst_case_usd_per_hour
}

output "worst_case_usd_before_brake" {
  description = "The most that a runaway can cost until the brake has stopped it."
  value       = module.sekisho.worst_case_usd_before_brake
}

output "worst_case_usd_while_braked" {
  description = "The most that an hour can cost while the brake is on."
  value       = module.sekisho.worst_case_usd_while_braked
}

output "ceilings" {
  description = "What bounds an hour's cost, for `sekisho worst-case` to read."
  value       = module.sekisho.ceilings
}

output "brake" {
  description = "The command that releases the brake; `brake status` shows how it stands."
  value       = module.sekisho.brake
}

output "create_a_key" {
  description = "The command that creates a key for a user. `make bin/sekisho` builds the program."
  value       = module.sekisho.create_a_key
}

# Sensitive, so that plans don't print its thousand lines; nothing in it is secret.
output "stack" {
  description = "Everything else that the stack has to tell: `terraform output -json stack`."
  value       = module.sekisho
  sensitive   = true
}
