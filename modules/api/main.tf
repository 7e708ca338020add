locals {
  most_bytes          = 6 * 1024 * 1024 # docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
  default_address_off = try(var.domain.disable_default_address, false)
}

resource "aws_api_gateway_rest_api" "this" {
  name                         = var.name
  description                  = local.contract.info.title
  body                         = local.body
  fail_on_warnings             = true
  disable_execute_api_endpoint = local.default_address_off
  # The provider sends this; what the body says of it is for the laptop.
  minimum_compression_size = local.min_compressed
  tags                     = var.location.tags

  endpoint_configuration {
    types = ["REGIONAL"]
  }

  lifecycle {
    precondition {
      condition     = length(local.unserved) == 0
      error_message = "The contract names functions that do not exist: ${join(", ", local.unserved)}. Add them under functions/, or correct x-sekisho.function in ${var.contract}."
    }

    precondition {
      condition     = length(setsubtract(keys(var.throttle.methods), keys(local.method_paths))) == 0
      error_message = "throttle.methods names what the contract does not have: ${join(", ", setsubtract(keys(var.throttle.methods), keys(local.method_paths)))}. There are ${join(", ", keys(local.method_paths))}."
    }

    precondition {
      condition     = length(local.body) <= local.most_bytes
      error_message = "API Gateway takes a description of ${local.most_bytes} bytes, and the projection of ${var.contract} has ${length(local.body)}: leave operations out, or let more of them share a greedy path, by a lower x-sekisho-limits.resources in your contract."
    }

    precondition {
      condition     = contains(keys(var.functions), var.authorizer)
      error_message = "authorizer is ${var.authorizer}, which is not one of the functions given: ${join(", ", keys(var.functions))}."
    }

    precondition {
      condition = alltrue([
        for key in setunion(local.served, [var.authorizer]) :
        try(var.functions[key].timeout_seconds, 0) < local.timeout_s || try(var.functions[key].streaming, false)
      ])
      error_message = "API Gateway gives up after ${local.timeout_s} seconds, so a function behind it must end before: give ${join(", ", [for key in setunion(local.served, [var.authorizer]) : key if try(var.functions[key].timeout_seconds, 0) >= local.timeout_s && !try(var.functions[key].streaming, false)])} a timeout_seconds of at most ${local.timeout_s - 1}."
    }

    precondition {
      condition     = alltrue([for function in var.functions : function.timeout_seconds < 900 if function.streaming])
      error_message = "A REST API streams for 15 minutes at most, so a function that streams must end before: give ${join(", ", [for key, function in var.functions : key if function.streaming && function.timeout_seconds >= 900])} a timeout_seconds of at most 899."
    }

    precondition {
      condition     = alltrue([for operation in local.operations : operation.function != null || can(operation.operation.x-amazon-apigateway-integration)])
      error_message = "Operations without x-sekisho.function and without an integration of their own: ${join(", ", [for key, operation in local.operations : key if operation.function == null && !can(operation.operation.x-amazon-apigateway-integration)])}. Name the function that serves each."
    }
  }
}

# A deployment is a snapshot. Its hash covers the whole description, so that every change
# of it is deployed; the new one is made first, as the stage holds on to the old. Switching the
# default address off, or on again, takes effect with a deployment only
# (https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-disable-default-endpoint.html).
resource "aws_api_gateway_deployment" "this" {
  rest_api_id = aws_api_gateway_rest_api.this.id
  triggers    = merge({ description = sha1(local.body) }, local.default_address_off ? { default_address = "off" } : {})

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_stage" "this" {
  rest_api_id   = aws_api_gateway_rest_api.this.id
  deployment_id = aws_api_gateway_deployment.this.id
  stage_name    = var.stage

  variables = local.contract.x-sekisho-stage-variables[var.throttle.braked ? "braked" : "open"]
  tags      = var.location.tags

  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.this.arn
    format          = jsonencode(local.contract.x-sekisho-access-log)
  }

  # Before the first call by the new routes: the right to start what is behind them.
  depends_on = [aws_cloudwatch_log_subscription_filter.this, aws_lambda_permission.this, aws_lambda_permission.authorizer]
}

# Whoever asks for the list of tools is answered by the old one until every route of the new one
# is served.
resource "aws_lambda_alias" "lists" {
  for_each = { for key, function in var.functions : key => function if function.lists }

  name             = local.alias
  description      = "What callers get."
  function_name    = each.value.name
  function_version = each.value.follows

  depends_on = [aws_api_gateway_stage.this]
}

resource "aws_lambda_permission" "lists" {
  for_each = { for key, alias in aws_lambda_alias.lists : key => alias if contains(local.served, key) }

  statement_id  = "api-${local.alias}"
  action        = "lambda:InvokeFunction"
  function_name = each.value.function_name
  qualifier     = each.value.name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_api_gateway_rest_api.this.execution_arn}/*/*/*"
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
  for_each = toset([for key in local.served : key if !try(var.functions[key].lists, false)])

  statement_id_prefix = "api-"
  action              = "lambda:InvokeFunction"
  function_name       = var.functions[each.key].name
  qualifier           = local.alias
  principal           = "apigateway.amazonaws.com"
  source_arn          = "${aws_api_gateway_rest_api.this.execution_arn}/*/*/*"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_lambda_permission" "authorizer" {
  statement_id_prefix = "authorizer-"
  action              = "lambda:InvokeFunction"
  function_name       = var.functions[var.authorizer].name
  qualifier           = local.alias
  principal           = "apigateway.amazonaws.com"
  source_arn          = "${aws_api_gateway_rest_api.this.execution_arn}/authorizers/*"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_domain_name" "this" {
  count = var.domain == null ? 0 : 1

  domain_name              = var.domain.name
  regional_certificate_arn = var.domain.certificate_arn
  security_policy          = "TLS_1_2"
  tags                     = var.location.tags

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
