mock_provider "aws" {
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/demo-brake" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:us-east-1:123456789012:demo-brake-undelivered" }
  }
}

# Any file does for a zip.
variables {
  name           = "demo"
  location       = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  zip            = "main.tf"
  runtime        = { memory_mb = 128, timeout_seconds = 60 }
  functions      = ["demo-mcp", "demo-calendar"]
  api            = { id = "abc123", stage = "live" }
  accounts_table = "demo-accounts"
  obeys          = { topic_name = "demo-money", alarm_names = ["demo-spend-rate"], budget_name = "demo-monthly" }
}

run "brake" {
  command = plan

  assert {
    condition = length(jsondecode(output.policy).Statement) == 6 && jsondecode(output.policy).Statement == [
      for s in jsondecode(output.policy).Statement : s
      if s.Effect == "Allow" && (s.Action == ["logs:CreateLogStream", "logs:PutLogEvents"]
        || s.Action == ["sqs:SendMessage"] && s.Resource == ["arn:aws:sqs:us-east-1:123456789012:demo-brake-undelivered"]
        || s.Action == ["cloudwatch:SetAlarmState"] && s.Resource == ["arn:aws:cloudwatch:us-east-1:123456789012:alarm:demo-spend-rate"]
        || s.Action == ["ssm:PutParameter"] && s.Resource == ["arn:aws:ssm:us-east-1:123456789012:parameter/sekisho/demo/brake"]
        || s.Action == ["sns:Publish"] && s.Resource == ["arn:aws:sns:us-east-1:123456789012:demo-money"]
      || s.Action == ["lambda:DeleteFunctionConcurrency", "lambda:GetFunctionConcurrency", "lambda:PutFunctionConcurrency"] && s.Resource == ["arn:aws:lambda:us-east-1:123456789012:function:demo-mcp", "arn:aws:lambda:us-east-1:123456789012:function:demo-calendar"])
    ]
    error_message = "The brake changes the functions, the alarms and the parameter that are its own, and no others."
  }

  assert {
    condition = jsondecode(aws_iam_role_policy.memory.policy).Statement == [{
      Effect    = "Allow"
      Action    = ["dynamodb:GetItem", "dynamodb:PutItem"]
      Resource  = ["arn:aws:dynamodb:us-east-1:123456789012:table/demo-accounts"]
      Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["brake#*"] } }
    }]
    error_message = "Of the accounts table, the brake reaches only its own item."
  }

  assert {
    condition = jsondecode(aws_iam_role_policy.stage.policy).Statement == [{
      Effect   = "Allow"
      Action   = ["apigateway:GET", "apigateway:PATCH"]
      Resource = ["arn:aws:apigateway:us-east-1::/restapis/abc123/stages/live"]
    }]
    error_message = "The brake reads and changes one stage."
  }

  assert {
    condition     = aws_lambda_permission.this.source_arn == "arn:aws:sns:us-east-1:123456789012:demo-money" && aws_lambda_permission.this.principal == "sns.amazonaws.com"
    error_message = "Only its topic starts the brake."
  }

  assert {
    condition     = aws_sns_topic_subscription.this.endpoint == "arn:aws:lambda:us-east-1:123456789012:function:demo-brake" && aws_sns_topic_subscription.this.filter_policy == null
    error_message = "A filter policy would keep alarms and budgets away, whose messages have no attributes."
  }

  assert {
    condition     = output.applied.environment == tomap({ SEKISHO_ACCOUNTS_TABLE = "demo-accounts", SEKISHO_API_ID = "abc123", SEKISHO_BRAKE_ALARMS = "demo-spend-rate", SEKISHO_BRAKE_BUDGET = "demo-monthly", SEKISHO_BRAKE_BUDGET_PERCENT = "100", SEKISHO_BRAKE_FUNCTIONS = "demo-mcp,demo-calendar", SEKISHO_BRAKE_PARAMETER = "/sekisho/demo/brake", SEKISHO_BRAKE_TOPIC_ARN = "arn:aws:sns:us-east-1:123456789012:demo-money", SEKISHO_LOG_LEVEL = "info", SEKISHO_STAGE = "live" })
    error_message = "The function reads from its environment what it obeys and what it stops."
  }

  assert {
    condition     = aws_ssm_parameter.this.insecure_value == "open" && !output.on
    error_message = "A new stack is not braked."
  }

  assert {
    condition     = output.release == "sekisho brake off --region us-east-1 --function demo-brake"
    error_message = "The command to release is an output."
  }
}

run "brake_that_stops_nothing" {
  command = plan

  variables {
    functions = []
  }

  expect_failures = [var.functions]
}
