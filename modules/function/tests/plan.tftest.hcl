# OpenTofu makes up values when planning, and the provider checks that an ARN looks like one.
mock_provider "aws" {
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/demo-calendar" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:us-east-1:123456789012:demo-calendar-undelivered" }
  }
}

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

run "some_items_of_a_table" {
  command = plan

  variables {
    statements = [
      { actions = ["dynamodb:GetItem", "dynamodb:PutItem"], resources = ["arn:aws:dynamodb:us-east-1:123456789012:table/demo-accounts"], leading_keys = ["grant#*", "grants#*"] },
      { actions = ["dynamodb:GetItem"], resources = ["arn:aws:dynamodb:us-east-1:123456789012:table/demo-usage"] },
    ]
  }

  assert {
    condition     = [for s in slice(jsondecode(aws_iam_role_policy.this.policy).Statement, 1, 3) : try(s.Condition, null)] == [{ "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["grant#*", "grants#*"] } }, null]
    error_message = "The condition holds the one statement to its items, and the other has none."
  }
}

run "refuses_items_that_nothing_names" {
  command = plan

  variables {
    statements = [{ actions = ["dynamodb:Scan"], resources = ["arn:aws:dynamodb:us-east-1:123456789012:table/demo-accounts"], leading_keys = ["grant#*"] }]
  }

  expect_failures = [var.statements]
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

run "what_the_account_asks" {
  command = plan

  variables {
    location = {
      partition            = "aws"
      region               = "us-east-1"
      account_id           = "123456789012"
      permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
      role_path            = "/service/"
      kms_key_arn          = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
      vpc                  = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
      tags                 = { team = "agents" }
    }
    runtime     = { memory_mb = 128, timeout_seconds = 5, asynchronous = true }
    environment = { SEKISHO_LOG_LEVEL = "debug" }
    alarms      = {}
  }

  assert {
    condition     = aws_iam_role.this.permissions_boundary == var.location.permissions_boundary && aws_iam_role.this.path == "/service/"
    error_message = "The role has the boundary and the path."
  }

  assert {
    condition     = alltrue([for arn in [aws_cloudwatch_log_group.this.kms_key_id, aws_lambda_function.this.kms_key_arn, aws_sqs_queue.undelivered[0].kms_master_key_id] : arn == var.location.kms_key_arn])
    error_message = "Log, environment and queue are encrypted with the key."
  }

  assert {
    condition     = one(aws_lambda_function.this.vpc_config).subnet_ids == toset(["subnet-1"]) && one(aws_lambda_function.this.vpc_config).security_group_ids == toset(["sg-1"])
    error_message = "The function is in the network."
  }

  assert {
    condition = [for s in jsondecode(aws_iam_role_policy.this.policy).Statement : "${join(" ", s.Action)} on ${s.Resource[0]}"] == [
      "logs:CreateLogStream logs:PutLogEvents on arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/demo-calendar:*",
      "ec2:CreateNetworkInterface ec2:DeleteNetworkInterface ec2:DescribeNetworkInterfaces ec2:DescribeSubnets on *",
      "kms:Decrypt kms:GenerateDataKey on arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
      "sqs:SendMessage on arn:aws:sqs:us-east-1:123456789012:demo-calendar-undelivered",
    ]
    error_message = "Network, key and queue each need a right."
  }

  assert {
    condition     = alltrue([for tags in [aws_iam_role.this.tags, aws_lambda_function.this.tags, aws_cloudwatch_log_group.this.tags, aws_sqs_queue.undelivered[0].tags, aws_cloudwatch_metric_alarm.this["Errors"].tags] : tags == tomap({ team = "agents" })])
    error_message = "Every resource has the tags."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Undelivered"].threshold == 0 && one(aws_lambda_function_event_invoke_config.this[*].function_name) == "demo-calendar"
    error_message = "What is started without being waited for has a queue, and an alarm on it."
  }
}

run "an_earlier_version" {
  command = plan

  variables {
    runtime = { memory_mb = 256, timeout_seconds = 5, version = "12" }
  }

  assert {
    condition     = aws_lambda_alias.live[0].function_version == "12" && output.version == "12" && aws_lambda_function.this.publish
    error_message = "Every version is published, and callers get the one that was asked for."
  }
}

run "errors_in_the_log" {
  command = plan

  variables {
    alarms = { errors_in = "log", topic_arns = ["arn:aws:sns:us-east-1:123456789012:demo"] }
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Errors"].namespace == one(aws_cloudwatch_log_metric_filter.errors[0].metric_transformation).namespace && aws_cloudwatch_metric_alarm.this["Errors"].metric_name == one(aws_cloudwatch_log_metric_filter.errors[0].metric_transformation).name
    error_message = "The alarm watches what the filter counts."
  }

  assert {
    condition     = alltrue([for alarm in aws_cloudwatch_metric_alarm.this : alarm.ok_actions == toset(["arn:aws:sns:us-east-1:123456789012:demo"]) && endswith(alarm.alarm_description, "${lower(split("-", alarm.alarm_name)[2])}.md")])
    error_message = "Alarms say when they are over, and name their playbook."
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
    alarms               = { errors_above = -1, errors_in = "both" }
    traffic              = { requests_per_second = 0, seconds = 1 }
  }

  expect_failures = [var.name, var.runtime, var.statements, var.reserved_concurrency, var.log_retention_days, var.alarms, var.traffic]
}
