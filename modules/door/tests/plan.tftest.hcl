# OpenTofu makes up values when planning, and the provider checks that an ARN looks like one.
mock_provider "aws" {
  mock_resource "aws_apigatewayv2_api" {
    defaults = {
      api_endpoint  = "https://abc123.execute-api.us-east-1.amazonaws.com"
      execution_arn = "arn:aws:execute-api:us-east-1:123456789012:abc123"
      id            = "abc123"
    }
  }
  mock_resource "aws_lambda_function_url" {
    defaults = { function_url = "https://abcdefg.lambda-url.us-east-1.on.aws/" }
  }
}

variables {
  name      = "demo-mcp"
  kind      = "http"
  location  = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  functions = { mcp = { name = "demo-mcp", alias = "live", timeout_seconds = 28, reserved_concurrency = -1 } }
  routes = {
    "ANY /mcp"       = { function = "mcp" }
    "ANY /mcp/"      = { function = "mcp" }
    "POST /register" = { function = "mcp" }
  }
}

run "http" {
  command = apply

  variables {
    variables = { rest_address = "https://rest.example/live" }
  }

  assert {
    condition     = keys(aws_apigatewayv2_route.this) == ["ANY /mcp", "ANY /mcp/", "POST /register"] && length(aws_lambda_function_url.this) == 0
    error_message = "Each route is one of the API's, and there is no function URL."
  }

  assert {
    condition = (
      aws_apigatewayv2_integration.this["mcp"].payload_format_version == "2.0"
      && aws_apigatewayv2_integration.this["mcp"].integration_uri == "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-mcp:live/invocations"
      && aws_apigatewayv2_integration.this["mcp"].timeout_milliseconds == 30000
    )
    error_message = "The alias is invoked with format 2.0, and waited for as long as an HTTP API can."
  }

  assert {
    condition = (
      aws_apigatewayv2_stage.this[0].name == "$default" && aws_apigatewayv2_stage.this[0].auto_deploy
      && length(aws_apigatewayv2_stage.this[0].access_log_settings) == 0
      && one(aws_apigatewayv2_stage.this[0].default_route_settings).throttling_rate_limit == 20
      && one(aws_apigatewayv2_stage.this[0].default_route_settings).throttling_burst_limit == 40
      && aws_apigatewayv2_stage.this[0].stage_variables == tomap({ rest_address = "https://rest.example/live" })
    )
    error_message = "The stage is at the root, throttled, without an access log, and says where the REST API is."
  }

  assert {
    condition     = aws_lambda_permission.http["mcp"].qualifier == "live" && aws_lambda_permission.http["mcp"].source_arn == "arn:aws:execute-api:us-east-1:123456789012:abc123/*"
    error_message = "This API may invoke the alias, and nothing else may."
  }

  assert {
    condition     = output.url == "https://abc123.execute-api.us-east-1.amazonaws.com" && output.domain_target == null && output.api_id == "abc123"
    error_message = "The address has neither a stage nor a slash at its end."
  }
}

run "domain" {
  command = plan

  variables {
    domain = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1" }
  }

  assert {
    condition     = output.url == "https://mcp.example.com" && aws_apigatewayv2_api.this[0].disable_execute_api_endpoint && length(aws_apigatewayv2_api_mapping.this) == 1
    error_message = "A domain of one's own takes the place of the address."
  }
}

run "no_ceiling" {
  command = plan

  variables {
    throttle = { rate_per_second = -1, burst = -1 }
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.this[0].default_route_settings).throttling_rate_limit == null
    error_message = "-1 leaves the ceiling to the account."
  }
}

run "url" {
  command = apply

  variables {
    kind      = "url"
    functions = { mcp = { name = "demo-mcp", alias = "live", timeout_seconds = 900, reserved_concurrency = 10 } }
  }

  assert {
    condition = (
      aws_lambda_function_url.this[0].authorization_type == "NONE" && aws_lambda_function_url.this[0].invoke_mode == "RESPONSE_STREAM"
      && aws_lambda_function_url.this[0].qualifier == "live" && length(aws_apigatewayv2_api.this) == 0
    )
    error_message = "The alias has a URL that streams, and there is no API."
  }

  assert {
    condition = one(values(jsondecode(aws_cloudformation_stack.url[0].template_body).Resources)).Properties == {
      Action                = "lambda:InvokeFunction"
      FunctionName          = "arn:aws:lambda:us-east-1:123456789012:function:demo-mcp:live"
      InvokedViaFunctionUrl = true
      Principal             = "*"
    }
    error_message = "Anybody may invoke it, through the URL and in no other way."
  }

  assert {
    condition     = output.url == "https://abcdefg.lambda-url.us-east-1.on.aws" && output.api_id == null
    error_message = "The address has no slash at its end."
  }
}

run "unbounded_url" {
  command = plan

  variables {
    kind = "url"
  }

  expect_failures = [aws_lambda_function_url.this]
}

run "url_with_a_domain" {
  command = plan

  variables {
    kind      = "url"
    functions = { mcp = { name = "demo-mcp", alias = "live", timeout_seconds = 28, reserved_concurrency = 10 } }
    domain    = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1" }
  }

  expect_failures = [aws_lambda_function_url.this]
}

run "slower_than_the_api" {
  command = plan

  variables {
    functions = { mcp = { name = "demo-mcp", alias = "live", timeout_seconds = 30, reserved_concurrency = -1 } }
  }

  expect_failures = [aws_apigatewayv2_api.this]
}

# One door before two functions, which are told its address.
run "several_functions" {
  command = apply

  variables {
    functions = {
      mcp   = { name = "demo-mcp", alias = "live", timeout_seconds = 28, reserved_concurrency = -1 }
      oauth = { name = "demo-oauth", alias = "live", timeout_seconds = 10, reserved_concurrency = -1 }
    }
    routes = {
      "ANY /mcp"   = { function = "mcp" }
      "ANY /token" = { function = "oauth", rate_per_second = 5, burst = 10 }
    }
    variables        = { rest_address = "https://rest.example/live" }
    address_variable = "oauth_address"
  }

  assert {
    condition = {
      for key, route in aws_apigatewayv2_route.this : key => route.target } == {
      "ANY /mcp"   = "integrations/${aws_apigatewayv2_integration.this["mcp"].id}"
      "ANY /token" = "integrations/${aws_apigatewayv2_integration.this["oauth"].id}"
    }
    error_message = "Each route leads to its function."
  }

  assert {
    condition     = { for role, permission in aws_lambda_permission.http : role => permission.function_name } == { mcp = "demo-mcp", oauth = "demo-oauth" } && endswith(aws_apigatewayv2_integration.this["oauth"].integration_uri, "function:demo-oauth:live/invocations")
    error_message = "The API may invoke both, and nothing else may."
  }

  assert {
    condition     = [for settings in aws_apigatewayv2_stage.this[0].route_settings : [settings.route_key, settings.throttling_rate_limit, settings.throttling_burst_limit]] == [["ANY /token", 5, 10]] && one(aws_apigatewayv2_stage.this[0].default_route_settings).throttling_rate_limit == 20
    error_message = "A route has its own throttle, and the others that of the door."
  }

  assert {
    condition     = aws_apigatewayv2_stage.this[0].stage_variables == tomap({ rest_address = "https://rest.example/live", oauth_address = "https://abc123.execute-api.us-east-1.amazonaws.com" })
    error_message = "The functions are told where the door is."
  }
}

run "told_the_domain" {
  command = plan

  variables {
    domain           = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1" }
    address_variable = "oauth_address"
  }

  assert {
    condition     = aws_apigatewayv2_stage.this[0].stage_variables == tomap({ oauth_address = "https://mcp.example.com" })
    error_message = "With a domain that is the address."
  }
}

run "url_of_two" {
  command = plan

  variables {
    kind = "url"
    functions = {
      mcp   = { name = "demo-mcp", alias = "live", timeout_seconds = 28, reserved_concurrency = 10 }
      oauth = { name = "demo-oauth", alias = "live", timeout_seconds = 10, reserved_concurrency = 10 }
    }
  }

  expect_failures = [var.functions]
}

run "to_nowhere" {
  command = plan

  variables {
    routes = { "ANY /mcp" = { function = "mpc" } }
  }

  expect_failures = [var.routes]
}

run "half_a_throttle" {
  command = plan

  variables {
    routes = { "ANY /mcp" = { function = "mcp", rate_per_second = 5 } }
  }

  expect_failures = [var.routes]
}

run "no_route" {
  command = plan

  variables {
    routes = {}
  }

  expect_failures = [aws_apigatewayv2_api.this]
}
