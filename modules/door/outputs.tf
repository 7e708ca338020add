output "url" {
  description = "Address of the door, without a slash at the end."
  value       = local.http ? local.address : trimsuffix(aws_lambda_function_url.this[0].function_url, "/")

  # Whoever goes by the address finds what is behind it.
  depends_on = [aws_apigatewayv2_stage.this, aws_apigatewayv2_api_mapping.this, aws_cloudformation_stack.url]
}

output "domain_target" {
  description = "What the domain's DNS record must point to: name and zone_id for an alias record. Null without a domain."
  value = one([for configuration in flatten(aws_apigatewayv2_domain_name.this[*].domain_name_configuration) : {
    name    = configuration.target_domain_name
    zone_id = configuration.hosted_zone_id
  }])
}

output "api_id" {
  description = "ID of the HTTP API, which is what its metrics are filed under; null for a function URL."
  value       = one(aws_apigatewayv2_api.this[*].id)
}
