locals {
  http    = var.kind == "http"
  account = "${var.location.region}:${var.location.account_id}"
  arn     = "arn:${var.location.partition}:lambda:${local.account}:function:${var.function.name}:${var.function.alias}"
  invoke  = "arn:${var.location.partition}:apigateway:${var.location.region}:lambda:path/2015-03-31/functions/${local.arn}/invocations"
  wait_s  = 30

  # -1 leaves a limit to the account.
  rate  = var.throttle.rate_per_second == -1 ? null : var.throttle.rate_per_second
  burst = var.throttle.burst == -1 ? null : var.throttle.burst
}

resource "aws_apigatewayv2_api" "this" {
  count = local.http ? 1 : 0

  name                         = var.name
  protocol_type                = "HTTP"
  disable_execute_api_endpoint = try(var.domain.disable_default_address, false)
  tags                         = var.location.tags

  lifecycle {
    precondition {
      condition     = var.function.timeout_seconds < local.wait_s
      error_message = "An HTTP API gives up after ${local.wait_s} seconds, so the function behind it must end before: give ${var.function.name} a timeout_seconds of at most ${local.wait_s - 1}, or take the door url, which waits as long as the function may take."
    }

    precondition {
      condition     = length(var.routes) > 0
      error_message = "An HTTP API without routes serves nothing: give routes, such as [\"ANY /mcp\"]."
    }
  }
}

resource "aws_apigatewayv2_integration" "this" {
  count = local.http ? 1 : 0

  api_id                 = aws_apigatewayv2_api.this[0].id
  integration_type       = "AWS_PROXY"
  integration_method     = "POST"
  integration_uri        = local.invoke
  payload_format_version = "2.0"
  timeout_milliseconds   = local.wait_s * 1000
}

resource "aws_apigatewayv2_route" "this" {
  for_each = local.http ? toset(var.routes) : []

  api_id    = aws_apigatewayv2_api.this[0].id
  route_key = each.value
  target    = "integrations/${aws_apigatewayv2_integration.this[0].id}"
}

# No access log: the function writes a line for each call, with more in it.
resource "aws_apigatewayv2_stage" "this" {
  count = local.http ? 1 : 0

  api_id          = aws_apigatewayv2_api.this[0].id
  name            = "$default"
  auto_deploy     = true
  stage_variables = var.variables
  tags            = var.location.tags

  default_route_settings {
    throttling_rate_limit  = local.rate
    throttling_burst_limit = local.burst
  }

  depends_on = [aws_apigatewayv2_route.this, aws_lambda_permission.http]
}

resource "aws_lambda_permission" "http" {
  count = local.http ? 1 : 0

  statement_id_prefix = "http-"
  action              = "lambda:InvokeFunction"
  function_name       = var.function.name
  qualifier           = var.function.alias
  principal           = "apigateway.amazonaws.com"
  source_arn          = "${aws_apigatewayv2_api.this[0].execution_arn}/*"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_apigatewayv2_domain_name" "this" {
  count = local.http && var.domain != null ? 1 : 0

  domain_name = var.domain.name
  tags        = var.location.tags

  domain_name_configuration {
    certificate_arn = var.domain.certificate_arn
    endpoint_type   = "REGIONAL"
    security_policy = "TLS_1_2"
  }
}

resource "aws_apigatewayv2_api_mapping" "this" {
  count = local.http && var.domain != null ? 1 : 0

  api_id      = aws_apigatewayv2_api.this[0].id
  domain_name = aws_apigatewayv2_domain_name.this[0].id
  stage       = aws_apigatewayv2_stage.this[0].id
}
