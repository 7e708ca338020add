locals {
  http    = var.kind == "http"
  account = "${var.location.region}:${var.location.account_id}"
  arns    = { for role, f in var.functions : role => "arn:${var.location.partition}:lambda:${local.account}:function:${f.name}:${f.alias}" }
  wait_s  = 30
  slow    = [for f in values(var.functions) : f.name if f.timeout_seconds >= local.wait_s]

  # Of an HTTP API: the default address, or the domain.
  address = !local.http ? null : var.domain == null ? aws_apigatewayv2_api.this[0].api_endpoint : "https://${aws_apigatewayv2_domain_name.this[0].domain_name}"

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
      condition     = length(local.slow) == 0
      error_message = "An HTTP API gives up after ${local.wait_s} seconds, so a function behind it must end before: give ${join(", ", local.slow)} a timeout_seconds of at most ${local.wait_s - 1}, or take the door url, which waits as long as the function may take."
    }

    precondition {
      condition     = length(var.routes) > 0
      error_message = "An HTTP API without routes serves nothing: give routes, such as { \"ANY /mcp\" = { function = \"mcp\" } }."
    }
  }
}

resource "aws_apigatewayv2_integration" "this" {
  for_each = { for role, arn in local.arns : role => arn if local.http }

  api_id                 = aws_apigatewayv2_api.this[0].id
  integration_type       = "AWS_PROXY"
  integration_method     = "POST"
  integration_uri        = "arn:${var.location.partition}:apigateway:${var.location.region}:lambda:path/2015-03-31/functions/${each.value}/invocations"
  payload_format_version = "2.0"
  timeout_milliseconds   = local.wait_s * 1000
}

resource "aws_apigatewayv2_route" "this" {
  for_each = { for key, route in var.routes : key => route if local.http }

  api_id    = aws_apigatewayv2_api.this[0].id
  route_key = each.key
  target    = "integrations/${aws_apigatewayv2_integration.this[each.value.function].id}"
}

# No access log: the function writes a line for each call, with more in it.
resource "aws_apigatewayv2_stage" "this" {
  count = local.http ? 1 : 0

  api_id          = aws_apigatewayv2_api.this[0].id
  name            = "$default"
  auto_deploy     = true
  stage_variables = merge(var.variables, var.address_variable == null ? {} : { (var.address_variable) = local.address })
  tags            = var.location.tags

  default_route_settings {
    throttling_rate_limit  = local.rate
    throttling_burst_limit = local.burst
  }

  dynamic "route_settings" {
    for_each = { for key, route in var.routes : key => route if route.rate_per_second != null }

    content {
      route_key              = route_settings.key
      throttling_rate_limit  = route_settings.value.rate_per_second
      throttling_burst_limit = route_settings.value.burst
    }
  }

  depends_on = [aws_apigatewayv2_route.this, aws_lambda_permission.http]
}

resource "aws_lambda_permission" "http" {
  for_each = { for role, f in var.functions : role => f if local.http }

  statement_id_prefix = "http-"
  action              = "lambda:InvokeFunction"
  function_name       = each.value.name
  qualifier           = each.value.alias
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

# There was one function before.
moved {
  from = aws_apigatewayv2_integration.this[0]
  to   = aws_apigatewayv2_integration.this["mcp"]
}

moved {
  from = aws_lambda_permission.http[0]
  to   = aws_lambda_permission.http["mcp"]
}
