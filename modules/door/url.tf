locals {
  behind_url = local.http ? null : one(values(var.functions))
}

# Anybody may call it: the function checks the key. The provider adds the first of the two rights that
# this takes, lambda:InvokeFunctionUrl, by itself.
resource "aws_lambda_function_url" "this" {
  count = local.http ? 0 : 1

  function_name      = local.behind_url.name
  qualifier          = local.behind_url.alias
  authorization_type = "NONE"
  invoke_mode        = "RESPONSE_STREAM"

  lifecycle {
    precondition {
      condition     = local.behind_url.reserved_concurrency >= 0
      error_message = "Nothing bounds a function URL but the reserved concurrency of the function behind it, and ${local.behind_url.name} has none: a flood would take all that the account has, and be billed. Set functions.mcp.reserved_concurrency, or take the door http, which is throttled."
    }

    precondition {
      condition     = var.domain == null
      error_message = "A function URL takes no domain of your own: leave domain out, or take the door http."
    }
  }
}

# The second right, without which every call has been a 403 since October 2025
# (https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html). Its condition is what keeps
# principals of other accounts from invoking the function without the URL, with an event that they
# made up. aws_lambda_permission has the condition since version 6.29 of the provider only, and
# from then on the URL brings this right along too.
resource "aws_cloudformation_stack" "url" {
  count = local.http ? 0 : 1

  name = "${var.name}-url"
  tags = var.location.tags

  template_body = jsonencode({
    Description = "Who may invoke ${local.behind_url.name} through its URL."
    Resources = {
      Invoke = {
        Type = "AWS::Lambda::Permission"
        Properties = {
          Action                = "lambda:InvokeFunction"
          FunctionName          = one(values(local.arns))
          InvokedViaFunctionUrl = true
          Principal             = "*"
        }
      }
    }
  })

  depends_on = [aws_lambda_function_url.this]
}
