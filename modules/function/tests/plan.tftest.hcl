mock_provider "aws" {}

variables {
  name     = "demo-calendar"
  zip      = "main.tf" # any file will do here: the plan only reads its hash
  location = { partition = "aws", region = "us-east-1", account_id = "123456789012" }
  runtime  = { memory_mb = 256, timeout_seconds = 5 }
}

run "defaults" {
  command = plan

  variables {
    traffic = { requests_per_second = 10, seconds = 0.4 }
  }

  assert {
    condition = (
      aws_lambda_function.this.architectures == tolist(["arm64"])
      && aws_lambda_function.this.runtime == "provided.al2023"
      && aws_lambda_function.this.handler == "bootstrap"
      && aws_lambda_function.this.reserved_concurrent_executions == -1
    )
    error_message = "A function is an unreserved arm64 bootstrap on provided.al2023."
  }

  assert {
    condition     = one(aws_lambda_function.this.logging_config).log_format == "JSON" && one(aws_lambda_function.this.logging_config).system_log_level == "WARN"
    error_message = "Logs are JSON, without the platform's lines at level info."
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.name == "/aws/lambda/demo-calendar" && aws_cloudwatch_log_group.this.retention_in_days == 30
    error_message = "The log group is the function's own, with retention."
  }

  assert {
    condition = jsondecode(aws_iam_role_policy.this.policy).Statement == [{
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = ["arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/demo-calendar:*"]
    }]
    error_message = "Without statements a function may write to its own log and nothing else."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.this) == 0
    error_message = "There are no alarms unless they are asked for."
  }

  # 10 per second × 0.4 s = 4 at a time; 4 + 2√4 = 8.
  assert {
    condition     = output.sizing.suggested_concurrency == 8
    error_message = "A product that is whole must not be rounded up once more."
  }
}

run "everything" {
  command = plan

  variables {
    runtime              = { memory_mb = 512, timeout_seconds = 28, architecture = "x86_64", tracing = true }
    environment          = { SEKISHO_LOG_LEVEL = "debug" }
    statements           = [{ actions = ["dynamodb:GetItem"], resources = ["arn:aws:dynamodb:us-east-1:123456789012:table/demo-usage"] }]
    reserved_concurrency = 0
    log_retention_days   = 7
    alarms               = { topic_arns = ["arn:aws:sns:us-east-1:123456789012:demo"], errors_above = 0 }
    traffic              = { requests_per_second = 0.1, seconds = 0.05 }
  }

  assert {
    condition = output.applied == {
      memory_mb            = 512
      timeout_seconds      = 28
      architecture         = "x86_64"
      reserved_concurrency = 0
      environment          = tomap({ SEKISHO_LOG_LEVEL = "debug" })
    }
    error_message = "The function must run with what was given."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.this.policy).Statement[*].Action == [["logs:CreateLogStream", "logs:PutLogEvents"], ["xray:PutTelemetryRecords", "xray:PutTraceSegments"], ["dynamodb:GetItem"]]
    error_message = "Tracing adds X-Ray's two actions, and statements theirs."
  }

  assert {
    condition     = one(aws_lambda_function.this.tracing_config).mode == "Active" && aws_lambda_function.this.reserved_concurrent_executions == 0
    error_message = "Tracing is on, and the function is switched off."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Errors"].threshold == 0 && aws_cloudwatch_metric_alarm.this["Throttles"].threshold == 10
    error_message = "Alarms on errors and throttles, with the thresholds given."
  }

  assert {
    condition     = output.sizing.suggested_concurrency == 1
    error_message = "A suggestion is never below 1."
  }
}

run "refuses_a_missing_zip" {
  command = plan

  variables {
    zip = "dist/nothing-here.zip"
  }

  expect_failures = [aws_lambda_function.this]
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name                 = "a-name-of-seventy-characters-which-is-too-long-for-an-iam-role-in-aws-"
    runtime              = { memory_mb = 64, timeout_seconds = 901, architecture = "riscv" }
    statements           = [{ actions = ["dynamodb:*"], resources = ["*"] }]
    reserved_concurrency = -2
    log_retention_days   = 8
    alarms               = { errors_above = -1 }
    traffic              = { requests_per_second = 0, seconds = 1 }
  }

  expect_failures = [var.name, var.runtime, var.statements, var.reserved_concurrency, var.log_retention_days, var.alarms, var.traffic]
}
