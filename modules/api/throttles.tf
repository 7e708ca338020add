locals {
  # "GET /v1/health", by which people know a method, and what API Gateway calls it: slashes are
  # ~1, and the provider passes the name on as it is
  # (https://github.com/hashicorp/terraform-provider-aws/issues/9738).
  method_paths = {
    for key, operation in local.operations :
    "${operation.member == "x-amazon-apigateway-any-method" ? "ANY" : upper(operation.member)} ${operation.resource}" =>
    "${replace(operation.resource, "/", "~1")}/${operation.member == "x-amazon-apigateway-any-method" ? "ANY" : upper(operation.member)}"...
  }
}

# Settings of a method replace those of "*/*" altogether, so what is off there is off here.
resource "aws_api_gateway_method_settings" "own" {
  for_each = var.throttle.methods

  rest_api_id = aws_api_gateway_rest_api.this.id
  stage_name  = aws_api_gateway_stage.this.stage_name
  method_path = local.method_paths[each.key][0]

  settings {
    throttling_rate_limit  = each.value.closed ? 0 : each.value.rate_per_second
    throttling_burst_limit = each.value.closed ? 0 : each.value.burst
    metrics_enabled        = false
    logging_level          = "OFF"
    data_trace_enabled     = false
  }

  depends_on = [aws_api_gateway_method_settings.this]
}
