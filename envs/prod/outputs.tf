output "mcp_url" {
  description = "Address for MCP clients."
  value       = module.sekisho.mcp_url
}

output "api_url" {
  description = "Base address of the REST API."
  value       = module.sekisho.api_url
}

output "sizing" {
  description = "Suggested reservations, from the declared traffic."
  value       = module.sekisho.sizing
}

output "stack" {
  description = "Everything else that the stack has to tell."
  value       = module.sekisho
}
