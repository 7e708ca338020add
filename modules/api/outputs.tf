output "id" {
  description = "ID of the REST API."
  value       = aws_api_gateway_rest_api.this.id
}

output "name" {
  description = "Name of the REST API, which is what its metrics are filed under."
  value       = aws_api_gateway_rest_api.this.name
}

output "stage" {
  description = "Name of the stage."
  value       = aws_api_gateway_stage.this.stage_name
}

output "url" {
  description = "Base address of the REST API, without a slash at the end."
  value       = var.domain == null ? aws_api_gateway_stage.this.invoke_url : "https://${aws_api_gateway_domain_name.this[0].domain_name}"
}

output "domain_target" {
  description = "What the domain's DNS record must point to: name and zone_id for an alias record. Null without a domain."
  value = var.domain == null ? null : {
    name    = aws_api_gateway_domain_name.this[0].regional_domain_name
    zone_id = aws_api_gateway_domain_name.this[0].regional_zone_id
  }
}

output "aliases" {
  description = "Names of the aliases that follow the routes, by function: what another door invokes."
  value       = { for key, alias in aws_lambda_alias.lists : key => alias.name }
}

output "access_log_group" {
  description = "Name of the access log's group."
  value       = aws_cloudwatch_log_group.this.name
}

output "body" {
  description = "The description that API Gateway was given, as JSON."
  value       = aws_api_gateway_rest_api.this.body
}

output "stage_variables" {
  description = "The stage's variables, which gateway responses substitute."
  value       = aws_api_gateway_stage.this.variables
}

output "access_log_format" {
  description = "The access log's format, as JSON."
  value       = jsonencode(local.contract.x-sekisho-access-log)
}

output "throttle" {
  description = "The stage's ceiling on calls: rate_per_second and burst."
  value = {
    rate_per_second = one(aws_api_gateway_method_settings.this.settings).throttling_rate_limit
    burst           = one(aws_api_gateway_method_settings.this.settings).throttling_burst_limit
  }
}
