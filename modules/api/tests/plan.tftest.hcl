mock_provider "aws" {}

variables {
  name       = "demo"
  contract   = "tests/contract.yaml"
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
            uri                 = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-greeter/invocations"
            passthroughBehavior = "when_no_match"
            timeoutInMillis     = 29000
          }
        }
      }
    }
    error_message = "Only paths, methods, path parameters, security, statuses and integrations are kept; security stands at every operation."
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
            authorizerUri                = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-authorizer/invocations"
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
    braked = true
  }

  assert {
    condition     = aws_api_gateway_stage.this.variables == tomap({ unavailable_error = "braked" })
    error_message = "An apply must not tell callers that the brake is off."
  }
}
