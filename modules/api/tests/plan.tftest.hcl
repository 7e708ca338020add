# OpenTofu makes up values when planning, and the provider checks that an ARN looks like one.
mock_provider "aws" {
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:/aws/apigateway/demo/live/access" }
  }
  mock_resource "aws_api_gateway_rest_api" {
    defaults = { execution_arn = "arn:aws:execute-api:us-east-1:123456789012:abc123" }
  }
  mock_resource "aws_api_gateway_stage" {
    defaults = { arn = "arn:aws:apigateway:us-east-1::/restapis/abc123/stages/live" }
  }
}

variables {
  name       = "demo"
  contract   = "tests/contract.json"
  location   = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  access_log = { settle = { function_name = "demo-settle" } }
  functions = {
    authorizer = { name = "demo-authorizer", timeout_seconds = 5 }
    greeter    = { name = "demo-greeter", timeout_seconds = 28 }
  }
}

run "projection" {
  command = plan

  assert {
    condition = jsondecode(aws_api_gateway_rest_api.this.body).paths == {
      "/v1/health" = {
        get = {
          security  = []
          responses = { "200" = { description = "Well." } }
          x-amazon-apigateway-integration = {
            type             = "mock"
            requestTemplates = { "application/json" = "{\"statusCode\": 200}" }
            responses        = { default = { statusCode = "200" } }
          }
        }
      }
      "/v1/greetings/{name}/{rest+}" = {
        get = {
          security  = [{ key = [] }]
          responses = { "200" = { description = "A greeting." } }
          parameters = [
            { name = "name", in = "path", required = true, schema = { type = "string" } },
            { name = "rest", in = "path", required = true, schema = { type = "string" } },
          ]
          x-amazon-apigateway-integration = {
            type                = "aws_proxy"
            httpMethod          = "POST"
            uri                 = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-greeter:live/invocations"
            passthroughBehavior = "when_no_match"
            timeoutInMillis     = 29000
          }
        }
      }
      "/v2/orders/{proxy+}" = {
        x-amazon-apigateway-any-method = {
          security   = [{ key = [] }]
          responses  = { "200" = { description = "What the backend answers." } }
          parameters = [{ name = "proxy", in = "path", required = true, schema = { type = "string" } }]
          x-amazon-apigateway-integration = {
            type                = "aws_proxy"
            httpMethod          = "POST"
            uri                 = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-greeter:live/invocations"
            passthroughBehavior = "when_no_match"
            timeoutInMillis     = 29000
          }
        }
      }
      "/v2/stock/{id}" = {
        get = {
          security   = [{ key = [] }]
          responses  = { "200" = { description = "Stock." } }
          parameters = [{ name = "id", in = "path", required = true, schema = { type = "string" } }]
          x-amazon-apigateway-integration = {
            type                = "aws_proxy"
            httpMethod          = "POST"
            uri                 = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-greeter:live/invocations"
            passthroughBehavior = "when_no_match"
            timeoutInMillis     = 29000
          }
        }
      }
    }
    error_message = "Only paths, methods, path parameters, security, statuses and integrations are kept; security stands at every operation. What shares a resource is one method of it."
  }

  assert {
    condition = jsondecode(aws_api_gateway_rest_api.this.body).components == {
      securitySchemes = {
        key = {
          type                         = "apiKey"
          name                         = "Unused"
          in                           = "header"
          x-amazon-apigateway-authtype = "custom"
          x-amazon-apigateway-authorizer = {
            type                         = "request"
            authorizerResultTtlInSeconds = 0
            authorizerUri                = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-authorizer:live/invocations"
          }
        }
      }
    }
    error_message = "The security scheme gets the authorizer's address; schemas stay home."
  }

  assert {
    condition     = aws_api_gateway_rest_api.this.fail_on_warnings && aws_api_gateway_deployment.this.triggers.description == sha1(aws_api_gateway_rest_api.this.body)
    error_message = "Warnings fail, and the whole description is deployed."
  }

  assert {
    condition     = aws_api_gateway_stage.this.variables == tomap({ unavailable_error = "unavailable" }) && one(aws_api_gateway_stage.this.access_log_settings).format == "{\"status\":\"$context.status\"}"
    error_message = "Stage variables and access log are the contract's."
  }

  assert {
    condition     = one(aws_api_gateway_method_settings.this.settings).throttling_rate_limit == 20 && one(aws_api_gateway_method_settings.this.settings).throttling_burst_limit == 40
    error_message = "All methods are throttled."
  }

  assert {
    condition     = aws_cloudwatch_log_subscription_filter.this.filter_pattern == "{ $.status = \"4*\" }"
    error_message = "Settle is subscribed with the contract's filter."
  }

  assert {
    condition     = length(aws_api_gateway_domain_name.this) == 0 && output.domain_target == null && !aws_api_gateway_rest_api.this.disable_execute_api_endpoint
    error_message = "Without a domain the execute-api address stays."
  }
}

run "domain" {
  command = plan

  variables {
    domain = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-4000-8000-000000000000" }
  }

  assert {
    condition     = output.url == "https://mcp.example.com" && aws_api_gateway_rest_api.this.disable_execute_api_endpoint
    error_message = "With a domain, the API answers there only."
  }

  assert {
    condition     = aws_api_gateway_deployment.this.triggers["default_address"] == "off"
    error_message = "Switching the default address off takes effect with a deployment only."
  }
}

run "refuses_a_function_that_does_not_exist_and_one_that_outlives_the_gateway" {
  command = plan

  variables {
    functions = {
      authorizer = { name = "demo-authorizer", timeout_seconds = 29 }
    }
  }

  expect_failures = [aws_api_gateway_rest_api.this]
}

# The provider leaves what the body says of it alone (https://github.com/cloudposse/terraform-aws-api-gateway/pull/33).
run "answers_are_compressed" {
  command = plan

  assert {
    condition     = aws_api_gateway_rest_api.this.minimum_compression_size == "2000"
    error_message = "From the contract's size on."
  }

  assert {
    condition     = jsondecode(aws_api_gateway_rest_api.this.body).x-amazon-apigateway-minimum-compression-size == 2000
    error_message = "The laptop reads it from the body."
  }
}

run "throttles_of_methods_and_of_addresses" {
  command = plan

  variables {
    throttle = { methods = { "GET /v1/health" = { rate_per_second = 1, burst = 2 } } }
    waf      = { requests_per_5_minutes = 300 }
  }

  assert {
    condition     = aws_api_gateway_method_settings.own["GET /v1/health"].method_path == "~1v1~1health/GET"
    error_message = "API Gateway writes the slashes of a path as ~1."
  }

  assert {
    condition     = one(aws_api_gateway_method_settings.own["GET /v1/health"].settings).throttling_rate_limit == 1 && one(aws_api_gateway_method_settings.own["GET /v1/health"].settings).data_trace_enabled == false
    error_message = "A method's own throttle, and nothing traced."
  }

  assert {
    condition     = one(one(one(aws_wafv2_web_acl.this[0].rule).statement).rate_based_statement).limit == 300 && length(aws_wafv2_web_acl_association.this) == 1
    error_message = "The rule counts by address, and is in front of the stage."
  }
}

run "lists_follow_routes" {
  command = plan

  variables {
    functions = {
      authorizer = { name = "demo-authorizer", timeout_seconds = 5 }
      greeter    = { name = "demo-greeter", timeout_seconds = 28, lists = true, follows = "7" }
    }
  }

  assert {
    condition     = aws_lambda_alias.lists["greeter"].function_version == "7" && keys(aws_lambda_permission.lists) == ["greeter"] && length(aws_lambda_permission.this) == 0
    error_message = "The alias of what lists the routes, and the right to start it, come after them."
  }
}

run "refuses_a_throttle_of_what_is_not_there" {
  command = plan

  variables {
    throttle = { methods = { "GET /v1/wealth" = { rate_per_second = 1, burst = 2 } } }
  }

  expect_failures = [aws_api_gateway_rest_api.this]
}

run "refuses_a_throttle_above_that_of_all" {
  command = plan

  variables {
    throttle = { rate_per_second = 10, methods = { "GET /v1/health" = { rate_per_second = 11, burst = 2 } } }
    waf      = { requests_per_5_minutes = 1 }
  }

  expect_failures = [var.throttle, var.waf]
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name     = ""
    throttle = { rate_per_second = 0, burst = 1.5 }
    domain   = { name = "https://mcp.example.com/", certificate_arn = "certificate" }
    stage    = "a/b"
  }

  expect_failures = [var.name, var.throttle, var.domain, var.stage]
}

# The brake is on: an apply leaves the stage as it is.
run "braked" {
  command = plan

  variables {
    throttle = { braked = true }
  }

  assert {
    condition     = aws_api_gateway_stage.this.variables == tomap({ unavailable_error = "braked" })
    error_message = "An apply must not tell callers that the brake is off."
  }
}

# What the brake closed stays closed.
run "braked_methods" {
  command = plan

  variables {
    throttle = {
      braked = true
      methods = {
        "GET /v1/health"                   = { rate_per_second = 5, burst = 10 }
        "GET /v1/greetings/{name}/{rest+}" = { rate_per_second = 5, burst = 10, closed = true }
      }
    }
  }

  assert {
    condition = { for name, of in aws_api_gateway_method_settings.own : name => [one(of.settings).throttling_rate_limit, one(of.settings).throttling_burst_limit] } == {
      "GET /v1/health"                   = [5, 10]
      "GET /v1/greetings/{name}/{rest+}" = [0, 0]
    }
    error_message = "An apply must not open a method that the brake has closed."
  }
}

run "another_door" {
  command = plan

  variables {
    functions = {
      authorizer = { name = "demo-authorizer", timeout_seconds = 5 }
      greeter    = { name = "demo-greeter", timeout_seconds = 900, lists = true, follows = "1", elsewhere = true }
    }
  }

  assert {
    condition     = keys(jsondecode(aws_api_gateway_rest_api.this.body).paths) == ["/v1/health"]
    error_message = "What another door serves is not served here, however long it may take."
  }

  assert {
    condition     = output.aliases == { greeter = "live" } && length(aws_lambda_permission.lists) == 0 && length(aws_lambda_permission.this) == 0
    error_message = "Its alias still follows the routes, and this API may not invoke it."
  }
}

run "streams" {
  command = plan

  variables {
    functions = {
      authorizer = { name = "demo-authorizer", timeout_seconds = 5 }
      greeter    = { name = "demo-greeter", timeout_seconds = 899, streaming = true }
    }
  }

  assert {
    condition = jsondecode(aws_api_gateway_rest_api.this.body).paths["/v1/greetings/{name}/{rest+}"].get.x-amazon-apigateway-integration == {
      type                 = "aws_proxy"
      httpMethod           = "POST"
      uri                  = "arn:aws:apigateway:us-east-1:lambda:path/2021-11-15/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-greeter:live/response-streaming-invocations"
      passthroughBehavior  = "when_no_match"
      timeoutInMillis      = 900000
      responseTransferMode = "STREAM"
    }
    error_message = "A function that streams is invoked for a stream, and waited for as long as it may take."
  }
}

run "streams_too_long" {
  command = plan

  variables {
    functions = {
      authorizer = { name = "demo-authorizer", timeout_seconds = 5 }
      greeter    = { name = "demo-greeter", timeout_seconds = 900, streaming = true }
    }
  }

  expect_failures = [aws_api_gateway_rest_api.this]
}
