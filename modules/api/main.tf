resource "aws_api_gateway_rest_api" "this" {
  name                         = var.name
  description                  = local.contract.info.title
  body                         = local.body
  fail_on_warnings             = true
  disable_execute_api_endpoint = try(var.domain.disable_default_address, false)

  endpoint_configuration {
    types = ["REGIONAL"]
  }

  lifecycle {
    precondition {
      condition     = length(local.unserved) == 0
      error_message = "The contract names functions that do not exist: ${join(", ", local.unserved)}. Add them under functions/, or correct x-sekisho.function in ${var.contract}."
    }

    precondition {
      condition     = contains(keys(var.functions), var.authorizer)
      error_message = "authorizer is ${var.authorizer}, which is not one of the functions given: ${join(", ", keys(var.functions))}."
    }

    precondition {
      condition = alltrue([
        for key in setunion(local.served, [var.authorizer]) :
        try(var.functions[key].timeout_seconds, 0) < local.timeout_s
      ])
      error_message = "API Gateway gives up after ${local.timeout_s} seconds, so a function behind it must end before: give ${join(", ", [for key in setunion(local.served, [var.authorizer]) : key if try(var.functions[key].timeout_seconds, 0) >= local.timeout_s])} a timeout_seconds of at most ${local.timeout_s - 1}."
    }

    precondition {
      condition     = alltrue([for operation in local.operations : operation.function != null || can(operation.operation.x-amazon-apigateway-integration)])
      error_message = "Operations without x-sekisho.function and without an integration of their own: ${join(", ", [for key, operation in local.operations : key if operation.function == null && !can(operation.operation.x-amazon-apigateway-integration)])}. Name the function that serves each."
    }
  }
}

# A deployment is a snapshot. Its hash covers the whole description, so that every change
# of it is deployed; the new one is made first, as the stage holds on to the old.
resource "aws_api_gateway_deployment" "this" {
  rest_api_id = aws_api_gateway_rest_api.this.id
  triggers    = { description = sha1(local.body) }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_stage" "this" {
  rest_api_id   = aws_api_gateway_rest_api.this.id
  deployment_id = aws_api_gateway_deployment.this.id
  stage_name    = var.stage

  variables = local.contract.x-sekisho-stage-variables[var.braked ? "braked" : "open"]

  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.this.arn
    format          = jsonencode(local.contract.x-sekisho-access-log)
  }

  depends_on = [aws_cloudwatch_log_subscription_filter.this]
}

resource "aws_api_gateway_method_settings" "this" {
  rest_api_id = aws_api_gateway_rest_api.this.id
  stage_name  = aws_api_gateway_stage.this.stage_name
  method_path = "*/*"

  settings {
    throttling_rate_limit  = var.throttle.rate_per_second
    throttling_burst_limit = var.throttle.burst
    metrics_enabled        = false # per method, and billed; those of the stage are free and always there
    logging_level          = "OFF"
    data_trace_enabled     = false
  }
}

resource "aws_lambda_permission" "this" {
  for_each = local.served

  statement_id  = "api"
  action        = "lambda:InvokeFunction"
  function_name = var.functions[each.key].name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_api_gateway_rest_api.this.execution_arn}/*/*/*"
}

resource "aws_lambda_permission" "authorizer" {
  statement_id  = "authorizer"
  action        = "lambda:InvokeFunction"
  function_name = var.functions[var.authorizer].name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_api_gateway_rest_api.this.execution_arn}/authorizers/*"
}

resource "aws_api_gateway_domain_name" "this" {
  count = var.domain == null ? 0 : 1

  domain_name              = var.domain.name
  regional_certificate_arn = var.domain.certificate_arn
  security_policy          = "TLS_1_2"

  endpoint_configuration {
    types = ["REGIONAL"]
  }
}

resource "aws_api_gateway_base_path_mapping" "this" {
  count = var.domain == null ? 0 : 1

  api_id      = aws_api_gateway_rest_api.this.id
  stage_name  = aws_api_gateway_stage.this.stage_name
  domain_name = aws_api_gateway_domain_name.this[0].domain_name
}
